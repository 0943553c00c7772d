//! Gives memories their vectors while nothing else is to be done: one thread, on one core.

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

use crate::{clock, home::Home, log};

/// So many memories are embedded between two looks at whether to stop.
const BATCH_SIZE: usize = 8;

/// After so many new memories the word index is worth putting in order.
const MANY: usize = 2_000;

/// A thread that embeds what is new whenever it is told to look.
#[derive(Debug)]
pub(super) struct Indexer {
    tell: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    is_busy: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
}

impl Indexer {
    /// Starts the thread. It ends when it is dropped.
    pub(super) fn start(home: &Home) -> io::Result<Self> {
        // Its own: a worker that goes on with another database starts another thread.
        let stop = Arc::new(AtomicBool::new(false));
        let (tell, told) = sync_channel(1);
        let is_busy = Arc::new(AtomicBool::new(false));
        let (home, busy, stopped) = (home.clone(), Arc::clone(&is_busy), Arc::clone(&stop));
        let thread = thread::Builder::new().name("index".to_owned()).spawn(move || {
            while let Err(error) = run(&home, &told, &busy, &stopped) {
                busy.store(false, Ordering::Relaxed);
                if is_locked(&error) && told.recv().is_ok() {
                    continue;
                }
                // Search goes on by words; the next worker tries again.
                // and nobody to tell when the log cannot be written.
                log::append(
                    &home,
                    "worker.log",
                    clock::since_1970(),
                    &format!("indexing ended: {error:#}"),
                )
                .ok();
                break;
            }
        })?;
        Ok(Self {
            tell: Some(tell),
            thread: Some(thread),
            is_busy,
            stop,
        })
    }

    /// Makes it look for new memories; says whether it is at work.
    pub(super) fn look(&self) -> bool {
        if let Some(tell) = &self.tell
            && let Err(TrySendError::Disconnected(())) = tell.try_send(())
        {
            return false;
        }
        self.is_busy.load(Ordering::Relaxed)
    }
}

impl Drop for Indexer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        drop(self.tell.take());
        if let Some(thread) = self.thread.take() {
            // It logged why it ended.
            thread.join().ok();
        }
    }
}

/// Says whether another process kept the database locked for too long: then it is tried again.
fn is_locked(error: &IndexError) -> bool {
    matches!(error, IndexError::Store(error) if error.is_locked())
}

fn run(home: &Home, told: &Receiver<()>, is_busy: &AtomicBool, stop: &AtomicBool) -> Result<(), IndexError> {
    let mut store = Store::open(&home.database(), &home.backups())?;
    // A vector that a power cut costs is made again.
    store.set_bulk_mode()?;
    let vectors = home.vectors();
    repair_vectors(&mut store, &vectors)?;
    let mut encoder = None;
    while told.recv().is_ok() {
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
