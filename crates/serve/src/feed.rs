//! Live events: every change that any process makes reaches whoever listens.
//!
//! One thread looks whether anything was committed, reads what changed and tells all listeners. Nobody listens: it sleeps.
//! A listener that does not keep up is let go; it comes back with the number of the last event that it had.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use backstory_model::{Handle, MemoryKind};
use backstory_store::{Change, Queue, Store, StoreError};
use serde_json::{Value, json};
use tokio::sync::broadcast;

use crate::{
    Backend, Stores,
    api_types::{Memory, SessionJson},
};

/// How often is looked whether anything was committed.
const POLL_INTERVAL: Duration = Duration::from_millis(150);

/// How often the state of the worker is told, changed or not.
const HEALTH: Duration = Duration::from_secs(15);

/// So many events wait for a listener before it is let go.
const CHANNEL_CAPACITY: usize = 2_048;

/// So many bytes are told of a long text.
const MAX_TEXT_LEN: usize = 4_096;

/// So many changes are read at a time; fewer than may wait for a listener.
pub(crate) const MAX_BATCH: u32 = 2_000;

/// No state of the store has this number: the next look reads what has changed.
const NO_VERSION: i64 = -1;

/// Something to tell.
#[derive(Clone, Debug)]
pub(crate) struct SseEvent {
    /// The number of the change; absent when it is a state, which nobody needs to hear twice.
    pub(crate) id: Option<i64>,
    pub(crate) name: String,
    pub(crate) data: String,
}

impl SseEvent {
    /// Says that nothing more will be told.
    fn end() -> Self {
        Self {
            id: None,
            name: String::new(),
            data: String::new(),
        }
    }

    /// Whether it says that nothing more will be told.
    pub(crate) fn is_end(&self) -> bool {
        self.name.is_empty()
    }
}

/// Tells listeners what changed.
pub(crate) struct Feed {
    told: broadcast::Sender<Arc<SseEvent>>,
    listeners: Arc<AtomicUsize>,
    wake: Option<Sender<i64>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Counts as a listener as long as it lives.
pub(crate) struct SubscriberGuard(Arc<AtomicUsize>);

impl Drop for SubscriberGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Feed {
    pub(crate) fn start(stores: Arc<Stores>, outside: Arc<Backend>) -> std::io::Result<Self> {
        let (told, _) = broadcast::channel(CHANNEL_CAPACITY);
        let (wake, woken) = channel();
        let listeners = Arc::new(AtomicUsize::new(0));
        let stop = Arc::new(AtomicBool::new(false));
        let teller = ChangeBroadcaster {
            stores,
            outside,
            told: told.clone(),
            listeners: Arc::clone(&listeners),
        };
        let stopped = Arc::clone(&stop);
        let thread = thread::Builder::new().name("feed".to_owned()).spawn(move || {
            while let Ok(from) = woken.recv() {
                // A store that cannot be read now is looked at again when they come back.
                if teller.broadcast_changes(from, &woken, &stopped).is_err() {
                    teller.say(Some(SseEvent::end()));
                }
            }
        })?;
        Ok(Self {
            told,
            listeners,
            wake: Some(wake),
            stop,
            thread: Some(thread),
        })
    }

    /// Listens from now on. Some of what is told may be known already: numbers tell.
    pub(crate) fn listen(&self) -> (broadcast::Receiver<Arc<SseEvent>>, SubscriberGuard) {
        let receiver = self.told.subscribe();
        self.listeners.fetch_add(1, Ordering::Relaxed);
        (receiver, SubscriberGuard(Arc::clone(&self.listeners)))
    }

    /// Begins to tell what comes after a change, which the caller read after it began to listen.
    pub(crate) fn begin(&self, after: i64) {
        // The thread is gone only when the server ends.
        self.wake.as_ref().map(|wake| wake.send(after));
    }

    /// Lets all listeners go.
    pub(crate) fn end(&self) {
        // Nobody listens: so much the better.
        self.told.send(Arc::new(SseEvent::end())).ok();
    }

