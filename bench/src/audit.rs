//! Looks into a database from outside, after the fact.

use std::{collections::HashMap, path::Path};

use anyhow::Result;
use rusqlite::{Connection, OpenFlags};

/// An event as the database has it.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) session: String,
    /// The id that its payload carried.
    pub(crate) id: String,
}

/// Returns all events of tool calls in the order of their keys.
pub(crate) fn events(database: &Path) -> Result<Vec<Stored>> {
    const ALL: &str = "select session.session_id, coalesce(event.tool_use_id, '') from event
        join session on session.id = event.session_db_id order by event.key";
    let connection = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let mut statement = connection.prepare(ALL)?;
    let rows = statement.query_map([], |row| {
        Ok(Stored {
            session: row.get(0)?,
            id: row.get(1)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Says whether SQLite finds nothing wrong.
pub(crate) fn is_intact(database: &Path) -> Result<bool> {
    let connection = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let found: String = connection.query_row("pragma integrity_check", [], |row| row.get(0))?;
    Ok(found == "ok")
}

/// Counts how often each id was stored.
pub(crate) fn counts(events: &[Stored]) -> HashMap<&str, usize> {
    let mut counts = HashMap::new();
    for event in events {
        *counts.entry(event.id.as_str()).or_default() += 1;
    }
    counts
}

/// How many of each thing a database has.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) turns: usize,
    pub(crate) summaries: usize,
    pub(crate) observations: usize,
    /// Observations that say what another says.
    pub(crate) alike: usize,
    /// Turns that have a summary more than they should.
    pub(crate) doubled: usize,
    /// Events that wait or failed.
    pub(crate) undone: usize,
}

/// Counts what became of events.
pub(crate) fn tally(database: &Path) -> Result<Tally> {
    const TALLY: &str = "select (select count(*) from turn), (select count(*) from summary), (select count(*) from observation),
        (select count(*) - count(distinct type || title) from observation),
        (select count(*) - count(distinct turn_id) from summary), (select count(*) from event where state <> 'done')";
    let connection = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    Ok(connection.query_row(TALLY, [], |row| {
        Ok(Tally {
            turns: row.get(0)?,
            summaries: row.get(1)?,
            observations: row.get(2)?,
            alike: row.get(3)?,
            doubled: row.get(4)?,
            undone: row.get(5)?,
        })
    })?)
}
