//! The loop of the worker, and the threads beside it.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use backstory_capture::{drop_counters, private};
use backstory_model::Timestamp;
use backstory_system::{self as system, DirWatcher, lower_priority, shutdown_flag};
use serde_json::json;

use super::{
    activity::write_facts,
    branch_check::BranchChecker,
    config::{HttpAddress, RunMode, WorkerConfig, WorkerReport},
    cycle::WorkCycle,
    index::Indexer,
    model_pool::{ModelPool, ask_all},
    team_thread::TeamThread,
};
use crate::{
    branches,
    counters::Counters,
    engine::Engine,
    ingest::DatabaseReplaced,
    injection_log, outcomes,
    process::ProgramFile,
    repair::{self, LockOwner},
    settings::hook_cache::Stamp,
    time_arg::rfc3339,
    worker_process::{self, WorkerLock},
};

/// HTTP server of the worker. Dropping it stops the server.
pub trait HttpServer {
    /// Returns the port that it listens on.
    fn port(&self) -> u16;
    /// Returns the path of its socket; absent if the system does not allow one that long.
    fn socket(&self) -> Option<&Path>;
    /// Returns `true` if a client is subscribed or has sent a request since a time.
    fn is_used_since(&self, time: Timestamp) -> bool;
}

/// Starts the HTTP server. A parameter because the crate that implements it depends on this one.
pub type StartServer<'a> = &'a dyn Fn(HttpAddress, &Arc<Counters>) -> Result<Box<dyn HttpServer>>;

/// Longest time between two cycles: a safety net for a file system notification that did not arrive.
const POLL: Duration = Duration::from_secs(2);

/// Time during which events gather before they are ingested together, with one flush to disk for all of them.
const GATHER: Duration = Duration::from_millis(50);

/// A worker that served a request this recently does not count as idle.
const USED: Duration = Duration::from_mins(1);

/// Age at which files that killed hooks left in `tmp/` are removed.
const LEFTOVER: Duration = Duration::from_secs(3600);

/// Age at which the state of private turns is removed. No session lasts longer.
const PRIVATE_MARK: Duration = Duration::from_secs(90 * 24 * 3600);

/// Age at which the injection log of a session is removed.
const INJECTION_LOG: Duration = Duration::from_secs(90 * 24 * 3600);

/// Number of times that one worker rebuilds a damaged database. Damage that comes back is a problem of the disk.
const MAX_REBUILT: u32 = 2;

/// Ingests and distills events until the mode or a signal ends it. Returns `None` if another worker runs.
///
/// Settings are read again whenever their file changes.
pub fn run(engine: &Engine, mode: RunMode, start_server: StartServer<'_>) -> Result<Option<WorkerReport>> {
    let mut config = WorkerConfig::load(engine)?;
    let home = &engine.home;
    home.create()?;
    let Some(lock) = WorkerLock::take(home).context("could not lock worker.lock")? else {
        return Ok(None);
    };
    let program = ProgramFile::of_this_process();
    // Meant for an earlier worker.
    system::remove_file(home.stop_request()).ok();
    lower_priority();
    let stop = shutdown_flag().context("could not listen for signals")?;
    let worker = Worker {
        engine,
        mode,
        start_server,
        stop: &stop,
        program: program.as_ref(),
    };
    let process = format!(
        "process {}, version {}",
        std::process::id(),
        env!("CARGO_PKG_VERSION")
    );
    // A log that cannot be written is no reason to stop.
    engine.log("worker.log", &format!("started: {process}")).ok();
    let mut rebuilt = 0;
    loop {
        match worker.work(&mut config) {
            // No event was removed from the spool that is not in the database at its path.
            Err(error) if error.is::<DatabaseReplaced>() => {
                // The home folder was deleted and must not be created again.
                if !home.worker_lock().exists() {
                    return Ok(Some(WorkerReport::default()));
                }
            }
            Err(error) if repair::is_damage(&error) && rebuilt < MAX_REBUILT => {
                repair::rebuild_if_damaged(engine, LockOwner::Worker, &error)?;
                rebuilt += 1;
            }
            Ok(report) => {
                // The home folder was deleted and must not be created again.
                if home.worker_lock().exists() {
                    engine.log("worker.log", &format!("stopped: {process}")).ok();
                    drop(lock);
                    worker.start_replacement();
                }
                return Ok(Some(report));
            }
            Err(error) => {
                drop(lock);
                // The new version may have migrated the schema before this one noticed it.
                worker.start_replacement();
                return Err(error);
            }
        }
    }
}

