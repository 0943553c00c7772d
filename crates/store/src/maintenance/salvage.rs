//! Takes over what can still be read of a damaged database.
//!
//! Events come first: they go through the queue again, and become the memories they were. Beside them, memories that no
//! event tells of: notes, and what was imported. Whatever cannot be read is passed over; nothing here fails because of the
//! damage. What the backup has already is recognised and not doubled.

use std::path::Path;

use backstory_model::{Event, EventKind, EventSource, Handle, Host, MemoryKind, ProjectIdentity, Timestamp};
use rusqlite::{Connection, OpenFlags, Row, params, params_from_iter, types::Value};

use crate::{
    IngestHooks, PreparedLine, Store, StoreError,
    schema::open::{BusyTimeout, connect, query},
    transfer::export,
};

/// What was taken over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Salvaged {
    /// Events that the backup did not have.
    pub events: usize,
    /// Notes and imported memories that the backup did not have.
    pub memories: u64,
}

/// So many become one transaction.
const BATCH: usize = 500;

impl Store {
    /// Takes over what can be read of a damaged database and is not here yet.
    pub fn salvage(
        &mut self,
        damaged: &Path,
        senses: IngestHooks<'_>,
        now: Timestamp,
    ) -> Result<Salvaged, StoreError> {
        let mut salvaged = Salvaged::default();
        let Ok(damaged) = connect(damaged, OpenFlags::SQLITE_OPEN_READ_ONLY, BusyTimeout::Command) else {
            return Ok(salvaged);
        };
        self.take_projects(&damaged)?;
        for events in events(&damaged).chunks(BATCH) {
            salvaged.events += self.ingest_batch(events, senses)?.new;
        }
        let nowhere = ProjectIdentity {
            key: String::new(),
            name: String::new(),
            root: String::new(),
            branch: None,
            worktree: None,
        };
        for handles in without_events(&damaged).chunks(BATCH) {
            // Those that name no project are notes, which hold everywhere.
            let lines: Vec<PreparedLine> = handles
                .iter()
                .filter_map(|handle| export::read(&damaged, *handle).ok().flatten())
                .filter(|line| line.project.is_some() || line.kind == MemoryKind::Note)
                .map(PreparedLine::from)
                .collect();
            salvaged.memories += self.import_lines(&lines, &nowhere, now)?.new;
        }
        self.take_authors(&damaged)?;
        Ok(salvaged)
    }

    /// Takes over which calls to models another database has on record since a moment: what was spent stays spent, whatever
    /// becomes of the memories. One that cannot be read has none.
    pub fn import_ledger(&mut self, from: &Path, since: Timestamp) -> Result<(), StoreError> {
        // The same call may be here as it was before it ended.
        const SAME: &str =
            "delete from model_call where at = ?1 and provider = ?2 and model = ?3 and estimated_in = ?4";
        const ADD: &str = "insert into model_call (at, provider, model, estimated_in, estimated_out, tokens_in, tokens_out,
                cost, duration_ms, outcome, session_db_id)
            values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, (select id from session where session_id = ?11))";
        let Ok(other) = connect(from, OpenFlags::SQLITE_OPEN_READ_ONLY, BusyTimeout::Command) else {
            return Ok(());
        };
        let calls = calls(&other, since);
        let attempt = query("take the ledger over");
        let transaction = self.connection.transaction().map_err(attempt)?;
        let run = || -> rusqlite::Result<()> {
            // All of them before the first is added: two may look alike.
            for call in &calls {
                transaction
                    .prepare_cached(SAME)?
                    .execute(params_from_iter(&call[..4]))?;
            }
            for call in &calls {
                transaction.prepare_cached(ADD)?.execute(params_from_iter(call))?;
            }
            Ok(())
        };
        run().map_err(attempt)?;
        transaction.commit().map_err(attempt)
    }

    /// A line does not tell who wrote a note, and what a person wrote weighs more.
    fn take_authors(&mut self, damaged: &Connection) -> Result<(), StoreError> {
        const AUTHOR: &str =
            "update note set author = ?3 where created_at = ?1 and text = ?2 and author = 'import'";
        let read = |row: &Row<'_>| -> rusqlite::Result<(i64, String, String)> {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        };
        for (created, text, author) in
            from_both_ends(damaged, "select created_at, text, author from note", read)
        {
            self.connection
                .execute(AUTHOR, params![created, text, author])
                .map_err(query("take a note over"))?;
        }
        Ok(())
    }

    fn take_projects(&mut self, damaged: &Connection) -> Result<(), StoreError> {
        const ADD: &str =
            "insert or ignore into project (key, name, root, created_at) values (?1, ?2, ?3, ?4)";
        type Row4 = (String, String, String, i64);
        let read = |row: &Row<'_>| -> rusqlite::Result<Row4> {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        };
        let projects: Vec<Row4> =
            from_both_ends(damaged, "select key, name, root, created_at from project", read);
        for (key, name, root, created) in projects {
            self.connection
                .execute(ADD, params![key, name, root, created])
                .map_err(query("take a project over"))?;
        }
        Ok(())
    }
}

