//! Asks a model about turns that wait for one: threads of their own, so that nobody else ever waits for an answer.

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
use backstory_capture::filter;
use backstory_model::Timestamp;
use backstory_store::{MODEL_LEASE, MODEL_RETRY_DELAY, ModelJob, Store};

use super::model_call::{CallOutcome, distill_with_model};
use crate::{clock, home::Home, log, models::Model};

/// How often a thread looks around that nobody wakes.
const POLL_INTERVAL: Duration = Duration::from_secs(20);

/// What asking needs besides the store.
#[derive(Debug)]
pub struct ModelConfig {
    /// Who is asked.
    pub model: Model,
    /// What of a transcript may be kept.
    pub keep: filter::CaptureSettings,
}

/// Threads that ask a model whenever a turn waits for one.
#[derive(Debug)]
pub(super) struct ModelPool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    asking: Arc<ModelConfig>,
    stop: AtomicBool,
    busy: AtomicUsize,
    /// Counts the wake-ups, so that none is missed.
    wakes: Mutex<u64>,
    wake: Condvar,
}

impl ModelPool {
    /// Starts the threads. They end when this is dropped, in the middle of a call too.
    pub(super) fn start(home: &Home, asking: Arc<ModelConfig>) -> io::Result<Self> {
        let count = asking.model.concurrency;
        let shared = Arc::new(Shared {
            asking,
            stop: AtomicBool::new(false),
            busy: AtomicUsize::new(0),
            wakes: Mutex::new(0),
            wake: Condvar::new(),
        });
        let mut threads = Vec::new();
        for _ in 0..count {
            let (home, shared) = (home.clone(), Arc::clone(&shared));
            let thread = thread::Builder::new().name("model".to_owned());
            threads.push(thread.spawn(move || {
                if let Err(error) = serve(&home, &shared) {
                    note(&home, &error);
                }
            })?);
        }
        Ok(Self { shared, threads })
    }

    /// Wakes them; says whether any is at work.
    pub(super) fn wake(&self) -> bool {
        self.shared.ring();
        self.shared.busy.load(Ordering::Relaxed) > 0
    }
}

impl Drop for ModelPool {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.shared.ring();
        for thread in self.threads.drain(..) {
            // It logged why it ended.
            thread.join().ok();
        }
    }
}

impl Shared {
    fn ring(&self) {
        *self.wakes.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.wake.notify_all();
    }

    /// Sleeps until somebody rings who has not been heard yet, at most so long.
    fn sleep(&self, heard: &mut u64, most: Duration) {
        let wakes = self.wakes.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .wake
            .wait_timeout_while(wakes, most, |wakes| wakes == heard)
            .unwrap_or_else(PoisonError::into_inner);
        *heard = *waited.0;
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

fn serve(home: &Home, shared: &Shared) -> Result<()> {
    let mut store = Store::open(&home.database(), &home.backups())?;
    // In a store that is locked now, the next worker closes them.
    if let Err(error) = store.close_lost_calls(clock::timestamp() - MODEL_LEASE) {
        note(home, &error.into());
    }
    let mut heard = 0;
    while !shared.is_stopped() {
        let worked = work(&mut store, &shared.asking, &shared.stop, &shared.busy);
        let rest = worked.unwrap_or_else(|error| {
            note(home, &error);
            POLL_INTERVAL
        });
        shared.sleep(&mut heard, rest);
    }
    Ok(())
}

/// Asks about what waits, with several calls at once, until nothing can be asked now.
pub(super) fn ask_all(home: &Home, asking: &ModelConfig, stop: &AtomicBool) -> Result<()> {
    thread::scope(|scope| {
        let one = || -> Result<()> {
            let mut store = Store::open(&home.database(), &home.backups())?;
            work(&mut store, asking, stop, &AtomicUsize::new(0)).map(drop)
        };
        let threads: Vec<_> = (0..asking.model.concurrency).map(|_| scope.spawn(one)).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().unwrap_or(Ok(())))
    })
}

/// Asks about one turn after the other until none waits, or the model may not be asked now. Returns how long to rest.
fn work(store: &mut Store, asking: &ModelConfig, stop: &AtomicBool, busy: &AtomicUsize) -> Result<Duration> {
    while !stop.load(Ordering::Relaxed) {
        if let Some(rest) = blocked_for(store, &asking.model)? {
            return Ok(rest);
        }
        let Some(claim) = store.claim_model_job(clock::timestamp(), MODEL_LEASE)? else {
            break;
        };
        busy.fetch_add(1, Ordering::Relaxed);
        let asked = call_guarded(store, claim, asking, stop);
        busy.fetch_sub(1, Ordering::Relaxed);
        match asked? {
            CallOutcome::Kept | CallOutcome::Left(_) | CallOutcome::Troubled(_) => {}
            // Somebody else looks whether the provider is well again.
            CallOutcome::Waits(_) => break,
        }
    }
    Ok(POLL_INTERVAL)
}

/// Asks about a turn. A bug must cost one turn, not the thread, and not a call each time somebody looks.
fn call_guarded(
    store: &mut Store,
    claim: ModelJob,
    asking: &ModelConfig,
    stop: &AtomicBool,
) -> Result<CallOutcome> {
    let asked = panic::catch_unwind(AssertUnwindSafe(|| {
        distill_with_model(store, claim, &asking.model, &asking.keep, stop)
    }));
    let asked = asked.unwrap_or_else(|_| Err(anyhow!("asking about turn {} panicked", claim.turn_id)));
    if asked.is_err() {
        store.release_model_job(claim, clock::timestamp() + MODEL_RETRY_DELAY)?;
    }
    asked
}

/// Says what went wrong: the rules' memories stand. Nobody to tell when the log cannot be written.
fn note(home: &Home, error: &anyhow::Error) {
    let line = format!("asking a model failed: {error:#}");
    log::append(home, "worker.log", clock::since_1970(), &line).ok();
}

/// Says how long it makes no sense to put a question together: the day's tokens are spent, or the provider is left alone.
fn blocked_for(store: &Store, model: &Model) -> Result<Option<Duration>> {
    let now = clock::timestamp();
    let budget = model.budget(now);
    if store.tokens_since(budget.day_start)? >= budget.daily_tokens {
        return Ok(Some(POLL_INTERVAL));
    }
    let pauses = store.provider_pauses()?;
    let until = pauses
        .iter()
        .find(|pause| pause.provider == model.place)
        .map_or(Timestamp::EPOCH, |pause| pause.until);
    let rest = until.since(now);
    Ok((!rest.is_zero()).then(|| rest.min(POLL_INTERVAL)))
}
