//! What the worker does once a day beside its work: a backup, and free space given back.
//!
//! On a thread of its own that nobody waits for: a worker that ends in the middle leaves an unfinished copy that the next
//! one sweeps, and nothing else. Checking the copy checks the database: damage is found within a day.

use std::{
    fs, io,
    sync::mpsc::{Receiver, sync_channel},
    thread,
    time::Duration,
};

use anyhow::{Context, Result};
use backstory_store::{BusyTimeout, Store};
use backstory_system::free_bytes;

use crate::{
    backups::{self, BackupKind},
    clock,
    home::Home,
    log, repair,
};

/// A little less than a day: who starts work at nine has a backup of every day.
const DAY: Duration = Duration::from_secs(20 * 3600);

/// Starts it in the background. What is received is the damage that it came upon, if any.
pub(super) fn start(home: &Home, keep: usize) -> io::Result<Receiver<anyhow::Error>> {
    let home = home.clone();
    let (send, receive) = sync_channel(1);
    let work = move || {
        let Err(error) = keep_up(&home, keep) else { return };
        let line = format!("daily upkeep: {error:#}");
        // Nobody to tell when the log cannot be written; `doctor` tells how old the last backup is.
        log::append(&home, "worker.log", clock::since_1970(), &line).ok();
        if repair::is_damage(&error) {
            // A worker that has ended leaves it to the next.
            send.send(error).ok();
        }
    };
    thread::Builder::new().name("upkeep".to_owned()).spawn(work)?;
    Ok(receive)
}

fn keep_up(home: &Home, keep: usize) -> Result<()> {
    // Before the copy: what is free need not be copied.
    Store::open(&home.database(), &home.backups())?.vacuum()?;
    if keep > 0 && is_due(home)? {
        if !has_room(home)? {
            anyhow::bail!("no backup was taken: the disk is too full for one");
        }
        let store = Store::open_read_only(&home.database(), BusyTimeout::Command)?;
        store.back_up(&backups::path_for(home, BackupKind::Daily, clock::timestamp()))?;
    }
    backups::prune(home, keep, clock::now()).context("could not remove old backups")
}

/// Says whether the last backup is a day old, and something has changed since.
fn is_due(home: &Home) -> Result<bool> {
    let daily = backups::list(home)?
        .into_iter()
        .find(|copy| copy.reason == BackupKind::Daily);
    let Some(daily) = daily else { return Ok(true) };
    // A copy from the future is one from before the clock was set right.
    let is_young = clock::now()
        .duration_since(daily.modified)
        .is_ok_and(|age| age < DAY);
    let log = home.database().with_extension("db-wal");
    let has_changed = [home.database(), log].iter().any(|path| {
        let modified = fs::metadata(path).and_then(|file| file.modified());
        modified.is_ok_and(|modified| modified > daily.modified)
    });
    Ok(!is_young && has_changed)
}

/// Says whether the disk has room for the copy, and for as much again: a backup must not be what fills the disk.
fn has_room(home: &Home) -> Result<bool> {
    let size = fs::metadata(home.database())?.len();
    Ok(free_bytes(home.root())? > size.saturating_mul(2))
}
