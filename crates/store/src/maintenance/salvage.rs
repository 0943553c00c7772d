//! Salvages a damaged database: copies what can still be read into a new one.
//!
//! Events come first; they pass through the queue again and become memories again. Then memories without events: notes and
//! imports. Then what is shared with a team; memories of others are received again. Rows that cannot be read are skipped, so damage is never an error here. Rows that the new database has already
//! are recognized and not duplicated.

use std::path::Path;

use backstory_model::{
    Event, EventKind, EventSource, Handle, Host, MemoryKind, NoteAuthor, ProjectIdentity, Timestamp,
};
use rusqlite::{Connection, OpenFlags, Row, params, params_from_iter, types::Value};

use super::interior_pages::RepairedCopy;
use crate::{
    EventPayload, PreparedLine, SessionProjects, Store, StoreError,
    memory::stored,
    schema::connect::{BusyTimeout, connect},
    sql::Statements as _,
};

/// Holds the number of salvaged rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Salvaged {
    /// Events that the new database did not have.
    pub events: usize,
    /// Notes and imported memories that the new database did not have.
    pub memories: u64,
}

/// The number of rows per transaction.
const BATCH_SIZE: usize = 500;

impl Store {
    /// Copies the readable rows of a damaged database that are not here yet.
    pub fn salvage(&mut self, damaged: &Path, now: Timestamp) -> Result<Salvaged, StoreError> {
        let mut salvaged = Salvaged::default();
        let copy = RepairedCopy::of(damaged);
        let damaged = copy.as_ref().map_or(damaged, RepairedCopy::path);
        let Ok(damaged) = connect(damaged, OpenFlags::SQLITE_OPEN_READ_ONLY, BusyTimeout::Command) else {
            return Ok(salvaged);
        };
        self.salvage_projects(&damaged)?;
        for events in events(&damaged).chunks(BATCH_SIZE) {
            salvaged.events += self.ingest_batch(events, &SessionProjects::new())?.new;
        }
        // Every line names its project, except notes that apply everywhere.
        let no_project = ProjectIdentity {
            key: String::new(),
            name: String::new(),
            root: String::new(),
            branch: None,
            worktree: None,
        };
        for handles in memories_without_events(&damaged).chunks(BATCH_SIZE) {
            let lines: Vec<PreparedLine> = handles
                .iter()
                .filter_map(|handle| stored::read_any_schema(&damaged, *handle).ok().flatten())
                .map(|memory| memory.record)
                .filter(|line| line.project.is_some() || line.kind == MemoryKind::Note)
                .map(PreparedLine::from)
                .collect();
            salvaged.memories += self.import_lines(&lines, &no_project, now)?.new;
        }
        self.salvage_authors(&damaged)?;
        self.salvage_team(&damaged)?;
        Ok(salvaged)
    }

