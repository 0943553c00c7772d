//! Follows up on memories, on one thread at low priority: the states of branches, and the outcomes of injections.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use anyhow::Result;
use backstory_store::Store;

use crate::{branches, engine::Engine, outcomes};

/// Least time between two checks of projects that are worked on.
const PAUSE: Duration = Duration::from_secs(10);

/// Time between two checks of all recent projects: branches are merged and deleted without an event.
const INTERVAL: Duration = Duration::from_mins(5);

/// Thread that checks branches when it is woken.
#[derive(Debug)]
pub(super) struct BranchChecker {
    wake: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    has_new_work: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
}

impl BranchChecker {
    /// Starts the thread. It ends when the value is dropped.
    pub(super) fn start(engine: &Engine) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let has_new_work = Arc::new(AtomicBool::new(false));
        let (wake, wakes) = sync_channel(1);
        let (engine, stopped, new_work) = (engine.clone(), Arc::clone(&stop), Arc::clone(&has_new_work));
        let thread = thread::Builder::new()
            .name("branches".to_owned())
            .spawn(move || {
                if let Err(error) = run(&engine, &wakes, &new_work, &stopped) {
                    // Memories keep the state that they have, and the next worker tries again. A log that cannot be written is no
                    // reason to stop.
                    engine
                        .log("worker.log", &format!("the check of branches ended: {error:#}"))
                        .ok();
                }
            })?;
        Ok(Self {
            wake: Some(wake),
            thread: Some(thread),
            has_new_work,
            stop,
        })
    }

    /// Makes the thread check, if it is time. Not waited for: the next worker begins with a check.
    pub(super) fn look(&self, has_new_work: bool) {
        if has_new_work {
            self.has_new_work.store(true, Ordering::Relaxed);
        }
        if let Some(wake) = &self.wake {
            // Full: it is awake. Disconnected: it logged why it ended.
            wake.try_send(()).ok();
        }
    }
}

impl Drop for BranchChecker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        drop(self.wake.take());
        if let Some(thread) = self.thread.take() {
            // It logged why it ended.
            thread.join().ok();
        }
    }
}

fn run(engine: &Engine, wakes: &Receiver<()>, has_new_work: &AtomicBool, stop: &AtomicBool) -> Result<()> {
    let mut store = Store::open(&engine.home.database(), &engine.home.backups())?;
    let mut last_all: Option<Duration> = None;
    let mut last: Option<Duration> = None;
    let mut since = engine.clock.timestamp();
    while wakes.recv().is_ok() && !stop.load(Ordering::Relaxed) {
        let now = engine.clock.monotonic();
        let is_due = |last: Option<Duration>, interval| last.is_none_or(|last| now - last >= interval);
        if is_due(last_all, INTERVAL) {
            has_new_work.store(false, Ordering::Relaxed);
            branches::check_branches(engine, &mut store, stop)?;
            outcomes::judge_sessions(engine, &mut store)?;
            last_all = Some(now);
        } else if has_new_work.load(Ordering::Relaxed) && is_due(last, PAUSE) {
            let started = engine.clock.timestamp();
            // Cleared first: work that arrives meanwhile waits for the next check.
            has_new_work.store(false, Ordering::Relaxed);
            branches::check_since(engine, &mut store, since - PAUSE, stop)?;
            outcomes::judge_sessions(engine, &mut store)?;
            since = started;
            last = Some(now);
        }
    }
    Ok(())
}
