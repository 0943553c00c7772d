//! What the tests of this crate share.

use backstory_model::{Event, EventKind, EventSource, Host, ProjectIdentity};

use crate::{IngestHooks, Store};

/// A tool event of a session.
pub(crate) fn event(key: &str, session: &str) -> Event {
    Event {
        key: key.to_owned(),
        source: EventSource::Hook,
        kind: EventKind::PostToolUse,
        host: Host::claude_code(),
        at_ms: 1_000,
        session_id: session.to_owned(),
        project: None,
        payload: "{}".to_owned(),
    }
}

/// Where everything happens that says nothing else.
pub(crate) const SENSES: IngestHooks<'static> = IngestHooks {
    locate: &|cwd| ProjectIdentity {
        key: format!("/{cwd}"),
        name: "p".to_owned(),
        root: format!("/{cwd}"),
        branch: None,
        worktree: None,
    },
    is_machine_made: &|prompt| prompt.starts_with('<'),
};

/// A store that took these events in.
pub(crate) fn store(events: &[Event]) -> Store {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("b.db"), folder.path()).unwrap();
    store.ingest_batch(events, SENSES).unwrap();
    store
}
