//! The worker: one process per home that takes events in while agents work.
//!
//! Single by a lock on `worker.lock` that the system releases when the process ends, however it ends. Started by whoever
//! finds no worker, never waited for, and gone by itself when nothing happens for a while.

mod assemble;
mod cycle;
mod distill;
mod final_message;
mod index;
mod ingest;
mod maintenance;
mod model_call;
mod model_pool;
pub mod rules_file;
mod run;
mod serve;

use std::{
    fs::OpenOptions,
    io,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use backstory_system::{self as system, OwnerOnly as _, terminate};

use serde_json::Value;

use crate::{clock, environment, home::Home, models, process, settings};

pub use distill::{DistillOptions, distill_queue};
pub use ingest::{Intake, ingest, ingest_hooks};
pub use model_call::{CallOutcome, EXPECTED_ANSWER, build_request, distill_with_model};
pub use model_pool::ModelConfig;
pub use run::{RunMode, WorkerConfig, run};
pub use serve::HttpAddress;

/// Whether this process holds the lock. Then the file must not even be looked into: who asks is not told of his own lock,
/// and who closes the file gives it up.
static IS_OURS: AtomicBool = AtomicBool::new(false);

/// Says whether a worker lives; asks the lock, not the worker.
pub fn is_running(home: &Home) -> bool {
    IS_OURS.load(Ordering::Relaxed) || system::holder(&home.worker_lock()).is_some()
}

/// Returns the process that is the worker. One in another container has none that we could name.
pub fn holder(home: &Home) -> Option<u32> {
    match IS_OURS.load(Ordering::Relaxed) {
        true => Some(std::process::id()),
        false => system::holder(&home.worker_lock())?.pid,
    }
}

/// Asks the worker to end, and waits a while until it has; says whether there was one.
pub fn stop(home: &Home) -> io::Result<bool> {
    // A command that makes memories holds the lock too, and is not told to end. A worker says in a moment that it is one.
    if !wait_until(|| holder(home).is_none() || worker_info(home).is_some()) {
        return Ok(false);
    }
    let Some(pid) = holder(home) else {
        return match is_running(home) {
            true => Err(io::Error::other("it runs out of reach, in another container")),
            false => Ok(false),
        };
    };
    terminate(pid)?;
    match wait_until(|| holder(home) != Some(pid)) {
        true => Ok(true),
        false => Err(io::ErrorKind::TimedOut.into()),
    }
}

/// Starts a worker now, and waits a while until it is ready.
pub fn start_and_wait(home: &Home) -> io::Result<()> {
    process::start_self_detached(&["worker", "run", "--detached"], &variables(home))?;
    match wait_until(|| worker_info(home).is_some()) {
        true => Ok(()),
        false => Err(io::ErrorKind::TimedOut.into()),
    }
}

/// Returns what the worker that lives has written down, with the port where it is to be reached. Nobody else who holds the
/// lock does that, and what a worker left that is gone does not count.
pub fn worker_info(home: &Home) -> Option<Value> {
    let facts: Value = serde_json::from_slice(&std::fs::read(home.worker_json()).ok()?).ok()?;
    (facts["pid"].as_u64() == Some(holder(home)?.into())).then_some(facts)
}

/// Waits up to five seconds until something holds.
fn wait_until(holds: impl Fn() -> bool) -> bool {
    (0..500).any(|_| {
        let done = holds();
        if !done {
            std::thread::sleep(Duration::from_millis(10));
        }
        done
    })
}

/// Starts a worker if there is none. Does not wait, and does not mind when it fails: the event is safe.
pub fn ensure(home: &Home) {
    if !is_running(home) && !environment::is_on("BACKSTORY_NO_WORKER") {
        start(home).ok();
    }
}

/// How long others leave the starting to somebody who began. A worker that cannot start is not tried on every event.
const START_PAUSE: Duration = Duration::from_secs(5);

fn start(home: &Home) -> io::Result<()> {
    let path = home.start_stamp();
    let started = std::fs::metadata(&path).and_then(|mark| mark.modified());
    if started.is_ok_and(|at| clock::now().duration_since(at).is_ok_and(|age| age < START_PAUSE)) {
        return Ok(());
    }
    let mark = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .private()
        .open(path)?;
    mark.set_modified(clock::now())?;
    process::start_self_detached(&["worker", "run", "--detached"], &variables(home))
}

/// Returns the variables that the worker needs for the model which the settings name. Hooks come here too, when no worker
/// lives: whoever has no model must not pay for reading the settings.
fn variables(home: &Home) -> Vec<String> {
    let text = settings::read(&home.config()).ok().flatten();
    let names_provider = text.as_deref().is_some_and(|text| text.contains("provider"));
    if !names_provider && environment::text("BACKSTORY_DISTILL_PROVIDER").is_none() {
        return Vec::new();
    }
    let (settings, _) = settings::load(&home.config(), text.as_deref(), &environment::settings());
    models::variables(&settings.distill)
}

/// Holds the lock as long as it lives.
#[derive(Debug)]
pub struct WorkerLock(#[expect(dead_code, reason = "held, not used")] system::Lock);

impl Drop for WorkerLock {
    fn drop(&mut self) {
        IS_OURS.store(false, Ordering::Relaxed);
    }
}

impl WorkerLock {
    /// Becomes the one worker; `None` when there is one.
    pub fn take(home: &Home) -> io::Result<Option<Self>> {
        let taken = system::Lock::take(&home.worker_lock())?;
        if taken.is_some() {
            IS_OURS.store(true, Ordering::Relaxed);
            // What a worker left that was killed: it must not speak for whoever holds the lock now.
            system::remove_file(home.worker_json()).ok();
        }
        Ok(taken.map(Self))
    }
}
