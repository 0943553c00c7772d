//! Calls a model for many turns, several at a time.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use anyhow::Result;
use backstory_engine::error::with_hint;
use backstory_engine::{
    engine::Engine,
    worker::{CallOutcome, ModelCaller, ModelConfig},
};
use backstory_model::TurnId;
use backstory_store::{MODEL_LEASE, Permit, Store};

use crate::progress::Progress;

/// Holds the result of a run.
#[derive(Debug, Default)]
pub(super) struct DistillReport {
    /// Turns with memories from the model.
    pub(super) kept: usize,
    /// Turns that keep the memories of the built-in rules.
    pub(super) left: usize,
    /// Why they keep them, with the number of turns.
    pub(super) reasons: BTreeMap<String, usize>,
    /// Reason why the run ended early.
    pub(super) ended: Option<String>,
}

/// State shared by the threads of one run.
struct Run<'r> {
    engine: &'r Engine,
    asking: &'r ModelConfig,
    pending: Mutex<Vec<TurnId>>,
    outcome: Mutex<DistillReport>,
    stop: AtomicBool,
}

/// Calls the model for each turn, several at a time, until all are done or a retry is pointless.
pub(super) fn ask(
    engine: &Engine,
    asking: &ModelConfig,
    turns: Vec<TurnId>,
    progress: &mut Progress,
) -> Result<DistillReport> {
    let all = turns.len();
    let run = Run {
        engine,
        asking,
        // Taken from the end, so the oldest comes first: a superseded memory must exist before its successor.
        pending: Mutex::new(turns),
        outcome: Mutex::default(),
        stop: AtomicBool::new(false),
    };
    thread::scope(|scope| -> Result<()> {
        let threads: Vec<_> = (0..asking.model.concurrency.min(all))
            .map(|_| scope.spawn(|| run.work()))
            .collect();
        while !threads.iter().all(thread::ScopedJoinHandle::is_finished) {
            let done = run.done();
            progress.bar(done, all, "turns distilled");
            thread::sleep(Duration::from_millis(50));
        }
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().unwrap_or(Ok(())))
    })?;
    Ok(run.outcome.into_inner().unwrap_or_else(PoisonError::into_inner))
}

impl Run<'_> {
    fn done(&self) -> usize {
        let outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        outcome.kept + outcome.left
    }

    fn work(&self) -> Result<()> {
        let engine = self.engine;
        let caller = ModelCaller {
            config: self.asking,
            clock: &engine.clock,
            stop: &self.stop,
        };
        let mut store = Store::open(&engine.home.database(), &engine.home.backups()).map_err(with_hint)?;
        while !self.stop.load(Ordering::Relaxed) {
            let next = self.pending.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let Some(id) = next else { break };
            let Some(claim) = store.claim_turn(id, engine.clock.timestamp(), MODEL_LEASE)? else {
                self.leave("the worker distills it".to_owned());
                continue;
            };
            match caller.distill(&mut store, claim)? {
                CallOutcome::Kept => self.note(|outcome| outcome.kept += 1),
                CallOutcome::Left(why) => self.leave(why),
                CallOutcome::Waits(Permit::DaySpent) => self.end("the daily budget is spent".to_owned()),
                CallOutcome::Waits(_) => self.wait_or_end(&store, id, "the provider is backing off")?,
                CallOutcome::Troubled(trouble) => self.wait_or_end(&store, id, &trouble.to_string())?,
            }
        }
        Ok(())
    }

    /// Waits for the end of the provider's backoff, if that is soon.
    fn wait_or_end(&self, store: &Store, id: TurnId, why: &str) -> Result<()> {
        const MAX_WAIT: Duration = Duration::from_secs(90);
        const MIN_WAIT: Duration = Duration::from_millis(100);
        let backoffs = store.provider_backoffs()?;
        let backoff = backoffs
            .iter()
            .find(|backoff| backoff.provider == self.asking.model.backoff_key);
        let rest = backoff.map_or(MIN_WAIT, |backoff| {
            backoff.until.since(self.engine.clock.timestamp()).max(MIN_WAIT)
        });
        if rest > MAX_WAIT || backoff.is_some_and(|backoff| backoff.failures > 3) {
            self.end(why.to_owned());
            return Ok(());
        }
        self.pending
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(id);
        thread::sleep(rest);
        Ok(())
    }

    fn end(&self, why: String) {
        self.stop.store(true, Ordering::Relaxed);
        self.note(|outcome| outcome.ended = outcome.ended.take().or(Some(why)));
    }

    fn leave(&self, why: String) {
        self.note(|outcome| {
            outcome.left += 1;
            *outcome.reasons.entry(why).or_default() += 1;
        });
    }

    fn note(&self, change: impl FnOnce(&mut DistillReport)) {
        change(&mut self.outcome.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
