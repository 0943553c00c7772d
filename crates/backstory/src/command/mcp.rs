//! `backstory mcp`: the memory as tools for an agent.

use std::time::Duration;

use anyhow::{Context, Result};
use backstory_serve::{Stores, serve_stdio};
use backstory_store::Access;

use super::Status;
use crate::{
    home::Home,
    outside,
    repair::{self, Opener},
    worker,
};

/// Offer the memory to an agent as tools (agents call this)
///
/// Speaks the Model Context Protocol on standard input and output. Tools: search, timeline, `get_observations`, remember,
/// `file_history`. Looks in the project of the folder that it was started in. Works with no worker running.
#[derive(clap::Args)]
pub(crate) struct Mcp {}

pub(crate) fn run(home: &Home, _: &Mcp) -> Result<Status> {
    home.create()?;
    let folder = std::env::current_dir().ok();
    let at_home = home.clone();
    let stores = Stores::new(
        home.database(),
        home.backups(),
        home.vectors(),
        Box::new(move || take_in(&at_home)),
    );
    serve_stdio(stores, outside::of(home), folder, env!("CARGO_PKG_VERSION"))
        .context("could not serve on standard input and output")?;
    Ok(Status::Done)
}

/// Takes in what waits, unless a worker does so this moment.
fn take_in(home: &Home) {
    const PATIENCE: Duration = Duration::from_millis(200);
    const LOOK: Duration = Duration::from_millis(10);
    let spool = home.spool();
    let is_waiting = || spool.waiting().is_ok_and(|waiting| !waiting.is_empty());
    let has_worker = worker::lives(home);
    if has_worker {
        for _ in 0..PATIENCE.as_millis() / LOOK.as_millis() {
            if !is_waiting() {
                return;
            }
            std::thread::sleep(LOOK);
        }
    }
    // What cannot be taken in stays in the spool; what is there can still be asked for.
    if is_waiting()
        && let Ok(mut store) = repair::open(home, Opener::Command)
    {
        // A worker that cannot take in waits for a lock that is not ours to wait for too.
        if has_worker {
            store.wait_as(Access::Hook).ok();
        }
        worker::take_in(&spool, &mut store).ok();
    }
}
