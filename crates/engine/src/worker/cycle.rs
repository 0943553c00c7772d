//! One cycle of the worker: ingest spooled events, distill the queue, and start the daily maintenance when it is due.

use std::{
    collections::BTreeSet,
    sync::{atomic::AtomicBool, mpsc::Receiver},
    time::Duration,
};

use anyhow::{Context as _, Result};
use backstory_model::Timestamp;
use backstory_store::{Store, StoreError};

use super::{
    activity::Activity,
    config::{RunMode, WorkerConfig, WorkerReport},
    distill::distill_queue,
    maintenance,
};
use crate::{counters::Counters, engine::Engine, ingest::ingest, rules_file};

/// Time between two runs of the retention and the maintenance.
const DAY: Duration = Duration::from_secs(24 * 3600);

/// Age limit of sessions that are checked for an interruption. Only the first cycle checks all of them.
const RECENT: Duration = Duration::from_hours(14 * 24);

/// Number of changes that are kept for clients that reconnect.
const KEPT_CHANGES: u32 = 50_000;

/// Cycles over one database, and the state that one leaves to the next.
pub(super) struct WorkCycle<'h> {
    engine: &'h Engine,
    mode: RunMode,
    pub(super) store: Store,
    state: CycleState,
    /// Sessions whose rules files are out of date.
    readers: BTreeSet<String>,
    /// Sessions that fell silent before this time were already marked as interrupted.
    silent_since: Timestamp,
    maintenance: Option<Maintenance>,
    pub(super) activity: Activity<'h>,
}

/// The last run of the daily maintenance.
struct Maintenance {
    /// Reading of the monotonic clock.
    started: Duration,
    /// Damage that it found in the database.
    damage: Option<Receiver<anyhow::Error>>,
}

/// Outcome of the last cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CycleState {
    /// There was none. A worker that was killed may have left claims behind.
    First,
    /// Another process held a lock on the database; claims may be left over.
    Blocked,
    /// It ran to its end.
    Finished,
}

impl<'h> WorkCycle<'h> {
    pub(super) fn new(engine: &'h Engine, mode: RunMode, store: Store) -> Self {
        Self {
            engine,
            mode,
            store,
            state: CycleState::First,
            readers: BTreeSet::new(),
            silent_since: Timestamp::EPOCH,
            maintenance: None,
            activity: Activity::new(engine),
        }
    }

    /// Runs one cycle. While another process holds the database locked, a worker that stays retries in the next cycle: events
    /// are safe in the spool, and requests are still answered.
    pub(super) fn next(
        &mut self,
        config: &WorkerConfig,
        counters: &Counters,
        stop: &AtomicBool,
    ) -> Result<WorkerReport> {
        match self.work(config, counters, stop) {
            Err(error) if matches!(self.mode, RunMode::Idle) && is_locked(&error) => {
                if self.state != CycleState::Blocked {
                    let line = format!("another process keeps the database locked: {error:#}");
                    // A log that cannot be written is no reason to stop.
                    self.engine.log("worker.log", &line).ok();
                }
                self.state = CycleState::Blocked;
                Ok(WorkerReport::default())
            }
            other => {
                self.state = CycleState::Finished;
                other
            }
        }
    }

    fn work(
        &mut self,
        config: &WorkerConfig,
        counters: &Counters,
        stop: &AtomicBool,
    ) -> Result<WorkerReport> {
        if self.state != CycleState::Finished {
            self.store.recover(self.engine.clock.timestamp())?;
        }
        if !self.engine.home.spool().pending()?.is_empty() {
            self.activity.begin();
        }
        let mut taken = ingest(self.engine, &mut self.store)?;
        for (host, events) in &taken.hosts {
            counters.events(host, "recorded", *events);
        }
        self.readers.append(&mut taken.readers);
        // In each cycle, because a worker may run for weeks. The first one checks all sessions, because events may have been
        // spooled long ago.
        let now = self.engine.clock.timestamp();
        self.store.mark_interrupted(now, self.silent_since)?;
        self.silent_since = now - RECENT;
        let started = self.engine.clock.monotonic();
        let distilled = distill_queue(
            &mut self.store,
            &config.rules,
            &self.engine.clock,
            stop,
            &mut |_| self.activity.begin(),
        )?;
        if distilled > 0 {
            counters.distilled(distilled as u64, self.engine.clock.monotonic() - started);
        }
        rules_file::refresh(self.engine, &self.store, &self.readers, &config.context)?;
        self.readers.clear();
        self.maintain(config, now)?;
        Ok(WorkerReport { taken, distilled })
    }

    /// Applies the retention and starts the maintenance once a day. Fails if the maintenance found damage.
    fn maintain(&mut self, config: &WorkerConfig, now: Timestamp) -> Result<()> {
        let started = self.engine.clock.monotonic();
        let last = self.maintenance.as_ref();
        if last.is_none_or(|last| started - last.started >= DAY) {
            self.store.apply_retention(config.retention, now)?;
            self.store.drop_old_changes(KEPT_CHANGES)?;
            let damage = match self.mode {
                RunMode::Done => None,
                RunMode::Idle => {
                    let thread = maintenance::start(self.engine, config.backups);
                    Some(thread.context("could not start the maintenance")?)
                }
            };
            self.maintenance = Some(Maintenance { started, damage });
        }
        let damage = self.maintenance.as_ref().and_then(|last| last.damage.as_ref());
        damage.map_or(Ok(()), |damage| damage.try_recv().map_or(Ok(()), Err))
    }
}

/// Returns `true` if an error was caused by another process that kept the database locked for too long.
fn is_locked(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<StoreError>())
        .any(StoreError::is_locked)
}
