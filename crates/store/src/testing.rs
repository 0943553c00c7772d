//! Fixtures of the tests of this crate.

use backstory_model::{Event, EventKind, EventSource, Host, ProjectIdentity, Timestamp};

use crate::{IngestHooks, Store};

/// Returns a tool event of a session.
pub(crate) fn event(key: &str, session: &str) -> Event {
    Event {
        key: key.to_owned(),
        source: EventSource::Hook,
        kind: EventKind::PostToolUse,
        host: Host::claude_code(),
        at: at(1_000),
        session_id: session.to_owned(),
        project: None,
        payload: "{}".to_owned(),
    }
}

/// Returns a moment in milliseconds since 1970.
pub(crate) const fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// Locates every folder in a project of its own.
pub(crate) const INGEST_HOOKS: IngestHooks<'static> = IngestHooks {
    locate: &|cwd| ProjectIdentity {
        key: format!("/{cwd}"),
        name: "p".to_owned(),
        root: format!("/{cwd}"),
        branch: None,
        worktree: None,
    },
    is_machine_made: &|prompt| prompt.starts_with('<'),
};

/// Returns a store that has ingested these events.
pub(crate) fn store(events: &[Event]) -> Store {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("b.db"), folder.path()).unwrap();
    store.ingest_batch(events, INGEST_HOOKS).unwrap();
    store
}