    /// Copies the model calls of another database since a moment, so that a restored database keeps to the budget. Does
    /// nothing if the other database cannot be read.
    pub fn import_ledger(&mut self, from: &Path, since: Timestamp) -> Result<(), StoreError> {
        // The same call may be here in the state before it ended.
        const SAME: &str =
            "delete from model_call where at = ?1 and provider = ?2 and model = ?3 and estimated_in = ?4";
        const ADD: &str = "insert into model_call (at, provider, model, estimated_in, estimated_out, tokens_in, tokens_out,
                cost, duration_ms, outcome, session_db_id)
            values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, (select id from session where session_id = ?11))";
        let Ok(other) = connect(from, OpenFlags::SQLITE_OPEN_READ_ONLY, BusyTimeout::Command) else {
            return Ok(());
        };
        let calls = calls(&other, since);
        self.write("import the ledger", |tx| {
            // Delete all before the first insert: two calls can look alike.
            for call in &calls {
                tx.run(SAME, params_from_iter(&call[..4]))?;
            }
            for call in &calls {
                tx.run(ADD, params_from_iter(call))?;
            }
            Ok(())
        })
    }

    /// Restores the authors of notes, which lines do not carry and ranking depends on.
    fn salvage_authors(&mut self, damaged: &Connection) -> Result<(), StoreError> {
        const SELECT: &str = "select created_at, text, author from note";
        const UPDATE: &str =
            "update note set author = ?3 where created_at = ?1 and text = ?2 and author = 'import'";
        let read = |row: &Row<'_>| -> rusqlite::Result<(Timestamp, String, NoteAuthor)> {
            Ok((row.get("created_at")?, row.get("text")?, row.get("author")?))
        };
        let notes = from_both_ends(damaged, SELECT, read);
        self.write("salvage notes", |tx| {
            for note in notes {
                tx.run(UPDATE, note)?;
            }
            Ok(())
        })
    }

    /// Restores what is shared, who is trusted and what was forgotten. A share of an observation is linked to its memory when that
    /// is distilled again; until then its number is negative. All projects are read from the server again.
    fn salvage_team(&mut self, damaged: &Connection) -> Result<(), StoreError> {
        const TABLES: [(&str, &str); 4] = [
            (
                "select project_key, shared_key, share_mode, enrolled_at, remote_id, policy, role from team_project",
                "insert or ignore into team_project (project_key, shared_key, share_mode, enrolled_at, remote_id, policy, role)
                    values (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            ),
            (
                "select device_id, account_id, name, public_key, is_trusted, pinned_at from team_device",
                "insert or ignore into team_device (device_id, account_id, name, public_key, is_trusted, pinned_at)
                    values (?1, ?2, ?3, ?4, ?5, ?6)",
            ),
            (
                "select record_id from team_forgotten",
                "insert or ignore into team_forgotten (record_id) values (?1)",
            ),
            (
                "select record_id, pinned, verdict, superseded_by from team_opinion where account_id = 0",
                "insert or ignore into team_opinion (record_id, account_id, pinned, verdict, superseded_by, unsent)
                    values (?1, 0, ?2, ?3, ?4, 1)",
            ),
        ];
        let columns = |row: &Row<'_>| -> rusqlite::Result<Vec<Value>> {
            (0..row.as_ref().column_count())
                .map(|column| row.get(column))
                .collect()
        };
        let tables = TABLES.map(|(select, insert)| (insert, from_both_ends(damaged, select, columns)));
        let shares = shares(damaged);
        self.write("salvage what is shared", |tx| {
            for (insert, rows) in &tables {
                for row in rows {
                    tx.run(insert, params_from_iter(row))?;
                }
            }
            for (note, share) in &shares {
                put_share(tx, note.as_ref(), share)?;
            }
            Ok(())
        })
    }

    fn salvage_projects(&mut self, damaged: &Connection) -> Result<(), StoreError> {
        const SELECT: &str = "select key, name, root, created_at from project";
        const INSERT: &str =
            "insert or ignore into project (key, name, root, created_at) values (?1, ?2, ?3, ?4)";
        let read = |row: &Row<'_>| -> rusqlite::Result<(String, String, String, Timestamp)> {
            Ok((
                row.get("key")?,
                row.get("name")?,
                row.get("root")?,
                row.get("created_at")?,
            ))
        };
        let projects = from_both_ends(damaged, SELECT, read);
        self.write("salvage projects", |tx| {
            for project in projects {
                tx.run(INSERT, project)?;
            }
            Ok(())
        })
    }
}

/// The time and the text of a note, which identify it in another database.
type NoteKey = (Timestamp, String);

/// Reads the shares, all columns but the number of the memory, each with its note if it is one.
fn shares(damaged: &Connection) -> Vec<(Option<NoteKey>, Vec<Value>)> {
    const SHARES: &str =
        "select record_id, kind, project_key, state, version, acked_version, body, signature, title, reason,
            changed_at, memory_id
        from team_share";
    const NOTE: &str = "select created_at, text from note where id = ?1";
    let read = |row: &Row<'_>| -> rusqlite::Result<(Option<NoteKey>, Vec<Value>)> {
        let columns = (0..11).map(|column| row.get(column)).collect::<Result<_, _>>()?;
        let is_note = row.get_ref("kind")?.as_str()? == "note";
        let note = is_note.then(|| {
            damaged.query_row(NOTE, [row.get::<_, i64>("memory_id")?], |row| {
                Ok((row.get("created_at")?, row.get("text")?))
            })
        });
        Ok((note.and_then(Result::ok), columns))
    };
    from_both_ends(damaged, SHARES, read)
}

