//! Embeds new memories for semantic search, on one thread at low priority.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread::{self, JoinHandle},
};

use backstory_recall::{Encoder, FlushPolicy, IndexError, embed_next, file_vectors, repair_vectors};
use backstory_store::{EmbedOrder, Store};

use crate::{engine::Engine, home::Home};

/// Number of memories that are embedded between two checks of the stop flag.
const BATCH_SIZE: usize = 8;

/// Number of new memories after which the full-text index is optimized.
const MANY: usize = 2_000;

/// Thread that embeds new memories whenever it is woken.
#[derive(Debug)]
pub(super) struct Indexer {
    wake: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    is_busy: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
}

impl Indexer {
    /// Starts the thread. It ends when the value is dropped.
    pub(super) fn start(engine: &Engine) -> io::Result<Self> {
        // Not the flag of the worker: a worker that continues with another database starts another thread.
        let stop = Arc::new(AtomicBool::new(false));
        let (wake, wakes) = sync_channel(1);
        let is_busy = Arc::new(AtomicBool::new(false));
        let (engine, busy, stopped) = (engine.clone(), Arc::clone(&is_busy), Arc::clone(&stop));
        let thread = thread::Builder::new().name("index".to_owned()).spawn(move || {
            while let Err(error) = run(&engine.home, &wakes, &busy, &stopped) {
                busy.store(false, Ordering::Relaxed);
                if is_locked(&error) && wakes.recv().is_ok() {
                    continue;
                }
                // Lexical search still works, and the next worker tries again. A log that cannot be written is no reason
                // to stop.
                engine
                    .log("worker.log", &format!("indexing ended: {error:#}"))
                    .ok();
                break;
            }
        })?;
        Ok(Self {
            wake: Some(wake),
            thread: Some(thread),
            is_busy,
            stop,
        })
    }

    /// Makes the thread look for new memories. Returns `true` if it is working.
    pub(super) fn look(&self) -> bool {
        if let Some(wake) = &self.wake
            && let Err(TrySendError::Disconnected(())) = wake.try_send(())
        {
            return false;
        }
        self.is_busy.load(Ordering::Relaxed)
    }
}

impl Drop for Indexer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        drop(self.wake.take());
        if let Some(thread) = self.thread.take() {
            // It logged why it ended.
            thread.join().ok();
        }
    }
}

/// Returns `true` if another process kept the database locked for too long; a retry may succeed.
fn is_locked(error: &IndexError) -> bool {
    matches!(error, IndexError::Store(error) if error.is_locked())
}

fn run(home: &Home, wakes: &Receiver<()>, is_busy: &AtomicBool, stop: &AtomicBool) -> Result<(), IndexError> {
    let mut store = Store::open(&home.database(), &home.backups())?;
    // Vectors that are lost in a power cut are computed again.
    store.set_bulk_mode()?;
    let vectors = home.vectors();
    repair_vectors(&mut store, &vectors)?;
    let mut encoder = None;
    while wakes.recv().is_ok() {
        let mut made = 0;
        while !stop.load(Ordering::Relaxed) && !store.documents_to_embed(EmbedOrder::Newest, 1)?.is_empty() {
            is_busy.store(true, Ordering::Relaxed);
            let encoder = encoder.get_or_insert_with(Encoder::new);
            match embed_next(
                &mut store,
                std::slice::from_mut(encoder),
                EmbedOrder::Newest,
                BATCH_SIZE,
            )? {
                0 => break,
                some => made += some,
            }
            file_vectors(&mut store, &vectors, FlushPolicy::Enough)?;
        }
        if made > MANY {
            store.optimize_fts()?;
        }
        if made > 0 {
            file_vectors(&mut store, &vectors, FlushPolicy::Settled)?;
        }
        is_busy.store(false, Ordering::Relaxed);
    }
    Ok(())
}
