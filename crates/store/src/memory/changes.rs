//! What changed, in order, for whoever watches.
//!
//! Whoever stores, changes or forgets a memory notes it in the same transaction; whoever watches reads on from the last
//! change that it knows.

use rusqlite::{Connection, params};

use crate::{Store, StoreError, schema::open::query};

/// Something that happened to a session or a memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Counts up; what comes later has a higher number.
    pub id: i64,
    /// What happened: `session_started`, `session_completed`, `prompt`, `observation`, `summary`, `note`, or a kind with
    /// `_forgotten` behind it.
    pub name: String,
    /// The number of the row that it happened to.
    pub memory_id: i64,
}

impl Store {
    /// Returns the changes after one, the oldest first.
    pub fn changes_after(&self, id: i64, most: u32) -> Result<Vec<Change>, StoreError> {
        const AFTER: &str = "select id, name, memory_id from change where id > ?1 order by id limit ?2";
        let attempt = query("read what changed");
        let mut statement = self.connection.prepare_cached(AFTER).map_err(attempt)?;
        let rows = statement.query_map(params![id, most], |row| {
            Ok(Change {
                id: row.get(0)?,
                name: row.get(1)?,
                memory_id: row.get(2)?,
            })
        });
        rows.map_err(attempt)?.collect::<Result<_, _>>().map_err(attempt)
    }

    /// Returns the number of the last change.
    pub fn last_change(&self) -> Result<i64, StoreError> {
        const LAST: &str = "select coalesce(max(id), 0) from change";
        self.connection
            .prepare_cached(LAST)
            .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
            .map_err(query("read what changed"))
    }

    /// Returns a number that differs from the last one when another connection has committed something since.
    pub fn data_version(&self) -> Result<i64, StoreError> {
        self.connection
            .prepare_cached("pragma data_version")
            .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
            .map_err(query("look whether anything changed"))
    }

    /// Forgets all but the latest changes: nobody comes back after that many.
    pub fn drop_old_changes(&mut self, kept: i64) -> Result<usize, StoreError> {
        const OLD: &str = "delete from change where id <= (select max(id) from change) - ?1";
        self.connection
            .execute(OLD, [kept])
            .map_err(query("drop old changes"))
    }
}

/// Notes a change.
pub(crate) fn record_change(connection: &Connection, name: &str, memory_id: i64) -> rusqlite::Result<()> {
    const NOTE: &str = "insert into change (name, memory_id) values (?1, ?2)";
    connection
        .prepare_cached(NOTE)?
        .execute(params![name, memory_id])
        .map(drop)
}
