//! Distills past turns again, from their stored events and the transcripts that still exist.
//!
//! Only queues them: a worker, or the command itself, distills them like new ones. A turn whose tool calls are gone keeps
//! the memories that it has.

use std::{collections::BTreeSet, path::Path};

use anyhow::Result;
use backstory_capture::filter;
use backstory_model::{Event, Timestamp, TurnId};
use backstory_store::{ReindexScope, ReindexTurn, Store};

use crate::import::{self, FolderProjects, ImportedEvent};

/// Result of queueing turns for reindexing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueuedTurns {
    /// Turns in the queue.
    pub turns: usize,
    /// Event payloads that were read again from transcripts.
    pub restored: usize,
    /// Turns that stay as they are: retention dropped their events, and no transcript has them.
    pub skipped: usize,
}

/// Queues turns for reindexing. Interrupted, it can be repeated: turns in the queue stay in it.
pub fn queue(
    store: &mut Store,
    scope: ReindexScope,
    keep: &filter::CaptureSettings,
    now: Timestamp,
    report: &mut dyn FnMut(usize, usize),
) -> Result<QueuedTurns> {
    let mut queued = QueuedTurns::default();
    let turns = store.turns_to_reindex(scope)?;
    let sessions: BTreeSet<String> = turns.into_iter().map(|turn| turn.session_id).collect();
    let mut imported = store.imported_transcripts()?;
    imported.retain(|(session_id, _)| sessions.contains(session_id));
    for (done, (session_id, path)) in imported.iter().enumerate() {
        report(done, imported.len());
        queued.restored += restore(store, session_id, Path::new(path), keep, now)?;
    }
    let turns = store.turns_to_reindex(scope)?;
    let transcripts: BTreeSet<&str> = turns
        .iter()
        .filter(|turn| turn.has_dropped_calls)
        .filter_map(|turn| turn.transcript_path.as_deref())
        .filter(|path| Path::new(path).is_file())
        .collect();
    let is_complete = |turn: &&ReindexTurn| {
        let path = turn.transcript_path.as_deref();
        !turn.has_dropped_calls || path.is_some_and(|path| transcripts.contains(path))
    };
    let complete: Vec<TurnId> = turns.iter().filter(is_complete).map(|turn| turn.id).collect();
    queued.skipped = turns.len() - complete.len();
    queued.turns = complete.len();
    store.queue_turns(&complete, now)?;
    Ok(queued)
}

/// Restores the payloads of an imported session. A transcript that is gone or cannot be read restores nothing.
fn restore(
    store: &mut Store,
    session_id: &str,
    path: &Path,
    keep: &filter::CaptureSettings,
    now: Timestamp,
) -> Result<usize> {
    const BATCH_SIZE: usize = 500;
    let forgotten_until = store.forgotten_until(session_id)?.unwrap_or(Timestamp::MIN);
    let mut restored = 0;
    for transcript in import::sessions_at(path) {
        let Ok(read) = import::read(&transcript, &FolderProjects::of(&[], None), keep, now) else {
            continue;
        };
        let mut events = read.events;
        events.retain(|event| event.head.at >= forgotten_until);
        for batch in events.chunks(BATCH_SIZE) {
            let batch: Vec<Event> = batch.iter().map(ImportedEvent::to_event).collect();
            restored += store.restore_payloads(&batch)?;
        }
    }
    Ok(restored)
}
