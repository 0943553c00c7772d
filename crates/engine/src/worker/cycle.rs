//! One round of the worker: what waits is taken in and distilled, and once a day the store is kept up.

use std::{
    collections::BTreeSet,
    sync::{atomic::AtomicBool, mpsc::Receiver},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use backstory_model::Timestamp;
use backstory_serve::Counters;
use backstory_store::{Store, StoreError};

use super::{
    distill::distill_queue,
    ingest, maintenance, rules_file,
    run::{RunMode, WorkerConfig, WorkerReport},
};
use crate::{clock, home::Home, log};

/// How often what was kept long enough is dropped.
const DAY: Duration = Duration::from_secs(24 * 3600);

/// How far back the worker looks for sessions that fell silent once it has looked at all: it looks far more often.
const RECENT: Duration = Duration::from_hours(14 * 24);

/// So many changes are kept for listeners that come back.
const KEPT_CHANGES: u32 = 50_000;

/// The rounds over one database, with what each leaves to the next.
pub(super) struct WorkCycle<'h> {
    home: &'h Home,
    until: RunMode,
    pub(super) store: Store,
    course: CycleState,
    /// Sessions whose rules files are to be written anew.
    readers: BTreeSet<String>,
    silent_since: Timestamp,
    upkeep: Option<(Instant, Option<Receiver<anyhow::Error>>)>,
}

/// How the last round went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CycleState {
    /// There was none. A worker that is gone may have claimed work.
    First,
    /// It broke off, perhaps with work that it had claimed.
    Blocked,
    /// It did all that was to be done.
    Finished,
}

impl<'h> WorkCycle<'h> {
    pub(super) fn new(home: &'h Home, until: RunMode, store: Store) -> Self {
        Self {
            home,
            until,
            store,
            course: CycleState::First,
            readers: BTreeSet::new(),
            silent_since: Timestamp::EPOCH,
            upkeep: None,
        }
    }

    /// Does what is to be done now. A worker that stays leaves it to the next round while another process keeps the database
    /// locked: events are safe in the spool, and who asks something is answered.
    pub(super) fn next(
        &mut self,
        duties: &WorkerConfig,
        counters: &Counters,
        stop: &AtomicBool,
    ) -> Result<WorkerReport> {
        match self.work(duties, counters, stop) {
            Err(error) if matches!(self.until, RunMode::Idle) && is_locked(&error) => {
                if self.course != CycleState::Blocked {
                    let line = format!("another process holds the worker up: {error:#}");
                    // Nobody to tell when the log cannot be written.
                    log::append(self.home, "worker.log", clock::since_1970(), &line).ok();
                }
                self.course = CycleState::Blocked;
                Ok(WorkerReport::default())
            }
            other => {
                self.course = CycleState::Finished;
                other
            }
        }
    }

    fn work(
        &mut self,
        duties: &WorkerConfig,
        counters: &Counters,
        stop: &AtomicBool,
    ) -> Result<WorkerReport> {
        if self.course != CycleState::Finished {
            self.store.recover(clock::timestamp())?;
        }
        let mut taken = ingest(&self.home.spool(), &mut self.store)?;
        for (host, events) in &taken.hosts {
            counters.events(host, "recorded", *events);
        }
        self.readers.append(&mut taken.readers);
        // After each round: the worker may run for weeks. After the first: events may have waited for years.
        let now = clock::timestamp();
        self.store.mark_interrupted(now, self.silent_since)?;
        self.silent_since = now - RECENT;
        let begun = Instant::now();
        let distilled = distill_queue(&mut self.store, &duties.rules, stop, &mut |_| {})?;
        if distilled > 0 {
            counters.distilled(distilled as u64, begun.elapsed());
        }
        rules_file::refresh(self.home, &self.store, &self.readers, &duties.context)?;
        self.readers.clear();
        self.keep_up(duties, now)?;
        Ok(WorkerReport { taken, distilled })
    }

    fn keep_up(&mut self, duties: &WorkerConfig, now: Timestamp) -> Result<()> {
        if self.upkeep.as_ref().is_none_or(|(last, _)| last.elapsed() >= DAY) {
            self.store.apply_retention(duties.retention, now)?;
            self.store.drop_old_changes(KEPT_CHANGES)?;
            let damage = match self.until {
                RunMode::Done => None,
                RunMode::Idle => {
                    let started = maintenance::start(self.home, duties.backups);
                    Some(started.context("could not start the upkeep")?)
                }
            };
            self.upkeep = Some((Instant::now(), damage));
        }
        match &self.upkeep {
            Some((_, Some(damage))) => damage.try_recv().map_or(Ok(()), Err),
            _ => Ok(()),
        }
    }
}

/// Says whether something failed because another process kept the database locked for too long.
fn is_locked(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<StoreError>())
        .any(StoreError::is_locked)
}
