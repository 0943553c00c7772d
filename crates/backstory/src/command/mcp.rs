//! `backstory mcp`: the memory as tools for an agent.

use std::time::Duration;

use anyhow::{Context, Result};
use backstory_engine::{
    backend,
    home::Home,
    repair::{self, LockOwner},
    worker,
};
use backstory_serve::{Stores, serve_stdio};
use backstory_store::BusyTimeout;

use super::ExitStatus;

/// Offer the memory to an agent as tools (agents call this)
///
/// Speaks the Model Context Protocol on standard input and output. Tools: search, timeline, `get_observations`, remember,
/// `file_history`. Looks in the project of the folder that it was started in. Works with no worker running.
#[derive(clap::Args)]
pub(crate) struct Mcp {}

pub(crate) fn run(home: &Home, _: &Mcp) -> Result<ExitStatus> {
    home.create()?;
    let folder = std::env::current_dir().ok();
    let at_home = home.clone();
    let stores = Stores::new(
        home.database(),
        home.backups(),
        home.vectors(),
        Box::new(move || take_in(&at_home)),
    );
    serve_stdio(stores, backend(home), folder, env!("CARGO_PKG_VERSION"))
        .context("could not serve on standard input and output")?;
    Ok(ExitStatus::Done)
}

/// Takes in what waits, unless a worker does so this moment.
fn take_in(home: &Home) {
    const TIMEOUT: Duration = Duration::from_millis(200);
    const POLL_INTERVAL: Duration = Duration::from_millis(10);
    let spool = home.spool();
    let is_waiting = || spool.waiting().is_ok_and(|waiting| !waiting.is_empty());
    let has_worker = worker::is_running(home);
    if has_worker {
        for _ in 0..TIMEOUT.as_millis() / POLL_INTERVAL.as_millis() {
            if !is_waiting() {
                return;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }
    // What cannot be taken in stays in the spool; what is there can still be asked for.
    if is_waiting()
        && let Ok(mut store) = repair::open(home, LockOwner::Command)
    {
        // A worker that cannot take in waits for a lock that is not ours to wait for too.
        if has_worker {
            store.set_busy_timeout(BusyTimeout::Hook).ok();
        }
        worker::ingest(&spool, &mut store).ok();
    }
}