    /// Returns how many listen.
    pub(crate) fn listeners(&self) -> usize {
        self.listeners.load(Ordering::Relaxed)
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Hung up, not woken: it may take a message for something else.
        drop(self.wake.take());
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

struct ChangeBroadcaster {
    stores: Arc<Stores>,
    outside: Arc<Backend>,
    told: broadcast::Sender<Arc<SseEvent>>,
    listeners: Arc<AtomicUsize>,
}

impl ChangeBroadcaster {
    /// Tells what changes while anyone listens.
    fn broadcast_changes(
        &self,
        from: i64,
        woken: &Receiver<i64>,
        stop: &AtomicBool,
    ) -> Result<(), StoreError> {
        let store = self.stores.open_reader()?;
        let mut last = from;
        let mut version = NO_VERSION;
        let mut queue = (0, 0, 0);
        let mut health = Instant::now();
        while self.listeners.load(Ordering::Relaxed) > 0 && !stop.load(Ordering::Relaxed) {
            match woken.recv_timeout(POLL_INTERVAL) {
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
                // Another listener, who may have looked before the first one did.
                Ok(from) if from < last => (last, version) = (from, NO_VERSION),
                Ok(_) => {}
            }
            let now = store.data_version()?;
            if now != version {
                let changes = store.changes_after(last, MAX_BATCH)?;
                // There may be more: the next look does not wait for another commit.
                let is_full = changes.len() >= MAX_BATCH as usize;
                version = if is_full { NO_VERSION } else { now };
                for change in changes {
                    last = change.id;
                    self.say(to_sse_event(&store, &change)?);
                }
                let state = store.queue(0)?;
                let counts = (state.pending, state.processing, state.failed);
                if counts != queue {
                    queue = counts;
                    self.say(Some(queue_told(state, &self.outside)));
                }
            }
            if health.elapsed() >= HEALTH {
                health = Instant::now();
                self.say(Some(health_told(&store, &self.outside)?));
            }
        }
        Ok(())
    }

    fn say(&self, told: Option<SseEvent>) {
        if let Some(told) = told {
            // Nobody listens any more: the loop ends at its next turn.
            self.told.send(Arc::new(told)).ok();
        }
    }
}

/// Returns what a listener is told of a change; nothing when what it speaks of is gone, or of a kind that nobody watches.
pub(crate) fn to_sse_event(store: &Store, change: &Change) -> Result<Option<SseEvent>, StoreError> {
    let memory = |kind| -> Result<Option<Value>, StoreError> {
        let handle = Handle {
            kind,
            id: change.memory_id,
        };
        let Some(mut line) = store.line(handle)? else {
            return Ok(None);
        };
        // Many of these wait at once for a slow listener; whoever wants all of it asks.
        for text in [&mut line.text, &mut line.narrative].into_iter().flatten() {
            text.truncate(text.floor_char_boundary(MAX_TEXT_LEN));
        }
        Ok(Some(json!(Memory::new(handle, line))))
    };
    let data = match change.name.as_str() {
        "observation" => memory(MemoryKind::Observation)?,
        "summary" => memory(MemoryKind::Summary)?,
        "prompt" => memory(MemoryKind::Prompt)?,
        "note" => memory(MemoryKind::Note)?,
        "session_started" | "session_completed" => store
            .session_by_number(change.memory_id)?
            .map(|session| json!(SessionJson::from(session))),
        name => return Ok(gone(name, change)),
    };
    Ok(data.map(|data| SseEvent {
        id: Some(change.id),
        name: change.name.clone(),
        data: data.to_string(),
    }))
}

fn gone(name: &str, change: &Change) -> Option<SseEvent> {
    let kind = MemoryKind::from_name(name.strip_suffix("_forgotten")?)?;
    let id = Handle {
        kind,
        id: change.memory_id,
    };
    Some(SseEvent {
        id: Some(change.id),
        name: "forgotten".to_owned(),
        data: json!({"id": id, "kind": kind.name()}).to_string(),
    })
}

/// The state of the queue.
pub(crate) fn queue_told(queue: Queue, outside: &Backend) -> SseEvent {
    let queue = crate::api_types::QueueJson::new(queue, (outside.spooled)(), (outside.now_ms)());
    let data = json!({"pending": queue.pending, "processing": queue.processing, "failed": queue.failed,
        "oldest_seconds": queue.oldest_seconds});
    SseEvent {
        id: None,
        name: "queue".to_owned(),
        data: data.to_string(),
    }
}

/// The state of the worker.
pub(crate) fn health_told(store: &Store, outside: &Backend) -> Result<SseEvent, StoreError> {
    let queue = crate::api_types::QueueJson::new(store.queue(0)?, (outside.spooled)(), (outside.now_ms)());
    Ok(SseEvent {
        id: None,
        name: "health".to_owned(),
        data:
            json!({"status": crate::route::status(&queue), "pending": queue.pending, "failed": queue.failed,
            "oldest_seconds": queue.oldest_seconds})
            .to_string(),
    })
}
