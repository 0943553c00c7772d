//! The thread that exchanges memories with the team's server while the worker runs.
//!
//! It never keeps the worker alive: waiting for news is no work. A request that is under way when the worker ends is left
//! behind and ends with the process; whatever it would have brought is fetched again.

use std::{
    io,
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{RecvTimeoutError, sync_channel},
    },
    thread,
    time::Duration,
};

use anyhow::Result;
use backstory_store::{Store, TeamProject};

use crate::{
    engine::Engine,
    team::{
        TeamServerError,
        exchange::{Exchange, PullMode},
        identity,
    },
};

/// Time between two looks for memories to send, and for an end.
const TICK: Duration = Duration::from_secs(1);

/// Time between two looks whether this machine has joined a server.
const NOT_JOINED: Duration = Duration::from_secs(10);

/// First and longest pause after a failure; each is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(10);

/// The thread. Dropping it asks the thread to end and does not wait for a request under way.
#[derive(Debug)]
pub(super) struct TeamThread(Arc<Stop>);

#[derive(Debug, Default)]
struct Stop {
    flag: AtomicBool,
    lock: Mutex<()>,
    wake: Condvar,
}

impl Stop {
    fn is_set(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }

    /// Waits, or until the end is asked for.
    fn pause(&self, time: Duration) {
        let guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = |(): &mut ()| !self.is_set();
        drop(self.wake.wait_timeout_while(guard, time, waiting));
    }
}

impl TeamThread {
    /// Starts the thread.
    pub(super) fn start(engine: &Engine) -> io::Result<Self> {
        let stop = Arc::new(Stop::default());
        let (engine, shared) = (engine.clone(), Arc::clone(&stop));
        thread::Builder::new()
            .name("team".to_owned())
            .spawn(move || serve(&engine, &shared))?;
        Ok(Self(stop))
    }
}

impl Drop for TeamThread {
    fn drop(&mut self) {
        self.0.flag.store(true, Ordering::Relaxed);
        self.0.wake.notify_all();
    }
}

fn serve(engine: &Engine, stop: &Arc<Stop>) {
    let mut failures = 0_u32;
    while !stop.is_set() {
        match cycle(engine, stop) {
            Ok(()) => failures = 0,
            Err(error) => {
                if failures == 0 {
                    // A log that cannot be written is no reason to stop.
                    engine.log("worker.log", &format!("team: {error:#}")).ok();
                }
                let asked = error.downcast_ref::<TeamServerError>().and_then(retry_after);
                stop.pause(
                    asked
                        .unwrap_or_default()
                        .max(pause_after(failures, jitter(engine))),
                );
                failures = failures.saturating_add(1);
            }
        }
    }
}

fn retry_after(error: &TeamServerError) -> Option<Duration> {
    match error {
        TeamServerError::Refused { retry_after, .. } => *retry_after,
        _ => None,
    }
}

/// Returns the pause after a number of failures. The jitter, from 0 to 255, keeps many machines from asking at the same time.
fn pause_after(failures: u32, jitter: u8) -> Duration {
    let pause = FIRST_PAUSE * 2_u32.saturating_pow(failures.min(16));
    let pause = pause.min(LONGEST_PAUSE);
    pause / 2 + pause * u32::from(jitter) / 512
}

fn jitter(engine: &Engine) -> u8 {
    let nanos = engine.clock.since_1970().subsec_nanos();
    backstory_text::hash64(&nanos.to_be_bytes()).to_be_bytes()[0]
}

/// Exchanges once, then waits for news or for something to send.
fn cycle(engine: &Engine, stop: &Arc<Stop>) -> Result<()> {
    if identity::membership(engine)?.is_none() || !engine.home.database().exists() {
        stop.pause(NOT_JOINED);
        return Ok(());
    }
    let Some(exchange) = Exchange::open(engine)? else {
        return Ok(());
    };
    let mut store = Store::open(&engine.home.database(), &engine.home.backups())?;
    exchange.run(&mut store, PullMode::Continue)?;
    let Some(project) = latest_project(&store)? else {
        stop.pause(NOT_JOINED);
        return Ok(());
    };
    let (send, receive) = sync_channel(1);
    let waiting = engine.clone();
    thread::Builder::new()
        .name("team news".to_owned())
        .spawn(move || {
            let news = match Exchange::open(&waiting) {
                Ok(Some(exchange)) => exchange.wait_for_news(&project).map_err(anyhow::Error::from),
                Ok(None) => Ok(()),
                Err(error) => Err(error),
            };
            // The receiver is gone if there was something to send first.
            send.send(news).ok();
        })?;
    loop {
        match receive.recv_timeout(TICK) {
            Ok(news) => return news,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
            Err(RecvTimeoutError::Timeout) if stop.is_set() || store.has_unsent_shares()? => return Ok(()),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// Returns the project on the server in which work was done last.
fn latest_project(store: &Store) -> Result<Option<TeamProject>> {
    let projects = store.team_projects()?;
    let cards = store.projects()?;
    let latest = cards.iter().find_map(|card| {
        let is_it =
            |project: &&TeamProject| project.project_key == card.project.id && project.remote_id.is_some();
        projects.iter().find(is_it)
    });
    Ok(latest.cloned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_ten_minutes() {
        let pauses: Vec<u64> = [0, 1, 5, 9, 10, 40]
            .map(|failures| pause_after(failures, 255).as_secs())
            .to_vec();
        assert_eq!(pauses, [0, 1, 31, 511, 598, 598]);
        assert_eq!(pause_after(40, 0), LONGEST_PAUSE / 2);
    }
}
