//! The worker process, seen from other processes: the lock that makes it unique, starting it and stopping it.
//!
//! The lock on `worker.lock` is released by the operating system when the process ends, even after a crash, so it alone tells
//! whether a worker runs. `worker.json` describes the worker and may be left over from one that was killed.

use std::{
    fs::OpenOptions,
    io,
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use backstory_system::{self as system, OwnerOnly as _, terminate};
use serde_json::Value;

use crate::{
    atomic_file,
    engine::Engine,
    home::Home,
    models,
    process::{self, ProgramFile},
    settings,
};

/// Set while this process holds the lock. The lock file must not be opened then: POSIX does not report a lock to its own
/// process, and closing any handle of the file releases it.
static IS_OURS: AtomicBool = AtomicBool::new(false);

/// Returns `true` if a worker runs, or a command that distills.
pub fn is_running(home: &Home) -> bool {
    IS_OURS.load(Ordering::Relaxed) || system::holder(&home.worker_lock()).is_some()
}

/// Returns the process that holds the lock. A process in another container has no id here.
pub fn holder(home: &Home) -> Option<u32> {
    if IS_OURS.load(Ordering::Relaxed) {
        Some(std::process::id())
    } else {
        system::holder(&home.worker_lock())?.pid
    }
}

/// Asks the worker to end and waits up to five seconds for it. Returns `false` if no worker runs.
pub fn stop(home: &Home) -> io::Result<bool> {
    // A command that distills holds the lock too and must not be stopped. A worker that has just started writes
    // worker.json within a moment.
    if !wait_until(|| holder(home).is_none() || worker_info(home).is_some()) {
        return Ok(false);
    }
    let Some(pid) = holder(home) else {
        return if is_running(home) {
            stop_elsewhere(home)
        } else {
            Ok(false)
        };
    };
    terminate(pid)?;
    if wait_until(|| holder(home) != Some(pid)) {
        Ok(true)
    } else {
        Err(io::ErrorKind::TimedOut.into())
    }
}

/// Asks a worker in another container to end. Signals do not reach it, but it sees the same folder.
fn stop_elsewhere(home: &Home) -> io::Result<bool> {
    atomic_file::write_atomically(&home.stop_request(), b"")?;
    let has_ended = wait_until(|| !is_running(home));
    // A worker that has ended removed it; a command that distills ignores it.
    system::remove_file(home.stop_request()).ok();
    if has_ended {
        Ok(true)
    } else {
        Err(io::Error::other(
            "it runs in another container and does not answer",
        ))
    }
}

/// Starts a worker and waits up to five seconds until it is ready.
pub fn start_and_wait(engine: &Engine) -> io::Result<()> {
    spawn(engine)?;
    if wait_until(|| worker_info(&engine.home).is_some()) {
        Ok(())
    } else {
        Err(io::ErrorKind::TimedOut.into())
    }
}

/// Waits for a worker that another process has just started: up to five seconds if events await it, until it is ready.
pub fn await_start(engine: &Engine) {
    let has_events = engine
        .home
        .spool()
        .pending()
        .is_ok_and(|events| !events.is_empty());
    if has_events && was_just_started(engine) {
        wait_until(|| worker_info(&engine.home).is_some());
    }
}

/// Returns the contents of `worker.json` if the running worker wrote it. A command that holds the lock writes none, and a file
/// that a killed worker left behind does not count.
pub fn worker_info(home: &Home) -> Option<Value> {
    let facts: Value = serde_json::from_slice(&std::fs::read(home.worker_json()).ok()?).ok()?;
    (facts["pid"].as_u64() == Some(holder(home)?.into())).then_some(facts)
}

/// Waits up to five seconds for a condition. Returns `false` on timeout.
fn wait_until(is_met: impl Fn() -> bool) -> bool {
    const POLL_INTERVAL: Duration = Duration::from_millis(10);
    for _ in 0..500 {
        if is_met() {
            return true;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    false
}

/// Starts a worker if none runs, without waiting for it. A failure is ignored: the event is safe in the spool.
pub fn ensure(engine: &Engine) {
    if !is_running(&engine.home) && !engine.environment.is_on("BACKSTORY_NO_WORKER") {
        start(engine).ok();
    }
}

/// Minimum time between two attempts of any process to start a worker, so that one that cannot start is not retried on every
/// event.
const START_PAUSE: Duration = Duration::from_secs(5);

fn start(engine: &Engine) -> io::Result<()> {
    // A command may come before the first hook, which creates the spool.
    engine.home.spool().create()?;
    if was_just_started(engine) {
        return Ok(());
    }
    let stamp = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .private()
        .open(engine.home.start_stamp())?;
    stamp.set_modified(engine.clock.now())?;
    spawn(engine)
}

fn was_just_started(engine: &Engine) -> bool {
    let started = std::fs::metadata(engine.home.start_stamp()).and_then(|stamp| stamp.modified());
    let age = started.map(|at| engine.clock.now().duration_since(at));
    age.is_ok_and(|age| age.is_ok_and(|age| age < START_PAUSE))
}

fn spawn(engine: &Engine) -> io::Result<()> {
    spawn_program(engine, process::this_program()?)
}

/// Starts a worker of the program that has replaced this one.
pub fn start_replacement(engine: &Engine, program: &ProgramFile) -> io::Result<()> {
    spawn_program(engine, program.command())
}

fn spawn_program(engine: &Engine, program: Command) -> io::Result<()> {
    process::start_detached(
        program,
        &engine.environment,
        &["worker", "run", "--detached"],
        &variables(engine),
    )
}

/// Returns the names of the variables that the worker needs to reach the configured model and the team's server. Hooks call this when no worker
/// runs, so the settings are parsed only if they mention a provider.
fn variables(engine: &Engine) -> Vec<String> {
    let path = engine.home.config();
    let text = settings::read(&path).ok().flatten();
    let mut names = Vec::new();
    if text.as_deref().is_some_and(|text| text.contains("provider")) {
        // The worker does not get the variables that override settings, so they do not choose its other variables either.
        let (settings, _) = settings::load(&path, text.as_deref(), &[]);
        names = models::variables(&settings.distill);
    }
    let is_member =
        engine.home.team().join("server.json").exists() || engine.environment.is_set("BACKSTORY_TEAM_TOKEN");
    if is_member {
        let team = ["BACKSTORY_TEAM_URL", "BACKSTORY_TEAM_TOKEN"];
        names.extend(team.into_iter().chain(models::PROXIES).map(ToOwned::to_owned));
    }
    names
}

/// Holds the lock until it is dropped.
#[derive(Debug)]
pub struct WorkerLock(#[expect(dead_code, reason = "held, not used")] system::Lock);

impl Drop for WorkerLock {
    fn drop(&mut self) {
        IS_OURS.store(false, Ordering::Relaxed);
    }
}

impl WorkerLock {
    /// Takes the lock. Returns `None` if another process holds it.
    pub fn take(home: &Home) -> io::Result<Option<Self>> {
        let taken = system::Lock::take(&home.worker_lock())?;
        if taken.is_some() {
            IS_OURS.store(true, Ordering::Relaxed);
            // Left over from a worker that was killed; it does not describe this process.
            system::remove_file(home.worker_json()).ok();
        }
        Ok(taken.map(Self))
    }
}
