//! Daily maintenance: vacuum, backup and removal of old backups.
//!
//! Runs on a thread that is never joined. A worker that ends in the middle leaves an unfinished copy, which the next one
//! removes. Every copy is checked after it was written, so damage of the database is found within a day.

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
    engine::Engine,
    home::Home,
    repair,
};

/// Minimum age of the last backup. Less than a day, so that a machine that is switched on at nine gets one every day.
const DAY: Duration = Duration::from_secs(20 * 3600);

/// Starts the maintenance in the background. The channel receives the damage that it found, if any.
pub(super) fn start(engine: &Engine, keep: usize) -> io::Result<Receiver<anyhow::Error>> {
    let engine = engine.clone();
    let (send, receive) = sync_channel(1);
    let work = move || {
        let Err(error) = maintain(&engine, keep) else {
            return;
        };
        let line = format!("daily maintenance: {error:#}");
        // A log that cannot be written is no reason to stop; `doctor` shows the age of the last backup.
        engine.log("worker.log", &line).ok();
        if repair::is_damage(&error) {
            // The worker may have ended; the next one finds the damage again.
            send.send(error).ok();
        }
    };
    thread::Builder::new()
        .name("maintenance".to_owned())
        .spawn(work)?;
    Ok(receive)
}

fn maintain(engine: &Engine, keep: usize) -> Result<()> {
    let home = &engine.home;
    // Before the backup, which then has no free pages to copy.
    Store::open(&home.database(), &home.backups())?.vacuum()?;
    if keep > 0 && is_due(engine)? {
        if !has_room(home)? {
            anyhow::bail!("no backup was taken: not enough space on the disk");
        }
        let store = Store::open_read_only(&home.database(), BusyTimeout::Command)?;
        store.back_up(&backups::path_for(
            home,
            BackupKind::Daily,
            engine.clock.timestamp(),
        ))?;
    }
    backups::prune(home, keep, engine.clock.now()).context("could not remove old backups")
}

/// Returns `true` if the last daily backup is old enough and the database has changed since.
fn is_due(engine: &Engine) -> Result<bool> {
    let home = &engine.home;
    let daily = backups::list(home)?
        .into_iter()
        .find(|copy| copy.reason == BackupKind::Daily);
    let Some(daily) = daily else { return Ok(true) };
    // A backup with a time in the future counts as old: the clock was wrong when it was taken.
    let is_young = engine
        .clock
        .now()
        .duration_since(daily.modified)
        .is_ok_and(|age| age < DAY);
    let log = home.database().with_extension("db-wal");
    let has_changed = [home.database(), log].iter().any(|path| {
        let modified = fs::metadata(path).and_then(|file| file.modified());
        modified.is_ok_and(|modified| modified > daily.modified)
    });
    Ok(!is_young && has_changed)
}

/// Returns `true` if the disk has room for two copies, so that a backup does not fill the disk.
fn has_room(home: &Home) -> Result<bool> {
    let size = fs::metadata(home.database())?.len();
    Ok(free_bytes(home.root())? > size.saturating_mul(2))
}
