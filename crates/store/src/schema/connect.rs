//! Opens SQLite connections with the settings that every one of them needs.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use backstory_model::has_drive;
use rusqlite::{Connection, OpenFlags, config::DbConfig};

use crate::StoreError;

/// Limits how long a connection waits for a write of another process.
#[derive(Clone, Copy, Debug)]
pub enum BusyTimeout {
    /// For commands and the worker.
    Command,
    /// For hooks, because the agent waits for them.
    Hook,
}

impl BusyTimeout {
    pub(crate) fn duration(self) -> Duration {
        match self {
            Self::Command => Duration::from_secs(5),
            Self::Hook => Duration::from_millis(50),
        }
    }
}

/// Opens a connection.
pub(crate) fn connect(path: &Path, flags: OpenFlags, timeout: BusyTimeout) -> Result<Connection, StoreError> {
    let open = || {
        let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        connection.busy_timeout(timeout.duration())?;
        // More than one search needs: parsing a statement again costs as much as running it.
        connection.set_prepared_statement_cache_capacity(96);
        // Without this, SQLite may parse a statement again for every new value, to find a plan for it.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        Ok(connection)
    };
    open().map_err(open_error(path))
}

/// Opens a connection that assumes that the file does not change: it takes no locks and creates no file.
pub(crate) fn connect_immutable(path: &Path) -> Result<Connection, StoreError> {
    let path = path.to_string_lossy();
    let is_on_drive = has_drive(&path);
    let mut uri = if is_on_drive { "file:///" } else { "file:" }.to_owned();
    for c in path.chars() {
        match c {
            '\\' if is_on_drive => uri.push('/'),
            '%' | '?' | '#' => uri.push_str(&format!("%{:02x}", u32::from(c))),
            c => uri.push(c),
        }
    }
    uri.push_str("?immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    connect(Path::new(&uri), flags, BusyTimeout::Command)
}

/// Returns the path of the write-ahead log of a database.
pub(crate) fn wal_path(path: &Path) -> PathBuf {
    let mut wal = path.as_os_str().to_owned();
    wal.push("-wal");
    wal.into()
}

/// Adds the path to an error of SQLite.
pub(crate) fn open_error(path: &Path) -> impl Fn(rusqlite::Error) -> StoreError {
    |source| StoreError::Open {
        path: path.to_owned(),
        source,
    }
}
