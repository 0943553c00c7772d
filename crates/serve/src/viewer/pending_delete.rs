//! Memories that a person wants forgotten, for as long as that can be undone.
//!
//! Nothing is copied for the sake of undoing: the memory stays where it is for a few seconds, out of sight in the viewer,
//! and is then forgotten as ever, so that no byte of it is left anywhere. Undoing is leaving it alone. A server that ends
//! carries out at once what still waits; one that is killed has not forgotten, and shows the memory again.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use backstory_model::Handle;

use crate::{problem::ApiError, server::Server};

/// How long forgetting can be undone.
pub(super) const GRACE: Duration = Duration::from_secs(10);

/// A memory that goes.
#[derive(Clone, Debug)]
pub(super) struct PendingDelete {
    pub(super) handle: Handle,
    pub(super) title: String,
    /// When it goes.
    pub(super) at: Instant,
    /// Whether it is being forgotten, and cannot be kept any more.
    has_begun: bool,
}

/// Memories that go.
#[derive(Debug, Default)]
pub(crate) struct PendingDeletes(Mutex<Vec<PendingDelete>>);

impl PendingDeletes {
    /// Returns those that can still be kept.
    pub(super) fn list(&self) -> Vec<PendingDelete> {
        self.going()
            .iter()
            .filter(|one| !one.has_begun)
            .cloned()
            .collect()
    }

    pub(super) fn has(&self, handle: Handle) -> bool {
        self.going().iter().any(|one| one.handle == handle)
    }

    /// Lets a memory stay; `false` when it was not about to go, or is being forgotten.
    pub(super) fn keep(&self, handle: Handle) -> bool {
        self.take(|one| one.handle == handle && !one.has_begun).is_some()
    }

    /// Begins to forget a memory, which cannot be kept from then on; `false` when it was undone. It may have been wanted
    /// again since: then another waits for that, at another time.
    fn begin(&self, handle: Handle, at: Instant) -> bool {
        let mut going = self.going();
        let one = going.iter_mut().find(|one| one.handle == handle && one.at == at);
        one.map(|one| one.has_begun = true).is_some()
    }

    fn take(&self, is_it: impl Fn(&PendingDelete) -> bool) -> Option<PendingDelete> {
        let mut going = self.going();
        let place = going.iter().position(is_it)?;
        Some(going.remove(place))
    }

    fn going(&self) -> MutexGuard<'_, Vec<PendingDelete>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets a memory in a few seconds, unless somebody undoes it.
pub(super) fn schedule_forget(server: &Arc<Server>, handle: Handle, title: String) {
    if server.leaving.has(handle) {
        return;
    }
    let at = Instant::now() + GRACE;
    server.leaving.going().push(PendingDelete {
        handle,
        title,
        at,
        has_begun: false,
    });
    let server = Arc::clone(server);
    tokio::spawn(async move {
        tokio::time::sleep(GRACE).await;
        if server.leaving.begin(handle, at) {
            forget(&server, handle).await;
            server.leaving.take(|one| one.handle == handle);
        }
    });
}

/// Forgets what still waits: the server ends.
pub(crate) async fn flush_pending(server: &Arc<Server>) {
    while let Some(going) = server.leaving.take(|_| true) {
        forget(server, going.handle).await;
    }
}

async fn forget(server: &Arc<Server>, handle: Handle) {
    let at_hand = Arc::clone(server);
    let forgotten = server
        .stores
        .write(move |store| (at_hand.outside.forget)(store, &[handle]).map_err(ApiError::outside));
    // What cannot be forgotten now is shown again, and can be forgotten again.
    forgotten.await.ok();
}
