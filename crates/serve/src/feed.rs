//! Live events: broadcasts every change of the database, by any process, to all subscribers.
//!
//! One thread polls for commits, reads the changes and broadcasts them. It sleeps while there are no subscribers. A
//! subscriber that falls behind is disconnected; it reconnects with the id of the last event that it received.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use backstory_engine::engine::Engine;
use backstory_model::{ChangeId, Handle};
use backstory_store::{Change, ChangeEvent, Queue, Store, StoreError};
use serde_json::{Value, json};
use tokio::sync::broadcast;

use crate::{
    api_types::{MemoryJson, SessionJson},
    stores::Stores,
};

/// Interval between checks for new commits.
const POLL_INTERVAL: Duration = Duration::from_millis(150);

/// Interval between health events.
const HEALTH_INTERVAL: Duration = Duration::from_secs(15);

/// Number of events buffered per subscriber before it is disconnected.
const CHANNEL_CAPACITY: usize = 2_048;

/// Maximum bytes of a text in an event.
const MAX_TEXT_LEN: usize = 4_096;

/// Maximum changes read at a time; must stay below `CHANNEL_CAPACITY`.
pub(crate) const MAX_BATCH: u32 = 2_000;

/// Differs from every data version, so that the next poll reads changes.
const NO_VERSION: i64 = -1;

/// A server-sent event.
#[derive(Clone, Debug)]
pub(crate) struct SseEvent {
    /// Id of the change; absent for state events (queue, health), which need no replay.
    pub(crate) id: Option<ChangeId>,
    pub(crate) name: String,
    pub(crate) data: String,
}

impl SseEvent {
    /// Returns the event that ends a stream.
    fn end() -> Self {
        Self {
            id: None,
            name: String::new(),
            data: String::new(),
        }
    }

    /// Returns whether this event ends the stream.
    pub(crate) fn is_end(&self) -> bool {
        self.name.is_empty()
    }
}

/// Broadcasts changes to subscribers.
pub(crate) struct Feed {
    events: broadcast::Sender<Arc<SseEvent>>,
    listeners: Arc<AtomicUsize>,
    wake: Option<Sender<ChangeId>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Counts as a listener until it is dropped.
pub(crate) struct SubscriberGuard(Arc<AtomicUsize>);

impl Drop for SubscriberGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Feed {
    pub(crate) fn start(stores: Arc<Stores>, engine: Arc<Engine>) -> std::io::Result<Self> {
        let (events, _) = broadcast::channel(CHANNEL_CAPACITY);
        let (wake, woken) = channel();
        let listeners = Arc::new(AtomicUsize::new(0));
        let stop = Arc::new(AtomicBool::new(false));
        let broadcaster = ChangeBroadcaster {
            stores,
            engine,
            events: events.clone(),
            listeners: Arc::clone(&listeners),
        };
        let stopped = Arc::clone(&stop);
        let thread = thread::Builder::new().name("feed".to_owned()).spawn(move || {
            while let Ok(from) = woken.recv() {
                // On a read error all subscribers are disconnected; they reconnect and the store is read again.
                if broadcaster.broadcast_changes(from, &woken, &stopped).is_err() {
                    broadcaster.send(Some(SseEvent::end()));
                }
            }
        })?;
        Ok(Self {
            events,
            listeners,
            wake: Some(wake),
            stop,
            thread: Some(thread),
        })
    }

    /// Subscribes to all future events. Some may already be known to the caller, who compares ids.
    pub(crate) fn listen(&self) -> (broadcast::Receiver<Arc<SseEvent>>, SubscriberGuard) {
        let receiver = self.events.subscribe();
        self.listeners.fetch_add(1, Ordering::Relaxed);
        (receiver, SubscriberGuard(Arc::clone(&self.listeners)))
    }

    /// Starts broadcasting changes after `after`, which the caller must read after subscribing.
    pub(crate) fn broadcast_after(&self, after: ChangeId) {
        // The thread ends only at shutdown.
        self.wake.as_ref().map(|wake| wake.send(after));
    }

    /// Disconnects all subscribers.
    pub(crate) fn close(&self) {
        // Fails if there are no subscribers.
        self.events.send(Arc::new(SseEvent::end())).ok();
    }

