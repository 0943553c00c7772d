//! Forgetting with a grace period, in which the viewer offers to undo it.

use std::sync::Arc;

use backstory_model::Handle;

use crate::{forget::forget_memories, pending_deletes::GRACE_PERIOD, server::Server};

/// Forgets a memory after the grace period, unless it is undone.
pub(super) fn schedule_forget(server: &Arc<Server>, handle: Handle, title: String) {
    let due = server.engine.clock.monotonic() + GRACE_PERIOD;
    if !server.pending_deletes.add(handle, title, due) {
        return;
    }
    let server = Arc::clone(server);
    tokio::spawn(async move {
        let clock = &server.engine.clock;
        loop {
            let rest = due.saturating_sub(clock.monotonic());
            if rest.is_zero() {
                break;
            }
            tokio::time::sleep(clock.poll_interval(rest)).await;
        }
        if server.pending_deletes.start(handle, due) {
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
