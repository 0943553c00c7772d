//! Reads the databases of Cursor: the key-value tables of the editor and the chats of its command-line agent.
//!
//! Written from descriptions of the format; no recorded database was available. The databases are never written.

use std::path::Path;

use rusqlite::Connection;

use super::foreign_database;
use crate::{StoreError, sql::Statements as _};

/// Database of the editor (`state.vscdb`).
#[derive(Debug)]
pub struct CursorEditor {
    connection: Connection,
}

/// Database of one chat of the command-line agent (`store.db`).
#[derive(Debug)]
pub struct CursorChat {
    connection: Connection,
}

/// Value of the editor's database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CursorRecord {
    /// The key.
    pub key: String,
    /// The value, usually JSON.
    pub value: Vec<u8>,
}

impl CursorEditor {
    /// Opens the database read-only.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        const TABLES: &str = "select 1 from sqlite_master where type = 'table' and name = 'ItemTable'";
        let connection = foreign_database(path, TABLES)?;
        Ok(Self { connection })
    }

    /// Returns a setting of the editor or of one of its windows.
    pub fn item(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        const ITEM: &str = "select cast(value as blob) as value from ItemTable
            where key = ?1 and value is not null";
        let found = self.connection.optional_row(ITEM, [key], |row| row.get("value"));
        found.map_err(read_error)
    }

    /// Returns the records whose keys are a prefix and a colon followed by anything, in the order of the keys.
    pub fn records(&self, prefix: &str) -> Result<Vec<CursorRecord>, StoreError> {
        const RECORDS: &str = "select key, cast(value as blob) as value from cursorDiskKV
            where key >= ?1 || ':' and key < ?1 || ';' and value is not null order by key";
        let records = self.connection.rows(RECORDS, [prefix], |row| {
            Ok(CursorRecord {
                key: row.get("key")?,
                value: row.get("value")?,
            })
        });
        records.map_err(read_error)
    }

    /// Returns the size in bytes of the records that [`Self::records`] returns.
    pub fn size(&self, prefix: &str) -> Result<u64, StoreError> {
        const SIZE: &str = "select coalesce(sum(octet_length(value)), 0) as size from cursorDiskKV
            where key >= ?1 || ':' and key < ?1 || ';'";
        let size = self.connection.row(SIZE, [prefix], |row| row.get("size"));
        size.map_err(read_error)
    }
}

impl CursorChat {
    /// Opens the database read-only.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        const TABLES: &str = "select 1 from sqlite_master where type = 'table' and name in ('blobs', 'meta')
            group by type having count(*) = 2";
        let connection = foreign_database(path, TABLES)?;
        Ok(Self { connection })
    }

    /// Returns the description of the chat: JSON in hexadecimal digits.
    pub fn meta(&self) -> Result<Option<String>, StoreError> {
        const META: &str =
            "select cast(value as text) as value from meta where key = '0' and value is not null";
        let found = self.connection.optional_row(META, [], |row| row.get("value"));
        found.map_err(read_error)
    }

    /// Returns a blob by its id.
    pub fn blob(&self, id: &str) -> Result<Option<Vec<u8>>, StoreError> {
        const BLOB: &str = "select cast(data as blob) as data from blobs where id = ?1 and data is not null";
        let found = self.connection.optional_row(BLOB, [id], |row| row.get("data"));
        found.map_err(read_error)
    }
}

fn read_error(source: rusqlite::Error) -> StoreError {
    StoreError::Query {
        attempt: "read the database of Cursor",
        source,
    }
}
