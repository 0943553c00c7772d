//! Threads that call the model for queued turns, so that ingest and distillation never wait for an answer.

use std::{
    io,
    panic::{self, AssertUnwindSafe},
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use anyhow::{Result, anyhow};
use backstory_model::Timestamp;
use backstory_store::{MODEL_LEASE, MODEL_RETRY_DELAY, ModelJob, Store};

use super::model_call::{CallOutcome, ModelCaller, ModelConfig};
use crate::engine::Engine;

/// Longest time between two checks of the model queue.
const POLL_INTERVAL: Duration = Duration::from_secs(20);

/// Threads that call the model for queued turns.
#[derive(Debug)]
pub(super) struct ModelPool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    config: Arc<ModelConfig>,
    stop: AtomicBool,
    busy: AtomicUsize,
    /// Number of wake-ups so far, so that none is missed.
    wakes: Mutex<u64>,
    wake: Condvar,
}

impl ModelPool {
    /// Starts the threads. They end when the value is dropped, even during a call.
    pub(super) fn start(engine: &Engine, config: Arc<ModelConfig>) -> io::Result<Self> {
        let count = config.model.concurrency;
        let shared = Arc::new(Shared {
            config,
            stop: AtomicBool::new(false),
            busy: AtomicUsize::new(0),
            wakes: Mutex::new(0),
            wake: Condvar::new(),
        });
        let mut threads = Vec::new();
        for _ in 0..count {
            let (engine, shared) = (engine.clone(), Arc::clone(&shared));
            let thread = thread::Builder::new().name("model".to_owned());
            threads.push(thread.spawn(move || {
                if let Err(error) = serve(&engine, &shared) {
                    log_failure(&engine, &error);
                }
            })?);
        }
        Ok(Self { shared, threads })
    }

    /// Wakes the threads. Returns `true` if one of them is working.
    pub(super) fn wake(&self) -> bool {
        self.shared.notify();
        self.shared.busy.load(Ordering::Relaxed) > 0
    }
}

impl Drop for ModelPool {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.shared.notify();
        for thread in self.threads.drain(..) {
            // It logged why it ended.
            thread.join().ok();
        }
    }
}

impl Shared {
    fn notify(&self) {
        *self.wakes.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.wake.notify_all();
    }

    /// Waits for a wake-up after number `seen`, at most `timeout`.
    fn wait(&self, seen: &mut u64, timeout: Duration) {
        let wakes = self.wakes.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .wake
            .wait_timeout_while(wakes, timeout, |wakes| wakes == seen)
            .unwrap_or_else(PoisonError::into_inner);
        *seen = *waited.0;
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

fn serve(engine: &Engine, shared: &Shared) -> Result<()> {
    let home = &engine.home;
    let mut store = Store::open(&home.database(), &home.backups())?;
    // If the store is locked now, the next worker closes them.
    if let Err(error) = store.close_lost_calls(engine.clock.timestamp() - MODEL_LEASE) {
        log_failure(engine, &error.into());
    }
    let mut seen = 0;
    while !shared.is_stopped() {
        let caller = ModelCaller {
            config: &shared.config,
            clock: &engine.clock,
            stop: &shared.stop,
        };
        let worked = work(&caller, &mut store, &shared.busy);
        let pause = worked.unwrap_or_else(|error| {
            log_failure(engine, &error);
            POLL_INTERVAL
        });
        shared.wait(&mut seen, pause);
    }
    Ok(())
}

/// Calls the model for all queued turns, several at once, until none is left or no call is allowed.
pub(super) fn ask_all(engine: &Engine, config: &ModelConfig, stop: &AtomicBool) -> Result<()> {
    let caller = ModelCaller {
        config,
        clock: &engine.clock,
        stop,
    };
    thread::scope(|scope| {
        let one = || -> Result<()> {
            let mut store = Store::open(&engine.home.database(), &engine.home.backups())?;
            work(&caller, &mut store, &AtomicUsize::new(0)).map(drop)
        };
        let threads: Vec<_> = (0..config.model.concurrency).map(|_| scope.spawn(one)).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().unwrap_or(Ok(())))
    })
}

/// Calls the model for one turn after the other until none is left or no call is allowed. Returns the time to pause.
fn work(caller: &ModelCaller<'_>, store: &mut Store, busy: &AtomicUsize) -> Result<Duration> {
    while !caller.stop.load(Ordering::Relaxed) {
        if let Some(pause) = blocked_for(caller, store)? {
            return Ok(pause);
        }
        let Some(claim) = store.claim_model_job(caller.clock.timestamp(), MODEL_LEASE)? else {
            break;
        };
        busy.fetch_add(1, Ordering::Relaxed);
        let outcome = call_guarded(caller, store, claim);
        busy.fetch_sub(1, Ordering::Relaxed);
        match outcome? {
            CallOutcome::Kept | CallOutcome::Left(_) | CallOutcome::Troubled(_) => {}
            // Another thread probes the provider.
            CallOutcome::Waits(_) => break,
        }
    }
    Ok(POLL_INTERVAL)
}

/// Calls the model for one turn. A panic costs this turn only: not the thread, and not a call in every cycle.
fn call_guarded(caller: &ModelCaller<'_>, store: &mut Store, claim: ModelJob) -> Result<CallOutcome> {
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| caller.distill(store, claim)));
    let outcome =
        outcome.unwrap_or_else(|_| Err(anyhow!("the model call for turn {} panicked", claim.turn_id)));
    if outcome.is_err() {
        store.release_model_job(claim, caller.clock.timestamp() + MODEL_RETRY_DELAY)?;
    }
    outcome
}

/// Returns how long no call is allowed, because the daily budget is spent or the provider is in backoff.
fn blocked_for(caller: &ModelCaller<'_>, store: &Store) -> Result<Option<Duration>> {
    let (model, now) = (&caller.config.model, caller.clock.timestamp());
    let budget = model.budget(now);
    if store.tokens_since(budget.day_start)? >= budget.daily_tokens {
        return Ok(Some(POLL_INTERVAL));
    }
    let pauses = store.provider_backoffs()?;
    let until = pauses
        .iter()
        .find(|pause| pause.provider == model.backoff_key)
        .map_or(Timestamp::EPOCH, |pause| pause.until);
    let rest = until.since(now);
    Ok((!rest.is_zero()).then(|| rest.min(POLL_INTERVAL)))
}

/// Logs a failed call; the memories of the built-in rules stay. A log that cannot be written is no reason to stop.
fn log_failure(engine: &Engine, error: &anyhow::Error) {
    engine
        .log("worker.log", &format!("model call failed: {error:#}"))
        .ok();
}
