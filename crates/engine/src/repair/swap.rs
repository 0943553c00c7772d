//! Replaces the database by one that was built beside it, in steps that survive a crash.
//!
//! A database is built under one name and renamed when it is ready. From that moment on the replacement is decided: if a crash
//! interrupts it, the next process completes it. Nothing is read from the old database after that point.

use std::{
    fs::{self, DirBuilder},
    io,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use backstory_model::Timestamp;
use backstory_system::{self as system, OwnerOnly as _};

use crate::{
    backups::{self, BackupKind},
    home::Home,
    swap_lock::SwapLock,
};

/// Reasons for a replacement. The old database is kept under the name of the reason.
const REASONS: [BackupKind; 2] = [BackupKind::Damaged, BackupKind::BeforeRestore];

/// Returns the path at which a database is built.
pub(super) fn building(home: &Home) -> PathBuf {
    home.root().join("backstory.db.building")
}

/// Returns the path of a finished database that is not in place yet.
fn ready(home: &Home, reason: BackupKind) -> PathBuf {
    home.root().join(match reason {
        BackupKind::Damaged => "backstory.db.ready",
        _ => "backstory.db.restored",
    })
}

/// Returns `true` if a finished database is not in place yet.
pub(super) fn is_pending(home: &Home) -> bool {
    REASONS.iter().any(|reason| ready(home, *reason).exists())
}

/// Completes an interrupted replacement. The caller holds `worker.lock`.
pub(super) fn complete(home: &Home, now: Timestamp) -> Result<()> {
    if !is_pending(home) {
        return Ok(());
    }
    let _lock = SwapLock::exclusive(home)?;
    for reason in REASONS {
        if ready(home, reason).exists() {
            swap(home, reason, now).context("could not put the new database in place")?;
        }
    }
    Ok(())
}

/// Sets the old database aside and puts the one that was built in its place. Returns the path of the old one. The caller holds
/// the swap lock exclusively.
pub(super) fn swap_in(home: &Home, reason: BackupKind, now: Timestamp) -> Result<Option<PathBuf>> {
    system::rename(building(home), ready(home, reason))
        .and_then(|()| swap(home, reason, now))
        .context("could not put the new database in place")
}

/// Performs the remaining steps. A crash may happen after each of them; the next call starts from the first.
fn swap(home: &Home, reason: BackupKind, now: Timestamp) -> io::Result<Option<PathBuf>> {
    let ready = ready(home, reason);
    let aside = set_aside_path(home, reason, &ready, now)?;
    DirBuilder::new()
        .recursive(true)
        .private()
        .create(home.backups())?;
    // The write-ahead log first: SQLite would apply it to the new database.
    rename(
        &with_suffix(&home.database(), "-wal"),
        &with_suffix(&aside, "-wal"),
    )?;
    remove(&with_suffix(&home.database(), "-shm"))?;
    let was_there = rename(&home.database(), &aside)?;
    // The vectors refer to the documents of the old database; the worker computes them again.
    remove(&home.vectors())?;
    system::rename(ready, home.database())?;
    Ok(was_there.then_some(aside))
}

/// Returns the path for the old database. It is named after the time at which the new one was built, so that database and
/// write-ahead log get the same name even if a crash happens between the two renames.
fn set_aside_path(home: &Home, reason: BackupKind, ready: &Path, now: Timestamp) -> io::Result<PathBuf> {
    let built = fs::metadata(ready)?.modified()?.into();
    let aside = backups::path_for(home, reason, built);
    // Taken if another process created a new database between the two renames.
    Ok(if aside.exists() {
        backups::path_for(home, reason, now)
    } else {
        aside
    })
}

/// Renames a file. Returns `false` if it does not exist.
fn rename(from: &Path, to: &Path) -> io::Result<bool> {
    match system::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        other => other.map(|()| true),
    }
}

/// Appends a suffix to a path.
pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Removes a file if it exists.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match system::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
