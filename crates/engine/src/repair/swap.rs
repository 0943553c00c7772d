//! Gives the name of the database to one that was built beside it, however often that is interrupted.
//!
//! A database is built under one name and gets another when it is ready: from then on it is decided that it takes the place,
//! and whoever comes next completes what a crash left. What is there then has been read for the last time.

use std::{
    fs::{self, DirBuilder},
    io,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use backstory_system::{self as system, OwnerOnly as _};

use super::{SwapLock, remove, with_suffix};
use crate::{
    backups::{self, BackupKind},
    clock,
    home::Home,
};

/// Why a database takes the place of another. What was there is kept under the name of the reason.
const REASONS: [BackupKind; 2] = [BackupKind::Damaged, BackupKind::BeforeRestore];

/// Where a database is built.
pub(super) fn building(home: &Home) -> PathBuf {
    home.root().join("backstory.db.building")
}

/// What it is called when it is ready.
fn ready(home: &Home, reason: BackupKind) -> PathBuf {
    home.root().join(match reason {
        BackupKind::Damaged => "backstory.db.ready",
        _ => "backstory.db.restored",
    })
}

/// Says whether a database is ready and not in its place.
pub(super) fn is_pending(home: &Home) -> bool {
    REASONS.iter().any(|reason| ready(home, *reason).exists())
}

/// Completes what was begun. Only for whoever holds `worker.lock`: another may be at it.
pub(super) fn complete(home: &Home) -> Result<()> {
    if !is_pending(home) {
        return Ok(());
    }
    let _gate = SwapLock::exclusive(home)?;
    for reason in REASONS {
        if ready(home, reason).exists() {
            swap(home, reason).context("could not put the new database in place")?;
        }
    }
    Ok(())
}

/// Sets the present database aside and gives its name to the one that was built; returns where the old one is. Only for
/// whoever has closed the gate.
pub(super) fn swap_in(home: &Home, reason: BackupKind) -> Result<Option<PathBuf>> {
    system::rename(building(home), ready(home, reason))
        .and_then(|()| swap(home, reason))
        .context("could not put the new database in place")
}

/// Does what is left of it: a crash may come after each line, and the next one begins from the first.
fn swap(home: &Home, reason: BackupKind) -> io::Result<Option<PathBuf>> {
    let ready = ready(home, reason);
    let aside = set_aside_path(home, reason, &ready)?;
    DirBuilder::new()
        .recursive(true)
        .private()
        .create(home.backups())?;
    // The log first: beside another database it would be taken for its own.
    rename(
        &with_suffix(&home.database(), "-wal"),
        &with_suffix(&aside, "-wal"),
    )?;
    remove(&with_suffix(&home.database(), "-shm"))?;
    let was_there = rename(&home.database(), &aside)?;
    // They have the numbers of the documents that were there before; the worker makes them anew.
    remove(&home.vectors())?;
    system::rename(ready, home.database())?;
    Ok(was_there.then_some(aside))
}

/// Where the present database goes: named by when the other was built, so that the log and the database of one moment stay
/// together when a crash came between them.
fn set_aside_path(home: &Home, reason: BackupKind, ready: &Path) -> io::Result<PathBuf> {
    let built = fs::metadata(ready)?.modified()?.into();
    let aside = backups::path_for(home, reason, built);
    // Somebody has begun a new database where none was for a moment.
    Ok(match aside.exists() {
        true => backups::path_for(home, reason, clock::timestamp()),
        false => aside,
    })
}

/// Renames a file if it is there; says whether it was.
fn rename(from: &Path, to: &Path) -> io::Result<bool> {
    match system::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        other => other.map(|()| true),
    }
}
