//! The worker's loop.

use std::{
    fs::OpenOptions,
    io::Write,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use backstory_capture::private;
use backstory_model::Timestamp;
use backstory_serve::{Counters, Serving};
use backstory_store::Retention;
use backstory_system::{self as system, DirWatcher, OwnerOnly as _, lower_priority, shutdown_flag};
use serde_json::json;

use super::{
    DistillOptions, Intake, ModelConfig, WorkerLock,
    cycle::WorkCycle,
    index::Indexer,
    ingest::DatabaseReplaced,
    model_pool::{ModelPool, ask_all},
    serve::{self, HttpAddress},
};
use crate::{
    clock,
    home::Home,
    injection_log, log,
    repair::{self, LockOwner},
    settings::{ContextSettings, hook_cache::Stamp},
    time_arg::rfc3339,
};

/// When the worker ends.
#[derive(Clone, Copy, Debug)]
pub enum RunMode {
    /// When everything that waited is taken in and distilled.
    Done,
    /// When nothing happened for a while.
    Idle,
}

/// What a worker did in its life.
#[derive(Clone, Debug, Default)]
pub struct WorkerReport {
    /// Events that it took in.
    pub taken: Intake,
    /// Events that it distilled.
    pub distilled: usize,
}

impl WorkerReport {
    fn add(&mut self, done: &Self) {
        self.taken.new += done.taken.new;
        self.taken.torn += done.taken.torn;
        self.taken.left = done.taken.left;
        self.distilled += done.distilled;
    }
}

/// How a worker does its work.
#[derive(Clone, Debug)]
pub struct WorkerConfig {
    /// How turns are distilled.
    pub rules: DistillOptions,
    /// Which model is asked after the rules, if any.
    pub asking: Option<Arc<ModelConfig>>,
    /// What a session that starts may be told.
    pub context: ContextSettings,
    /// How long things are kept.
    pub retention: Retention,
    /// Where it is to be reached over HTTP, if at all.
    pub door: Option<HttpAddress>,
    /// How many daily backups are kept.
    pub backups: usize,
    /// How long it stays when nothing happens.
    pub idle: Duration,
    /// When that was written that all this was read from.
    pub written: Option<Stamp>,
}

/// Reads the settings anew.
pub(super) type LoadConfig<'a> = &'a dyn Fn() -> Result<WorkerConfig>;

/// The safety net for a wake-up that did not arrive.
const POLL: Duration = Duration::from_secs(2);

/// How long events gather before they are taken in together: one flush to disk for all of them.
const GATHER: Duration = Duration::from_millis(50);

/// A worker that somebody asked something this long ago is in use.
const USED: Duration = Duration::from_millis(60_000);

/// What killed hooks left in `tmp/` is swept after this long.
const LEFTOVER: Duration = Duration::from_secs(3600);

/// The marks of private turns are kept this long after the last private prompt: no session lasts longer.
const PRIVATE_MARK: Duration = Duration::from_secs(90 * 24 * 3600);

/// What a session was given is kept this long after it was last given something.
const GIVEN: Duration = Duration::from_secs(90 * 24 * 3600);

/// Takes events in and distils them until told otherwise; `None` when another worker is at it already.
///
/// When the settings change, they are read anew, and from then on they hold.
pub fn run(home: &Home, until: RunMode, read: LoadConfig<'_>) -> Result<Option<WorkerReport>> {
    let mut duties = read()?;
    home.create()?;
    let Some(_lock) = WorkerLock::take(home).context("could not lock worker.lock")? else {
        return Ok(None);
    };
    lower_priority();
    let stop = shutdown_flag().context("could not listen for signals")?;
    let mut rebuilt = 0;
    loop {
        match work(home, until, (&mut duties, read), &stop) {
            // Nothing was removed from the spool that is not in the database at its place.
            Err(error) if error.is::<DatabaseReplaced>() => {
                // A home that was deleted wants no worker, and must not come back.
                if !home.worker_lock().exists() {
                    return Ok(Some(WorkerReport::default()));
                }
            }
            // Once is an accident, twice is a disk.
            Err(error) if repair::is_damage(&error) && rebuilt < MAX_REBUILT => {
                repair::rebuild_if_damaged(home, LockOwner::Worker, &error)?;
                rebuilt += 1;
            }
            other => return other.map(Some),
        }
    }
}

/// A database that is damaged again after so many times is left to a person.
const MAX_REBUILT: u32 = 2;

/// Works with the database that is there now, until told otherwise or until it is another one.
fn work(
    home: &Home,
    until: RunMode,
    (duties, read): (&mut WorkerConfig, LoadConfig<'_>),
    stop: &Arc<AtomicBool>,
) -> Result<WorkerReport> {
    let spool = home.spool();
    spool.create().context("could not create the spool")?;
    // Watched before the first look at the spool: what arrives from now on is not missed.
    let bell = DirWatcher::watch(&spool.root().join("new")).context("could not watch the spool")?;
    let mut rounds = WorkCycle::new(home, until, repair::open(home, LockOwner::Worker)?);
    if let Err(error) = sweep(home) {
        // What cannot be removed now may be gone tomorrow; nobody to tell when the log cannot be written.
        log::append(home, "worker.log", clock::since_1970(), &format!("{error:#}")).ok();
    }
    let mut staff = BackgroundTasks::start(home, until, duties)?;
    let mut work = WorkerReport::default();
    let mut last_event = Instant::now();
    loop {
        let done = rounds.next(duties, &staff.counters, stop)?;
        // Asked in any case: it wakes them.
        let is_busy = staff.is_busy(clock::timestamp());
        if done.taken.new > 0 || done.distilled > 0 || is_busy {
            last_event = Instant::now();
        }
        work.add(&done);
        match until {
            // What was in hand is finished; the rest waits for the next worker.
            _ if stop.load(Ordering::Relaxed) => break,
            RunMode::Done => break,
            RunMode::Idle if last_event.elapsed() >= duties.idle => break,
            RunMode::Idle => bell.wait(POLL, GATHER).context("could not wait for events")?,
        }
        // A home that was deleted wants no worker, and must not come back.
        if !home.worker_lock().exists() {
            return Ok(work);
        }
        if !rounds.store.is_in_place() {
            bail!(DatabaseReplaced);
        }
        // Also when no event comes: a newer version may have changed the schema, and everybody here writes.
        rounds.store.check_schema()?;
        if Stamp::of_file(&home.config()) != duties.written {
            reload_settings(home, (duties, read), &mut staff)?;
        }
    }
    // What they have in hand is finished, stored or given back before the lock goes.
    drop(staff);
    drain_model_queue(home, until, duties, stop)?;
    // Not there, or not ours to remove: the lock alone says whether a worker lives.
    system::remove_file(home.worker_json()).ok();
    Ok(work)
}

/// Removes what nobody comes back for.
fn sweep(home: &Home) -> Result<()> {
    let spool = home.spool();
    spool
        .sweep(clock::now(), LEFTOVER)
        .context("could not sweep the spool")?;
    private::sweep(&spool, clock::now(), PRIVATE_MARK)
        .context("could not sweep the marks of private turns")?;
    repair::sweep(home)?;
    injection_log::sweep(home, clock::now(), GIVEN).context("could not sweep what sessions were given")
}

/// What goes on beside the loop, while the worker stays.
#[derive(Default)]
struct BackgroundTasks {
    indexer: Option<Indexer>,
    askers: Option<ModelPool>,
    serving: Option<Serving>,
    counters: Arc<Counters>,
}

impl BackgroundTasks {
    fn start(home: &Home, until: RunMode, duties: &WorkerConfig) -> Result<Self> {
        let mut staff = Self::default();
        if let RunMode::Idle = until {
            staff.indexer = Some(Indexer::start(home).context("could not start indexing")?);
            staff.ask(home, duties)?;
            staff.serve(home, duties);
        }
        // Written when all is open: whoever reads it finds a worker that is ready.
        write_worker_json(home, staff.serving.as_ref()).context("could not write worker.json")?;
        Ok(staff)
    }

    /// Starts the threads that ask a model, where there is one.
    fn ask(&mut self, home: &Home, duties: &WorkerConfig) -> Result<()> {
        self.askers = None;
        let askers = duties.asking.clone().map(|asking| ModelPool::start(home, asking));
        self.askers = askers.transpose().context("could not start asking a model")?;
        Ok(())
    }

    /// Opens the door, where there is one.
    fn serve(&mut self, home: &Home, duties: &WorkerConfig) {
        self.serving = None;
        self.serving = duties
            .door
            .and_then(|door| start_http(home, door, &self.counters));
    }

    /// Wakes everybody; says whether somebody is at work, or was asked for something lately.
    fn is_busy(&self, now: Timestamp) -> bool {
        let is_indexing = self.indexer.as_ref().is_some_and(Indexer::look);
        let is_asking = self.askers.as_ref().is_some_and(ModelPool::wake);
        let is_used = |serving: &Serving| serving.is_used_since(now - USED);
        is_indexing || is_asking || self.serving.as_ref().is_some_and(is_used)
    }
}

/// Obeys settings that have changed. Those that cannot be read change nothing, and the log says why.
fn reload_settings(
    home: &Home,
    (duties, read): (&mut WorkerConfig, LoadConfig<'_>),
    staff: &mut BackgroundTasks,
) -> Result<()> {
    let door = duties.door;
    duties.written = Stamp::of_file(&home.config());
    match read() {
        Ok(new) => *duties = new,
        Err(error) => {
            let line = format!("the settings are as they were: {error:#}");
            // Nobody to tell when the log cannot be written.
            log::append(home, "worker.log", clock::since_1970(), &line).ok();
            return Ok(());
        }
    }
    staff.ask(home, duties)?;
    // Not for nothing: everybody who listens would have to come back.
    if duties.door != door {
        staff.serve(home, duties);
        write_worker_json(home, staff.serving.as_ref()).context("could not write worker.json")?;
    }
    Ok(())
}

/// Asks a model about what waits, where the worker does not stay.
fn drain_model_queue(home: &Home, until: RunMode, duties: &WorkerConfig, stop: &AtomicBool) -> Result<()> {
    match (until, &duties.asking) {
        (RunMode::Done, Some(asking)) => ask_all(home, asking, stop),
        _ => Ok(()),
    }
}

/// Opens the door; a worker that cannot be reached still does its work.
fn start_http(home: &Home, door: HttpAddress, counters: &Arc<Counters>) -> Option<Serving> {
    match serve::open(home, door, counters) {
        Ok(serving) => Some(serving),
        Err(error) => {
            let line = format!("not reachable over HTTP: {error:#}");
            // Nobody to tell when the log cannot be written.
            log::append(home, "worker.log", clock::since_1970(), &line).ok();
            None
        }
    }
}

fn write_worker_json(home: &Home, serving: Option<&Serving>) -> Result<()> {
    let facts = json!({
        "pid": std::process::id(),
        "socket": serving.and_then(Serving::socket),
        "port": serving.map(Serving::port),
        "version": env!("CARGO_PKG_VERSION"),
        "started_at": rfc3339(clock::timestamp()),
    });
    let path = home.worker_json();
    let unfinished = path.with_extension("json.tmp");
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .private()
        .open(&unfinished)?;
    writeln!(file, "{facts:#}")?;
    system::rename(unfinished, path)?;
    Ok(())
}