/// Reads what comes before the damage and what comes after it, in the order of the first column. `select` is a constant
/// of this file without an order.
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
                // A row that makes no sense is one row; a page that cannot be read ends the way.
                Ok(Some(row)) => found.extend(read(row).ok()),
                Ok(None) => return (found, true),
                Err(_) => return (found, false),
            }
        }
    };
    let (mut found, is_all) = run("");
    if !is_all {
        let (mut rest, _) = run(" desc");
        rest.reverse();
        found.append(&mut rest);
    }
    found
}

/// Events whose record is still there, in the order in which they were taken in.
fn events(damaged: &Connection) -> Vec<Event> {
    const EVENTS: &str = "select event.id, event.key, kind, host, at, session.session_id, payload, project.key,
            project.name, project.root, session.branch, session.worktree, event.source
        from event join session on session.id = event.session_db_id join project on project.id = session.project_id
        where payload <> '{}'";
    // A damaged database is not migrated. Schema 5 and older have the source in the key.
    let select = match damaged.prepare("select source from event") {
        Ok(_) => EVENTS.to_owned(),
        Err(_) => EVENTS.replace(
            "event.source",
            "iif(event.key like '%-import-%', 'import', 'hook')",
        ),
    };
    let read = |row: &Row<'_>| -> rusqlite::Result<Option<Event>> {
        let kind = EventKind::from_name(row.get_ref(2)?.as_str()?);
        let host = Host::new(row.get_ref(3)?.as_str()?);
        let source = EventSource::from_name(row.get_ref(12)?.as_str()?);
        let (Some(kind), Some(host), Some(source)) = (kind, host, source) else {
            return Ok(None);
        };
        Ok(Some(Event {
            key: row.get(1)?,
            source,
            kind,
            host,
            at: row.get(4)?,
            session_id: row.get(5)?,
            payload: row.get(6)?,
            project: Some(ProjectIdentity {
                key: row.get(7)?,
                name: row.get(8)?,
                root: row.get(9)?,
                branch: row.get(10)?,
                worktree: row.get(11)?,
            }),
        }))
    };
    from_both_ends(damaged, &select, read)
        .into_iter()
        .flatten()
        .collect()
}

/// The columns of each call since a moment, the last of them the agent's id of its session.
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
        // Asked for by itself: where sessions cannot be read, the calls still count for the day.
        let session = other.query_row(SESSION, [row.get::<_, Option<i64>>("session_db_id")?], |row| {
            row.get(0)
        });
        columns.push(session.unwrap_or(Value::Null));
        Ok(Some(columns))
    };
    from_both_ends(other, CALLS, read).into_iter().flatten().collect()
}

/// Memories that no event tells of.
fn without_events(damaged: &Connection) -> Vec<Handle> {
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
        testing::{SENSES, at, event},
    };

    #[test]
    fn what_was_spent_is_taken_over_once_with_how_it_ended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b.db");
        let mut store = Store::open(&path, folder.path()).unwrap();
        store.ingest_batch(&[event("1", "a")], SENSES).unwrap();
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
        // Two of the same moment, and one of long ago.
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