    /// Returns the number of subscribers.
    pub(crate) fn listeners(&self) -> usize {
        self.listeners.load(Ordering::Relaxed)
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Closing the channel wakes the thread; a message would be read as a change id.
        drop(self.wake.take());
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

struct ChangeBroadcaster {
    stores: Arc<Stores>,
    engine: Arc<Engine>,
    events: broadcast::Sender<Arc<SseEvent>>,
    listeners: Arc<AtomicUsize>,
}

impl ChangeBroadcaster {
    /// Broadcasts changes until the last subscriber is gone.
    fn broadcast_changes(
        &self,
        from: ChangeId,
        woken: &Receiver<ChangeId>,
        stop: &AtomicBool,
    ) -> Result<(), StoreError> {
        let store = self.stores.open_reader()?;
        let mut last = from;
        let mut version = NO_VERSION;
        let mut queue = (0, 0, 0);
        let mut health = self.engine.clock.monotonic();
        while self.listeners.load(Ordering::Relaxed) > 0 && !stop.load(Ordering::Relaxed) {
            match woken.recv_timeout(POLL_INTERVAL) {
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
                // A new subscriber may have read an earlier state.
                Ok(from) if from < last => (last, version) = (from, NO_VERSION),
                Ok(_) => {}
            }
            let now = store.data_version()?;
            if now != version {
                let changes = store.changes_after(last, MAX_BATCH)?;
                // More changes may follow: the next poll reads them without waiting for a commit.
                let is_full = changes.len() >= MAX_BATCH as usize;
                version = if is_full { NO_VERSION } else { now };
                for change in changes {
                    last = change.id;
                    self.send(to_sse_event(&store, &change)?);
                }
                let state = store.queue(0)?;
                let counts = (state.pending, state.processing, state.failed);
                if counts != queue {
                    queue = counts;
                    self.send(Some(queue_event(state, &self.engine)));
                }
            }
            let monotonic = self.engine.clock.monotonic();
            if monotonic - health >= HEALTH_INTERVAL {
                health = monotonic;
                self.send(Some(health_event(&store, &self.engine)?));
            }
        }
        Ok(())
    }

    fn send(&self, event: Option<SseEvent>) {
        if let Some(event) = event {
            // Fails if the last subscriber is gone; the loop then ends at its next check.
            self.events.send(Arc::new(event)).ok();
        }
    }
}

/// Converts a change to an event. Returns `None` if the memory is gone or its kind has no event.
pub(crate) fn to_sse_event(store: &Store, change: &Change) -> Result<Option<SseEvent>, StoreError> {
    let event = |name: &str, data: Value| SseEvent {
        id: Some(change.id),
        name: name.to_owned(),
        data: data.to_string(),
    };
    let session = |name: &str, id| -> Result<Option<SseEvent>, StoreError> {
        let session = store.session_by_number(id)?;
        Ok(session.map(|session| event(name, json!(SessionJson::from(session)))))
    };
    match change.event {
        ChangeEvent::SessionStarted(id) => session("session_started", id),
        ChangeEvent::SessionCompleted(id) => session("session_completed", id),
        ChangeEvent::Memory(handle) => {
            let memory = memory(store, handle)?;
            Ok(memory.map(|memory| event(handle.kind.name(), json!(memory))))
        }
        ChangeEvent::MemoryForgotten(handle) => Ok(Some(event(
            "forgotten",
            json!({"id": handle, "kind": handle.kind}),
        ))),
        ChangeEvent::SessionForgotten(_) => Ok(None),
    }
}

fn memory(store: &Store, handle: Handle) -> Result<Option<MemoryJson>, StoreError> {
    let Some(mut memory) = store.memory(handle)? else {
        return Ok(None);
    };
    let record = &mut memory.record;
    // Bounds the buffer of a slow subscriber; the full text is available over the API.
    for text in [&mut record.text, &mut record.narrative].into_iter().flatten() {
        text.truncate(text.floor_char_boundary(MAX_TEXT_LEN));
    }
    Ok(Some(MemoryJson::from(memory)))
}

/// Builds an event with the state of the queue.
pub(crate) fn queue_event(queue: Queue, engine: &Engine) -> SseEvent {
    let queue = crate::api_types::QueueJson::new(queue, engine.spooled(), engine.clock.timestamp());
    let data = json!({"pending": queue.pending, "processing": queue.processing, "failed": queue.failed,
        "oldest_seconds": queue.oldest_seconds});
    SseEvent {
        id: None,
        name: "queue".to_owned(),
        data: data.to_string(),
    }
}

/// Builds an event with the health of the worker.
pub(crate) fn health_event(store: &Store, engine: &Engine) -> Result<SseEvent, StoreError> {
    let queue = crate::api_types::QueueJson::new(store.queue(0)?, engine.spooled(), engine.clock.timestamp());
    Ok(SseEvent {
        id: None,
        name: "health".to_owned(),
        data: json!({"status": queue.status(), "pending": queue.pending, "failed": queue.failed,
            "oldest_seconds": queue.oldest_seconds})
        .to_string(),
    })
}
