//! Copies a whole database while other processes use it.
//!
//! A copy is written and checked under a temporary name and renamed only then, so a file with the name of a backup is
//! always complete.

use std::{
    fs::{self, DirBuilder, OpenOptions},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use backstory_system::{self as system, OwnerOnly as _, sync_folder};
use rusqlite::{
    Connection, OpenFlags,
    backup::{Backup, StepResult},
};

use super::connect::{BusyTimeout, connect};
use crate::StoreError;

/// The suffix of a copy that is not finished.
pub const UNFINISHED: &str = ".part";

/// Copies a database to a file that only its owner can read; returns the size in bytes.
pub(crate) fn back_up(connection: &Connection, to: &Path) -> Result<u64, StoreError> {
    let unfinished = unfinished_path(to);
    let result = write_copy(connection, &unfinished).and_then(|()| {
        let size = fs::metadata(&unfinished).map(|file| file.len());
        size.and_then(|size| {
            system::rename(&unfinished, to)?;
            // The new name must be on the disk before the caller removes an older copy.
            sync_folder(to.parent().unwrap_or(to))?;
            Ok(size)
        })
        .map_err(create_error(to))
    });
    if result.is_err() {
        // A leftover of a killed process is overwritten by the next copy.
        system::remove_file(&unfinished).ok();
    }
    result
}

fn write_copy(connection: &Connection, unfinished: &Path) -> Result<(), StoreError> {
    let failed = |source| StoreError::Backup {
        path: unfinished.to_owned(),
        source,
    };
    if let Some(folder) = unfinished.parent() {
        let mut private = DirBuilder::new();
        private
            .recursive(true)
            .private()
            .create(folder)
            .map_err(create_error(folder))?;
    }
    let mut options = OpenOptions::new();
    options
        .write(true)
        .create(true)
        .truncate(true)
        .private()
        .open(unfinished)
        .map_err(create_error(unfinished))?;
    let mut copy = connect(
        unfinished,
        OpenFlags::SQLITE_OPEN_READ_WRITE,
        BusyTimeout::Command,
    )?;
    copy_pages(connection, &mut copy).map_err(failed)?;
    // Without a write-ahead log, the copy is one file.
    copy.pragma_update(None, "journal_mode", "delete")
        .map_err(failed)?;
    match quick_check(&copy).map_err(failed)?.into_iter().next() {
        Some(found) => Err(StoreError::Damaged {
            path: unfinished.to_owned(),
            found,
        }),
        None => Ok(()),
    }
}

/// Copies all pages as of one moment.
pub(crate) fn copy_pages(from: &Connection, to: &mut Connection) -> rusqlite::Result<()> {
    const PAGES_PER_STEP: std::ffi::c_int = 4_096;
    const PAUSE: Duration = Duration::from_millis(20);
    const MAX_PAUSES: usize = 500;
    // Held to the end: SQLite would restart the copy after every write of another process.
    let snapshot = from.unchecked_transaction()?;
    snapshot.query_row("select count(*) from sqlite_schema", [], |_| Ok(()))?;
    let backup = Backup::new(from, to)?;
    let mut pauses = 0;
    loop {
        match backup.step(PAGES_PER_STEP)? {
            StepResult::Done => return Ok(()),
            StepResult::More => {}
            // Another process uses the target.
            _ if pauses < MAX_PAUSES => {
                pauses += 1;
                std::thread::sleep(PAUSE);
            }
            _ => return Err(busy_error()),
        }
    }
}

/// Looks for damage in the tables, not in the indexes; returns the findings. Far quicker than a full check.
pub(crate) fn quick_check(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    check(connection, "pragma quick_check(5)")
}

/// Runs a check; returns its findings.
pub(crate) fn check(connection: &Connection, pragma: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare(pragma)?;
    let found: Vec<String> = statement
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    Ok(if found == ["ok"] { Vec::new() } else { found })
}

/// Returns the error of SQLite for a database that stays locked.
pub(crate) fn busy_error() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY), None)
}

fn unfinished_path(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(UNFINISHED);
    path.with_file_name(name)
}

fn create_error(path: &Path) -> impl Fn(io::Error) -> StoreError {
    |source| StoreError::Create {
        path: path.to_owned(),
        source,
    }
}
