//! `backstory worker`: runs, starts, stops and inspects the background worker.

use std::{fs, sync::Arc};

use anstream::println;
use anyhow::{Context, Result};
use backstory_engine::error::HintContext as _;
use backstory_engine::error::with_hint;
use backstory_engine::worker_process;
use backstory_engine::{
    counters::Counters,
    engine::Engine,
    worker::{self, HttpAddress, HttpServer, RunMode},
};
use backstory_store::{BusyTimeout, Store, StoreError};
use backstory_system::{KILL_COMMAND, detach_from_terminal};
use serde_json::{Value, json};

use super::ExitStatus;
use crate::{json_output::print_json, output::count};

/// Manage the background worker
#[derive(clap::Args)]
pub(crate) struct WorkerArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Run the worker in this terminal until it is idle for some time (`worker.idle_minutes`)
    Run {
        /// Ingest and distill pending events, then exit
        #[arg(long)]
        once: bool,
        /// Detach from the terminal and session
        #[arg(long, hide = true)]
        detached: bool,
    },
    /// Start the worker in the background
    Start,
    /// Stop the worker
    Stop,
    /// Stop the worker if it is running, and start it
    Restart,
    /// Show whether the worker is running, and pending events; exits 1 when it is not running
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(engine: &Engine, arguments: &WorkerArgs) -> Result<ExitStatus> {
    match arguments.action {
        Action::Run { once, detached } => run_here(engine, once, detached),
        Action::Start => start(engine),
        Action::Stop => stop(engine),
        Action::Restart => {
            worker_process::stop(&engine.home).context("could not stop the worker")?;
            start(engine)
        }
        Action::Status { json } => status(engine, json),
    }
}

fn run_here(engine: &Engine, once: bool, detached: bool) -> Result<ExitStatus> {
    if detached {
        detach_from_terminal();
    }
    let result = work_here(engine, once);
    if let Err(error) = &result {
        let line = format!("process {} ended: {error:#}", std::process::id());
        // A background worker has no terminal, so the log is the only place to report an error.
        engine.log("worker.log", &line).ok();
    }
    result
}

fn work_here(engine: &Engine, once: bool) -> Result<ExitStatus> {
    let until = if once { RunMode::Done } else { RunMode::Idle };
    let start_server = |address: HttpAddress, counters: &Arc<Counters>| {
        let server = backstory_serve::serve(engine, address, Arc::clone(counters))?;
        Ok(Box::new(server) as Box<dyn HttpServer>)
    };
    let Some(work) = worker::run(engine, until, &start_server)? else {
        println!("A worker is already running and ingests the events.");
        return Ok(ExitStatus::Done);
    };
    let (taken, distilled) = (work.taken, work.distilled as u64);
    println!(
        "Ingested {}, distilled {}.",
        count(taken.new as u64, "event"),
        count(distilled, "event")
    );
    if taken.torn > 0 {
        println!(
            "{} incomplete, moved to spool/torn.",
            count(taken.torn as u64, "file")
        );
    }
    if taken.left > 0 {
        let files = count(taken.left as u64, "file");
        println!("{files} left in the spool: from a newer version, or unreadable.");
    }
    Ok(ExitStatus::Done)
}

fn start(engine: &Engine) -> Result<ExitStatus> {
    // A worker does not start with invalid settings; reported here rather than in a log.
    engine.checked_settings()?;
    if worker_process::is_running(&engine.home) {
        println!("The worker is already running.");
        return Ok(ExitStatus::Done);
    }
    engine.home.create()?;
    worker_process::start_and_wait(engine)
        .hint_context("could not start the worker", "`backstory worker run` shows why")?;
    println!("The worker is running.");
    Ok(ExitStatus::Done)
}

/// Restarts the worker if it is running: it reloads settings itself, but an API key may be in our environment only.
pub(crate) fn restart_if_running(engine: &Engine) -> Result<()> {
    if worker_process::stop(&engine.home).context("could not stop the worker")? {
        worker_process::start_and_wait(engine)
            .hint_context("could not start the worker", "`backstory worker run` shows why")?;
    }
    Ok(())
}

fn stop(engine: &Engine) -> Result<ExitStatus> {
    let stopped = worker_process::stop(&engine.home).hint_context(
        "could not stop the worker",
        format_args!("it may hang; events are safe in the spool, and `{KILL_COMMAND}` loses nothing"),
    )?;
    println!(
        "{}",
        if stopped {
            "The worker was stopped."
        } else {
            "The worker is not running."
        }
    );
    Ok(ExitStatus::Done)
}

fn status(engine: &Engine, json: bool) -> Result<ExitStatus> {
    // A hook does not wait for the worker that it starts.
    worker_process::await_start(engine);
    let is_running = worker_process::is_running(&engine.home);
    let pid = worker_process::holder(&engine.home);
    let facts: Value = match fs::read(engine.home.worker_json()) {
        Ok(text) if is_running => serde_json::from_slice(&text).unwrap_or_default(),
        _ => Value::Null,
    };
    let spooled = engine.home.spool().pending()?.len() as u64;
    let queue = match Store::open_read_only(&engine.home.database(), BusyTimeout::Command) {
        Ok(store) => Some(store.queue(0)?),
        // Missing, or about to be created or migrated by the worker.
        Err(StoreError::Missing(_) | StoreError::Older { .. }) => None,
        Err(error) => return Err(with_hint(error)),
    };
    let pending = spooled + queue.as_ref().map_or(0, |queue| queue.pending + queue.processing);
    let failed = queue.as_ref().map_or(0, |queue| queue.failed);
    if json {
        print_json(
            json!({"running": is_running, "pid": pid, "version": facts["version"], "started_at": facts["started_at"],
                "pending": pending, "failed": failed}),
        );
    } else {
        match pid {
            Some(pid) => println!(
                "The worker is running as process {pid}, version {}.",
                facts["version"].as_str().unwrap_or("?")
            ),
            None if is_running => println!("The worker is running in another container."),
            None => println!("The worker is not running. The next event starts it."),
        }
        println!("{} pending, {failed} failed.", count(pending, "event"));
    }
    Ok(if is_running {
        ExitStatus::Done
    } else {
        ExitStatus::Failed
    })
}