/// Stores a share that is newer than what is known of its record.
fn put_share(tx: &Connection, note: Option<&NoteKey>, share: &[Value]) -> rusqlite::Result<()> {
    const NOTE: &str = "select id from note where created_at = ?1 and text = ?2
        and not exists (select 1 from team_share where kind = 'note' and memory_id = note.id)";
    const NEXT: &str = "select min(0, coalesce(min(memory_id), 0)) - 1 from team_share";
    const PUT: &str = "insert into team_share (record_id, kind, project_key, state, version, acked_version, body, signature,
            title, reason, changed_at, memory_id)
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
        on conflict (record_id) do update set state = excluded.state, version = excluded.version,
            acked_version = excluded.acked_version, body = excluded.body, signature = excluded.signature,
            title = excluded.title, reason = excluded.reason, changed_at = excluded.changed_at
        where excluded.version > version";
    let known: Option<i64> = match note {
        Some((created_at, text)) => tx.optional_row(NOTE, params![created_at, text], |row| row.get("id"))?,
        None => None,
    };
    let memory = match known {
        Some(id) => id,
        None => tx.row(NEXT, [], |row| row.get(0))?,
    };
    let values = share.iter().cloned().chain([Value::Integer(memory)]);
    tx.run(PUT, params_from_iter(values)).map(drop)
}

/// Reads the rows before the damage and the rows after it, in the order of the first column. `select` has no `order by`.
fn from_both_ends<T>(
    damaged: &Connection,
    select: &str,
    read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
) -> Vec<T> {
    let run = |order: &str| -> (Vec<T>, bool) {
        let mut found = Vec::new();
        let Ok(mut statement) = damaged.prepare(&format!("{select} order by 1{order}")) else {
            return (found, false);
        };
        let Ok(mut rows) = statement.query([]) else {
            return (found, false);
        };
        loop {
            match rows.next() {
                // A bad row is skipped; a bad page ends the scan.
                Ok(Some(row)) => found.extend(read(row).ok()),
                Ok(None) => return (found, true),
                Err(_) => return (found, false),
            }
        }
    };
    let (mut found, is_complete) = run("");
    if !is_complete {
        let (mut rest, _) = run(" desc");
        rest.reverse();
        found.append(&mut rest);
    }
    found
}

/// Reads the events that still have their payload, in the order of ingest.
fn events(damaged: &Connection) -> Vec<Event> {
    const EVENTS: &str = "select event.id, event.key as key, kind, host, at, session.session_id as session_id, payload, event.packed as packed,
            project.key as project_key, project.name as project_name, project.root as project_root,
            session.branch as branch, session.worktree as worktree, event.source as source
        from event join session on session.id = event.session_db_id join project on project.id = session.project_id
        where payload <> '{}'";
    // A damaged database is not migrated. Schema 5 and older have the source in the key, schema 6 and older pack nothing.
    let mut select = EVENTS.to_owned();
    for (column, before) in [
        (
            "event.source",
            "iif(event.key like '%-import-%', 'import', 'hook')",
        ),
        ("event.packed", "null"),
    ] {
        if damaged.prepare(&format!("select {column} from event")).is_err() {
            select = select.replace(column, before);
        }
    }
    let read = |row: &Row<'_>| -> rusqlite::Result<Option<Event>> {
        let Some(host) = Host::new(row.get_ref("host")?.as_str()?) else {
            return Ok(None);
        };
        Ok(Some(Event {
            key: row.get("key")?,
            source: row.get::<_, EventSource>("source")?,
            kind: row.get::<_, EventKind>("kind")?,
            host,
            at: row.get("at")?,
            session_id: row.get("session_id")?,
            payload: EventPayload::from_row(row)?.text().into_owned(),
            project: Some(ProjectIdentity {
                key: row.get("project_key")?,
                name: row.get("project_name")?,
                root: row.get("project_root")?,
                branch: row.get("branch")?,
                worktree: row.get("worktree")?,
            }),
        }))
    };
    from_both_ends(damaged, &select, read)
        .into_iter()
        .flatten()
        .collect()
}

