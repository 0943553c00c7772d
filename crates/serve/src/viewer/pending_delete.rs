//! Delayed deletion, so that forgetting a memory in the viewer can be undone.
//!
//! A pending memory stays in the database and is only hidden from the viewer; no copy is made for the undo. After the grace
//! period it is forgotten like any other. A server that shuts down forgets pending memories immediately. If it is killed,
//! they were not forgotten and are shown again.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use backstory_model::Handle;

use crate::{forget::forget_memories, server::Server};

/// Time during which forgetting can be undone.
pub(super) const GRACE_PERIOD: Duration = Duration::from_secs(10);

/// A memory that is about to be forgotten.
#[derive(Clone, Debug)]
pub(super) struct PendingDelete {
    pub(super) handle: Handle,
    pub(super) title: String,
    /// End of the grace period.
    pub(super) at: Instant,
    /// Deletion has started and can no longer be undone.
    has_started: bool,
}

/// All memories that are about to be forgotten.
#[derive(Debug, Default)]
pub(crate) struct PendingDeletes(Mutex<Vec<PendingDelete>>);

impl PendingDeletes {
    /// Returns the deletions that can still be undone.
    pub(super) fn list(&self) -> Vec<PendingDelete> {
        self.entries()
            .iter()
            .filter(|one| !one.has_started)
            .cloned()
            .collect()
    }

    pub(super) fn has(&self, handle: Handle) -> bool {
        self.entries().iter().any(|one| one.handle == handle)
    }

    /// Cancels a deletion. Returns `false` if none is pending or it has already started.
    pub(super) fn keep(&self, handle: Handle) -> bool {
        self.take(|one| one.handle == handle && !one.has_started)
            .is_some()
    }

    /// Marks a deletion as started, so that it can no longer be undone. Returns `false` if it was canceled. `at` identifies
    /// the request: the memory may have been scheduled again since, with a timer of its own.
    fn start(&self, handle: Handle, at: Instant) -> bool {
        let mut entries = self.entries();
        let one = entries
            .iter_mut()
            .find(|one| one.handle == handle && one.at == at);
        one.map(|one| one.has_started = true).is_some()
    }

    fn take(&self, predicate: impl Fn(&PendingDelete) -> bool) -> Option<PendingDelete> {
        let mut entries = self.entries();
        let index = entries.iter().position(predicate)?;
        Some(entries.remove(index))
    }

    fn entries(&self) -> MutexGuard<'_, Vec<PendingDelete>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets a memory after the grace period, unless it is undone.
pub(super) fn schedule_forget(server: &Arc<Server>, handle: Handle, title: String) {
    if server.pending_deletes.has(handle) {
        return;
    }
    let at = Instant::now() + GRACE_PERIOD;
    server.pending_deletes.entries().push(PendingDelete {
        handle,
        title,
        at,
        has_started: false,
    });
    let server = Arc::clone(server);
    tokio::spawn(async move {
        tokio::time::sleep(GRACE_PERIOD).await;
        if server.pending_deletes.start(handle, at) {
            forget(&server, handle).await;
            server.pending_deletes.take(|one| one.handle == handle);
        }
    });
}

/// Forgets all pending memories; called at shutdown.
pub(crate) async fn flush_pending(server: &Arc<Server>) {
    while let Some(entry) = server.pending_deletes.take(|_| true) {
        forget(server, entry.handle).await;
    }
}

async fn forget(server: &Arc<Server>, handle: Handle) {
    let state = Arc::clone(server);
    let forgotten = server
        .stores
        .write(move |store| forget_memories(&state.engine, store, &[handle]));
    // On failure the memory is shown again, and the user can retry.
    forgotten.await.ok();
}
