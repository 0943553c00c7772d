//! Memories as lines of text: export, import, and the databases of claude-mem, `OpenCode` and Cursor.

pub(crate) mod claude_mem;
pub(crate) mod cursor;
mod export;
pub(crate) mod import_lines;
pub(crate) mod opencode;

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use crate::{
    StoreError,
    schema::connect::{BusyTimeout, connect, connect_immutable, wal_path},
    sql::Statements as _,
};

/// Opens the database of another program read-only. A statement returns a row if it has the expected tables.
///
/// No file is created beside it while no other process has it open.
fn foreign_database(path: &Path, tables: &str) -> Result<Connection, StoreError> {
    if !path.exists() {
        return Err(StoreError::Missing(path.to_owned()));
    }
    // A log has the newest data and must be read with locks. Without a log no process has the database open.
    let connection = if wal_path(path).exists() {
        connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY, BusyTimeout::Command)?
    } else {
        connect_immutable(path)?
    };
    match connection.has_row(tables, []) {
        Ok(true) => Ok(connection),
        _ => Err(StoreError::Foreign(path.to_owned())),
    }
}
