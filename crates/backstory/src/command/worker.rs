//! `backstory worker`: the process that takes events in and distils them.

use std::time::Duration;

use anstream::println;
use anyhow::Result;

use super::{Status, settings};
use crate::{
    home::Home,
    output::count,
    worker::{self, Until},
};

/// Run the worker that takes events in and makes memories of them
#[derive(clap::Args)]
pub(crate) struct Worker {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Run the worker in this terminal until nothing happens for a while (`worker.idle_minutes`)
    Run {
        /// Take in and distil what waits, then end
        #[arg(long)]
        once: bool,
        /// Leave the terminal and session that started it
        #[arg(long, hide = true)]
        detached: bool,
    },
}

pub(crate) fn run(home: &Home, arguments: &Worker) -> Result<Status> {
    let Action::Run { once, detached } = arguments.action;
    if detached {
        // Fails only for a process that leads its session already.
        rustix::process::setsid().ok();
    }
    let settings = settings(home)?;
    let idle = Duration::from_secs(60 * u64::from(settings.worker.idle_minutes));
    let until = if once { Until::Done } else { Until::Idle(idle) };
    match worker::run(home, until, &settings.capture.to_keep())? {
        None => println!("A worker runs already; it takes the events in."),
        Some(work) => {
            let (taken, distilled) = (work.taken, work.distilled as u64);
            println!(
                "Took in {}, distilled {}.",
                count(taken.new as u64, "event"),
                count(distilled, "event")
            );
            if taken.torn > 0 {
                println!(
                    "{} torn and set aside in spool/torn.",
                    count(taken.torn as u64, "file")
                );
            }
            if taken.left > 0 {
                println!(
                    "{} left in the spool: from a newer version, or not readable.",
                    count(taken.left as u64, "file")
                );
            }
        }
    }
    Ok(Status::Done)
}
