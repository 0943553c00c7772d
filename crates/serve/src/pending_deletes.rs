//! Delayed deletion, so that forgetting a memory in the viewer can be undone.
//!
//! A pending memory stays in the database and is only hidden from the viewer; no copy is made for the undo. After the grace
//! period it is forgotten like any other. A server that shuts down forgets pending memories immediately. If it is killed,
//! they were not forgotten and are shown again.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use backstory_model::Handle;

/// Time during which forgetting can be undone.
pub(crate) const GRACE_PERIOD: Duration = Duration::from_secs(10);

/// A memory that is about to be forgotten.
#[derive(Clone, Debug)]
pub(crate) struct PendingDelete {
    pub(crate) handle: Handle,
    pub(crate) title: String,
    /// End of the grace period, as a reading of the monotonic clock.
    pub(crate) due: Duration,
    /// Deletion has started and can no longer be undone.
    has_started: bool,
}

/// All memories that are about to be forgotten.
#[derive(Debug, Default)]
pub(crate) struct PendingDeletes(Mutex<Vec<PendingDelete>>);

impl PendingDeletes {
    /// Returns the deletions that can still be undone.
    pub(crate) fn list(&self) -> Vec<PendingDelete> {
        self.entries()
            .iter()
            .filter(|one| !one.has_started)
            .cloned()
            .collect()
    }

    pub(crate) fn has(&self, handle: Handle) -> bool {
        self.entries().iter().any(|one| one.handle == handle)
    }

    /// Cancels a deletion. Returns `false` if none is pending or it has already started.
    pub(crate) fn keep(&self, handle: Handle) -> bool {
        self.take(|one| one.handle == handle && !one.has_started)
            .is_some()
    }

    /// Marks a deletion as started, so that it can no longer be undone. Returns `false` if it was canceled. `due` identifies
    /// the request: the memory may have been scheduled again since, with a timer of its own.
    pub(crate) fn start(&self, handle: Handle, due: Duration) -> bool {
        let mut entries = self.entries();
        let one = entries
            .iter_mut()
            .find(|one| one.handle == handle && one.due == due);
        one.map(|one| one.has_started = true).is_some()
    }

    pub(crate) fn take(&self, predicate: impl Fn(&PendingDelete) -> bool) -> Option<PendingDelete> {
        let mut entries = self.entries();
        let index = entries.iter().position(predicate)?;
        Some(entries.remove(index))
    }

    /// Adds a memory. Returns `false` if its deletion is pending already.
    pub(crate) fn add(&self, handle: Handle, title: String, due: Duration) -> bool {
        if self.has(handle) {
            return false;
        }
        self.entries().push(PendingDelete {
            handle,
            title,
            due,
            has_started: false,
        });
        true
    }

    fn entries(&self) -> MutexGuard<'_, Vec<PendingDelete>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
