//! Reads the database of `OpenCode`: sessions, messages and their parts.
//!
//! Tested with version 1.18. The database is never written, and no file is created beside it while no other process has it open.

use std::path::Path;

use backstory_model::Timestamp;
use rusqlite::{Connection, Row};

use super::foreign_database;
use crate::{StoreError, sql::Statements as _};

/// An open database of `OpenCode`.
#[derive(Debug)]
pub struct OpenCode {
    connection: Connection,
}

/// Describes a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCodeSession {
    /// The id.
    pub id: String,
    /// The working folder.
    pub folder: String,
    /// The last change.
    pub updated_at: Timestamp,
    /// The size of its parts in bytes.
    pub size: u64,
}

/// Holds a part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCodeRow {
    /// The id of the part.
    pub id: String,
    /// The id of the message.
    pub message_id: String,
    /// The creation time in milliseconds.
    pub created_ms: i64,
    /// The JSON of the message.
    pub message: String,
    /// The JSON of the part.
    pub part: String,
}

impl OpenCode {
    /// Opens the database read-only.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        const TABLES: &str =
            "select 1 from sqlite_master where type = 'table' and name in ('session', 'message', 'part')
            group by type having count(*) = 3";
        let connection = foreign_database(path, TABLES)?;
        Ok(Self { connection })
    }

    /// Lists the sessions of users, the one with the oldest change first. Sessions of sub-agents have a parent.
    pub fn sessions(&self) -> Result<Vec<OpenCodeSession>, StoreError> {
        const SESSIONS: &str = "select id, directory, time_updated,
                (select coalesce(sum(length(data)), 0) from part where session_id = session.id) as size
            from session where parent_id is null order by time_updated, id";
        let sessions = self.connection.rows(SESSIONS, [], session);
        sessions.map_err(read_error)
    }

    /// Finds a session by its id.
    pub fn session(&self, id: &str) -> Result<Option<OpenCodeSession>, StoreError> {
        const SESSION: &str = "select id, directory, time_updated, 0 as size from session where id = ?1";
        let found = self.connection.optional_row(SESSION, [id], session);
        found.map_err(read_error)
    }

    /// Returns the parts of a session in their order.
    pub fn parts(&self, session: &str) -> Result<Vec<OpenCodeRow>, StoreError> {
        const PARTS: &str =
            "select part.id, message_id, part.time_created as created_ms, message.data as message, part.data as part
            from part join message on message.id = message_id where part.session_id = ?1
            order by message.time_created, message.id, part.time_created, part.id";
        let parts = self.connection.rows(PARTS, [session], |row| {
            Ok(OpenCodeRow {
                id: row.get("id")?,
                message_id: row.get("message_id")?,
                created_ms: row.get("created_ms")?,
                message: row.get("message")?,
                part: row.get("part")?,
            })
        });
        parts.map_err(read_error)
    }
}

fn session(row: &Row<'_>) -> rusqlite::Result<OpenCodeSession> {
    Ok(OpenCodeSession {
        id: row.get("id")?,
        folder: row.get("directory")?,
        updated_at: row.get("time_updated")?,
        size: row.get("size")?,
    })
}

fn read_error(source: rusqlite::Error) -> StoreError {
    StoreError::Query {
        attempt: "read the database of OpenCode",
        source,
    }
}