/// Reads the columns of each call since a moment; the last one is the agent's id of its session.
fn calls(other: &Connection, since: Timestamp) -> Vec<Vec<Value>> {
    const CALLS: &str =
        "select id, at, provider, model, estimated_in, estimated_out, tokens_in, tokens_out, cost,
            duration_ms, outcome, session_db_id
        from model_call";
    const SESSION: &str = "select session_id from session where id = ?1";
    let read = |row: &Row<'_>| -> rusqlite::Result<Option<Vec<Value>>> {
        if row.get::<_, Timestamp>("at")? < since {
            return Ok(None);
        }
        let mut columns: Vec<Value> = (1..=10).map(|column| row.get(column)).collect::<Result<_, _>>()?;
        // A query of its own: if sessions cannot be read, the call still counts for the day.
        let session = row.get::<_, Option<i64>>("session_db_id")?;
        let session = other.query_row(SESSION, params![session], |row| row.get("session_id"));
        columns.push(session.unwrap_or(Value::Null));
        Ok(Some(columns))
    };
    from_both_ends(other, CALLS, read).into_iter().flatten().collect()
}

/// Lists the memories that were not made from events.
fn memories_without_events(damaged: &Connection) -> Vec<Handle> {
    const SELECTS: [(MemoryKind, &str); 5] = [
        (MemoryKind::Note, "select id from note"),
        (
            MemoryKind::Prompt,
            "select turn.id from turn join session on session.id = session_db_id where host = 'import'",
        ),
        (
            MemoryKind::Observation,
            "select id from observation where turn_id is null",
        ),
        (
            MemoryKind::Summary,
            "select id from summary where turn_id is null",
        ),
        (
            MemoryKind::Passage,
            "select id from passage where turn_id is null",
        ),
    ];
    let mut found = Vec::new();
    for (kind, select) in SELECTS {
        let ids: Vec<i64> = from_both_ends(damaged, select, |row| row.get(0));
        found.extend(ids.into_iter().map(|id| Handle { kind, id }));
    }
    found
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        CallEnd, Permit,
        models::ledger::tests::{BUDGET, call},
        testing::{at, event},
    };

    #[test]
    fn calls_are_imported_once_with_their_outcome() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b.db");
        let mut store = Store::open(&path, folder.path()).unwrap();
        store
            .ingest_batch(&[event("1", "a")], &SessionProjects::new())
            .unwrap();
        let enter = |store: &mut Store, now| match store.reserve_call(&call(1), &BUDGET, now).unwrap() {
            Permit::Granted(id) => id,
            other => panic!("{other:?}"),
        };
        let running = enter(&mut store, at(5_000));
        let copy = folder.path().join("copy.db");
        store.back_up(&copy).unwrap();
        let end = CallEnd {
            outcome: "ok",
            tokens: Some((70, 7)),
            cost: None,
            duration: Duration::from_millis(1),
        };
        store.close_call(running, &end).unwrap();
        // Two calls at the same moment, and an old one.
        let later = "insert into model_call (at, provider, model, session_db_id, estimated_in, estimated_out)
            values (6000, 'p', 'm', 1, 100, 0), (6000, 'p', 'm', null, 100, 0), (100, 'p', 'm', null, 9999, 0)";
        store.connection.execute_batch(later).unwrap();

        let mut built = Store::open(&copy, folder.path()).unwrap();
        for _ in 0..2 {
            built.import_ledger(&path, at(1_000)).unwrap();
            assert_eq!(built.tokens_since(at(0)).unwrap(), 277);
        }
        let of_session = "select count(*) from model_call where session_db_id = 1";
        let count: i64 = built
            .connection
            .query_row(of_session, [], |row| row.get(0))
            .unwrap();
        assert_eq!(count, 2);
        built.import_ledger(Path::new("/nowhere.db"), at(0)).unwrap();
    }
}
