//! Fixtures of the tests of this crate.

use backstory_model::{Event, EventKind, EventSource, Host, ProjectIdentity, Timestamp};

use crate::{SessionProjects, Store};

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

/// Returns the identity of a project.
pub(crate) fn project() -> ProjectIdentity {
    ProjectIdentity {
        key: "/p".to_owned(),
        name: "p".to_owned(),
        root: "/p".to_owned(),
        branch: None,
        worktree: None,
    }
}

/// Returns a store that has ingested these events.
pub(crate) fn store(events: &[Event]) -> Store {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("b.db"), folder.path()).unwrap();
    store.ingest_batch(events, &SessionProjects::new()).unwrap();
    store
}

/// Returns a store with one session of one turn: a prompt, a tool use and its end.
pub(crate) fn store_with_turn() -> Store {
    let kinds = [
        EventKind::UserPromptSubmit,
        EventKind::PostToolUse,
        EventKind::Stop,
    ];
    let events: Vec<Event> = (0..)
        .zip(kinds)
        .map(|(number, kind): (u32, EventKind)| Event {
            kind,
            payload: r#"{"prompt": "fix the parser"}"#.to_owned(),
            ..event(&number.to_string(), "s")
        })
        .collect();
    store(&events)
}

/// Returns the steps that scan a whole table or a whole index. Statements of pages must have none: they would get slower as
/// the store grows.
pub(crate) fn scans(store: &Store, sql: &str) -> Vec<String> {
    let mut statement = store
        .connection
        .prepare(&format!("explain query plan {sql}"))
        .unwrap();
    let parameters = vec![0; statement.parameter_count()];
    let steps = statement.query_map(rusqlite::params_from_iter(parameters), |row| {
        row.get::<_, String>("detail")
    });
    let is_scan = |step: &String| step.starts_with("SCAN") && !step.contains("(subquery");
    steps.unwrap().map(Result::unwrap).filter(is_scan).collect()
}