/// What stays the same for the lifetime of a worker.
struct Worker<'w> {
    engine: &'w Engine,
    mode: RunMode,
    start_server: StartServer<'w>,
    stop: &'w Arc<AtomicBool>,
    program: Option<&'w ProgramFile>,
}

impl Worker<'_> {
    fn is_asked_to_stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.engine.home.stop_request().exists()
    }

    /// Returns true if the program was updated or uninstalled while it runs.
    fn is_replaced(&self) -> bool {
        self.program.is_some_and(|program| !program.is_in_place())
    }

    /// Starts a worker of the new version if this one ended because of an update.
    fn start_replacement(&self) {
        let Some(program) = self.program else { return };
        if matches!(self.mode, RunMode::Idle) && !self.is_asked_to_stop() && self.is_replaced() {
            // After an uninstall there is none; else the next event starts it.
            worker_process::start_replacement(self.engine, program).ok();
        }
    }

    /// Works with the current database until the worker ends or the database is replaced.
    fn work(&self, config: &mut WorkerConfig) -> Result<WorkerReport> {
        let (engine, home) = (self.engine, &self.engine.home);
        let spool = home.spool();
        spool.create().context("could not create the spool")?;
        // Best effort: hooks create it when they lose an event.
        drop_counters::create(&spool).ok();
        // Watched before the spool is read for the first time, so that no event is missed.
        let watcher = DirWatcher::watch(&spool.root().join("new")).context("could not watch the spool")?;
        let store = repair::open(engine, LockOwner::Worker)?.store;
        let mut cycle = WorkCycle::new(engine, self.mode, store);
        if let Err(error) = sweep(engine) {
            // Retried by the next worker. A log that cannot be written is no reason to stop.
            engine.log("worker.log", &format!("{error:#}")).ok();
        }
        let mut tasks = self.start_tasks(config)?;
        let mut report = WorkerReport::default();
        let mut last_work = engine.clock.monotonic();
        loop {
            let done = cycle.next(config, &tasks.counters, self.stop)?;
            // Called in any case, because it wakes the tasks.
            let is_working = tasks.is_working(done.distilled > 0);
            if done.taken.new > 0
                || done.distilled > 0
                || is_working
                || tasks.is_server_used(engine.clock.timestamp())
            {
                last_work = engine.clock.monotonic();
            }
            report.add(&done);
            cycle.activity.add(&done);
            if is_working {
                cycle.activity.begin();
            } else {
                cycle.activity.end();
            }
            match self.mode {
                // Current work is finished; the rest is left to the next worker.
                _ if self.is_asked_to_stop() => break,
                RunMode::Done => break,
                RunMode::Idle if self.is_replaced() => break,
                RunMode::Idle if engine.clock.monotonic() - last_work >= config.idle => break,
                RunMode::Idle => watcher.wait(POLL, GATHER).context("could not wait for events")?,
            }
            // The home folder was deleted and must not be created again.
            if !home.worker_lock().exists() {
                return Ok(report);
            }
            if !cycle.store.is_in_place() {
                bail!(DatabaseReplaced);
            }
            // Checked even if no event arrives: a newer version may have migrated the schema.
            cycle.store.check_schema()?;
            if Stamp::of_file(&home.config()) != config.written {
                self.reload_settings(config, &mut tasks)?;
            }
        }
        // Their current work is finished, stored or released before the lock is.
        drop(tasks);
        if let RunMode::Done = self.mode {
            branches::check_branches(engine, &mut cycle.store, self.stop)?;
            outcomes::judge_sessions(engine, &mut cycle.store)?;
        }
        if let (RunMode::Done, Some(asking)) = (self.mode, &config.asking) {
            cycle.activity.begin();
            ask_all(engine, asking, self.stop)?;
        }
        // Missing or in use: only the lock tells whether a worker runs.
        system::remove_file(home.worker_json()).ok();
        Ok(report)
    }

    fn start_tasks(&self, config: &WorkerConfig) -> Result<BackgroundTasks> {
        let mut tasks = BackgroundTasks::default();
        if let RunMode::Idle = self.mode {
            tasks.indexer = Some(Indexer::start(self.engine).context("could not start indexing")?);
            let branches = BranchChecker::start(self.engine);
            tasks.branches = Some(branches.context("could not start the check of branches")?);
            tasks.team =
                Some(TeamThread::start(self.engine).context("could not start the exchange with the team")?);
            self.restart_model_pool(config, &mut tasks)?;
            self.restart_server(config, &mut tasks);
        }
        // Written last: a process that reads it finds a worker that is ready.
        write_worker_json(self.engine, tasks.server.as_deref()).context("could not write worker.json")?;
        Ok(tasks)
    }

    /// Follows changed settings. If they are invalid, the old ones stay in force and the log says why.
    fn reload_settings(&self, config: &mut WorkerConfig, tasks: &mut BackgroundTasks) -> Result<()> {
        let address = config.address;
        config.written = Stamp::of_file(&self.engine.home.config());
        match WorkerConfig::load(self.engine) {
            Ok(new) => *config = new,
            Err(error) => {
                let line = format!("settings were not reloaded: {error:#}");
                // A log that cannot be written is no reason to stop.
                self.engine.log("worker.log", &line).ok();
                return Ok(());
            }
        }
        self.restart_model_pool(config, tasks)?;
        // Only if necessary: a restart disconnects every client.
        if config.address != address {
            self.restart_server(config, tasks);
            write_worker_json(self.engine, tasks.server.as_deref()).context("could not write worker.json")?;
        }
        Ok(())
    }

    fn restart_model_pool(&self, config: &WorkerConfig, tasks: &mut BackgroundTasks) -> Result<()> {
        // The old pool ends before the new one claims jobs.
        tasks.models = None;
        let pool = config
            .asking
            .clone()
            .map(|model| ModelPool::start(self.engine, model));
        tasks.models = pool.transpose().context("could not start the model calls")?;
        Ok(())
    }

    /// Starts the server if it is switched on. A worker without a server still ingests and distills.
    fn restart_server(&self, config: &WorkerConfig, tasks: &mut BackgroundTasks) {
        // The old server releases its port first.
        tasks.server = None;
        let Some(address) = config.address else { return };
        match (self.start_server)(address, &tasks.counters) {
            Ok(server) => tasks.server = Some(server),
            Err(error) => {
                let line = format!("not reachable over HTTP: {error:#}");
                // A log that cannot be written is no reason to stop.
                self.engine.log("worker.log", &line).ok();
            }
        }
    }
}

