//! Inspects a database after a run, with plain SQL.

use std::{collections::HashMap, path::Path};

use anyhow::Result;
use rusqlite::{Connection, OpenFlags};

/// A stored event.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) session: String,
    /// Id from its payload.
    pub(crate) id: String,
}

/// Returns all events in the order of their keys.
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

/// Runs `pragma integrity_check`.
pub(crate) fn is_intact(database: &Path) -> Result<bool> {
    let connection = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let result: String = connection.query_row("pragma integrity_check", [], |row| row.get(0))?;
    Ok(result == "ok")
}

/// Counts the events per id.
pub(crate) fn counts(events: &[Stored]) -> HashMap<&str, usize> {
    let mut counts = HashMap::new();
    for event in events {
        *counts.entry(event.id.as_str()).or_default() += 1;
    }
    counts
}

/// Row counts of a database.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) turns: usize,
    pub(crate) summaries: usize,
    pub(crate) observations: usize,
    /// Observations with the same type and title as another.
    pub(crate) duplicate_observations: usize,
    /// Summaries beyond the first of a turn.
    pub(crate) duplicate_summaries: usize,
    /// Pending or failed events.
    pub(crate) unfinished: usize,
}

/// Counts turns, memories and unfinished events.
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
            duplicate_observations: row.get(3)?,
            duplicate_summaries: row.get(4)?,
            unfinished: row.get(5)?,
        })
    })?)
}