/// Removes files that no process uses any more.
fn sweep(engine: &Engine) -> Result<()> {
    let (home, now) = (&engine.home, engine.clock.now());
    let spool = home.spool();
    spool.sweep(now, LEFTOVER).context("could not sweep the spool")?;
    private::sweep(&spool, now, PRIVATE_MARK).context("could not sweep the state of private turns")?;
    repair::sweep(home)?;
    injection_log::sweep(home, now, INJECTION_LOG).context("could not sweep the injection log")
}

/// Threads beside the loop of a worker that stays.
#[derive(Default)]
struct BackgroundTasks {
    indexer: Option<Indexer>,
    branches: Option<BranchChecker>,
    models: Option<ModelPool>,
    /// Held, and never counted as work: waiting for news of the team does not keep a worker alive.
    team: Option<TeamThread>,
    server: Option<Box<dyn HttpServer>>,
    counters: Arc<Counters>,
}

impl BackgroundTasks {
    /// Wakes all tasks. Returns `true` if one of them works.
    fn is_working(&self, has_new_work: bool) -> bool {
        if let Some(branches) = &self.branches {
            branches.look(has_new_work);
        }
        let is_indexing = self.indexer.as_ref().is_some_and(Indexer::look);
        let is_calling = self.models.as_ref().is_some_and(ModelPool::wake);
        is_indexing || is_calling
    }

    /// Returns `true` if a client used the server recently.
    fn is_server_used(&self, now: Timestamp) -> bool {
        let server = self.server.as_ref();
        server.is_some_and(|server| server.is_used_since(now - USED))
    }
}

fn write_worker_json(engine: &Engine, server: Option<&dyn HttpServer>) -> Result<()> {
    let facts = json!({
        "pid": std::process::id(),
        "socket": server.and_then(HttpServer::socket),
        "port": server.map(HttpServer::port),
        "version": env!("CARGO_PKG_VERSION"),
        "started_at": rfc3339(engine.clock.timestamp()),
    });
    Ok(write_facts(&engine.home.worker_json(), &facts)?)
}
