//! Opens the store, rebuilds a damaged database and restores a backup.
//!
//! A damaged database is set aside and rebuilt from the last good backup, from the events and notes that can still be read
//! from it, and from the spool. Damaged is what SQLite reports as such, and a file of zero bytes. Every
//! table is checked before the database is replaced. A database with a newer schema is not damaged, and a missing one was
//! deleted on purpose; `backstory restore` brings it back.

mod swap;

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use backstory_model::Timestamp;
use backstory_store::{BusyTimeout, Salvaged, Store, StoreError};
use backstory_system::{KILL_COMMAND, OwnerOnly as _};
use serde::{Deserialize, Serialize};

use crate::{
    backups::{self, BackupKind},
    engine::Engine,
    error::{HintContext as _, HintedError, error_chain, with_hint},
    home::Home,
    swap_lock::SwapLock,
    worker_process,
};

use swap::{remove, with_suffix};

/// Kind of process that opens the store. The worker holds `worker.lock` already and must not take it again: closing a second
/// handle of the file would release the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockOwner {
    /// A command. It takes the lock when it needs it.
    Command,
    /// The worker. It holds the lock.
    Worker,
}

/// Report of a rebuilt database, stored beside the damaged file for `doctor`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Rebuilt {
    /// Time of the rebuild.
    pub at: Timestamp,
    /// Error that revealed the damage.
    pub noticed: String,
    /// Path of the damaged database.
    pub damaged: PathBuf,
    /// Backup that was used as the base.
    pub base: Option<PathBuf>,
    /// Events that could still be read and were not in the backup.
    pub events: usize,
    /// Notes and imported memories that could still be read and were not in the backup.
    pub memories: u64,
}

/// Age of the ledger entries that are carried over: covers the current day of the budget in every time zone.
const LEDGER_AGE: Duration = Duration::from_hours(2 * 24);

/// A store that was opened for writing.
#[derive(Debug)]
pub struct Opened {
    /// The store.
    pub store: Store,
    /// Set if the database was damaged and had to be rebuilt.
    pub rebuilt: Option<Rebuilt>,
}

/// Opens the store for reading and writing. A damaged database is rebuilt first.
pub fn open(engine: &Engine, owner: LockOwner) -> Result<Opened> {
    let home = &engine.home;
    finish(engine, owner)?;
    let opened = if was_emptied(engine)? {
        Err(StoreError::Damaged {
            path: home.database(),
            found: "it is empty".to_owned(),
        })
    } else {
        Store::open(&home.database(), &home.backups())
    };
    let (opened, rebuilt) = match opened {
        Err(error) if error.is_damage() => {
            let rebuilt = rebuild_if_damaged(engine, owner, &anyhow::Error::new(error))?;
            (Store::open(&home.database(), &home.backups()), rebuilt)
        }
        other => (other, None),
    };
    Ok(Opened {
        store: opened.map_err(with_hint)?,
        rebuilt,
    })
}

/// Returns `true` if an error was caused by a damaged database.
pub fn is_damage(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<StoreError>())
        .any(StoreError::is_damage)
}

/// Checks the database and rebuilds it if it is damaged. Returns `None` if it is not. The rebuild is also logged.
pub fn rebuild_if_damaged(
    engine: &Engine,
    owner: LockOwner,
    noticed: &anyhow::Error,
) -> Result<Option<Rebuilt>> {
    let rebuild = || {
        swap::complete(&engine.home, engine.clock.timestamp())?;
        if is_whole(engine)? {
            // Another process has rebuilt it, or it was read while it was replaced.
            Ok(None)
        } else {
            rebuild(engine, noticed).map(Some)
        }
    };
    let rebuilt = match owner {
        LockOwner::Worker => rebuild(),
        LockOwner::Command => with_worker_stopped(engine, rebuild),
    }
    .hint_context(
        "could not rebuild the damaged database",
        "`backstory doctor` shows what is wrong, `backstory restore FILE` restores a backup",
    )?;
    if let Some(rebuilt) = &rebuilt {
        // Best effort: the report is also stored beside the damaged file.
        engine.log("worker.log", &rebuilt.to_string()).ok();
    }
    Ok(rebuilt)
}

impl std::fmt::Display for Rebuilt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "The database was damaged and is rebuilt from {}",
            match &self.base {
                Some(base) => base.display().to_string(),
                None => "nothing, because there was no backup".to_owned(),
            }
        )?;
        if self.events > 0 || self.memories > 0 {
            write!(
                f,
                ", {} events and {} notes or imported memories that could still be read",
                self.events, self.memories
            )?;
        }
        write!(f, ". The damaged file is {}.", self.damaged.display())
    }
}

/// Time to wait for another command that works on the database. Shorter in debug builds, for tests.
const TIMEOUT: Duration = Duration::from_secs(if cfg!(debug_assertions) { 10 } else { 60 });

/// Stops the worker, runs `work` while holding its lock, and starts the worker again if there was one. A command that holds
/// the lock, such as an import, is not stopped but waited for.
pub fn with_worker_stopped<T>(engine: &Engine, work: impl FnOnce() -> Result<T>) -> Result<T> {
    const POLL_INTERVAL: Duration = Duration::from_millis(100);
    let home = &engine.home;
    home.create()?;
    let started = engine.clock.monotonic();
    let mut had_worker = false;
    let lock = loop {
        if let Some(lock) = worker_process::WorkerLock::take(home).context("could not lock worker.lock")? {
            break lock;
        }
        let holder = worker_process::holder(home);
        if engine.clock.monotonic() - started > TIMEOUT {
            let who = holder.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"));
            bail!(
                HintedError::new(format_args!("{who} is working on the database"))
                    .hint("try again when it has ended")
            );
        }
        if holder.is_none() || worker_process::worker_info(home).is_some() {
            had_worker |= worker_process::stop(home).hint_context(
                "could not stop the worker",
                format_args!("it may hang; `{KILL_COMMAND}` loses no data"),
            )?;
        } else {
            std::thread::sleep(POLL_INTERVAL);
        }
    };
    let result = work();
    drop(lock);
    if had_worker {
        // On failure the next hook starts one.
        worker_process::start_and_wait(engine).ok();
    }
    result
}

/// Replaces the database by a backup. Returns the path at which the replaced database was kept. The caller holds the worker
/// lock.
pub fn restore(engine: &Engine, from: &Path) -> Result<Option<PathBuf>> {
    let (home, now) = (&engine.home, engine.clock.timestamp());
    swap::complete(home, now)?;
    let _lock = SwapLock::exclusive(home)?;
    let present = Store::open(&home.database(), &home.backups());
    remove_database(&swap::building(home))?;
    let mut built = Store::from_backup(from, &swap::building(home), &home.backups())?;
    built.forget_vectors()?;
    built.import_ledger(&home.database(), now - LEDGER_AGE)?;
    if let Ok(present) = &present {
        built.advance_sequences(&present.sequence_values()?)?;
    }
    let copy = backups::path_for(home, BackupKind::BeforeRestore, now);
    let copied = present.and_then(|present| present.back_up(&copy).map(|_| present));
    let kept = match copied {
        // Overwritten in place: for processes that have it open this is an ordinary transaction.
        Ok(mut present) => {
            present.overwrite_with(&built)?;
            drop(built);
            remove_database(&swap::building(home))?;
            Some(copy)
        }
        // Missing, damaged, from a newer version, or no space for a copy.
        Err(_) => {
            built.close()?;
            swap::swap_in(home, BackupKind::BeforeRestore, now)?
        }
    };
    // The vectors refer to the documents of the replaced database; the worker computes them again.
    remove(&home.vectors())?;
    // The newest good backup must be of the restored state, not of the replaced one.
    let store = Store::open(&home.database(), &home.backups())?;
    store.back_up(&backups::path_for(home, BackupKind::Daily, now))?;
    Ok(kept)
}

/// Rebuilds the database and puts it in place.
fn rebuild(engine: &Engine, noticed: &anyhow::Error) -> Result<Rebuilt> {
    let (home, now) = (&engine.home, engine.clock.timestamp());
    let _lock = SwapLock::exclusive(home)?;
    let building = swap::building(home);
    remove_database(&building)?;
    let base = backups::last_good(home).context("could not look for a backup")?;
    let mut store = match &base {
        Some(base) => Store::from_backup(base, &building, &home.backups())?,
        None => Store::open(&building, &home.backups())?,
    };
    let Salvaged { events, memories } = store.salvage(&home.database(), now)?;
    if let Ok(damaged) = Store::open_read_only(&home.database(), BusyTimeout::Command)
        && let Ok(numbers) = damaged.sequence_values()
    {
        store.advance_sequences(&numbers)?;
    }
    store.import_ledger(&home.database(), now - LEDGER_AGE)?;
    store.forget_vectors()?;
    store.close()?;
    let damaged = swap::swap_in(home, BackupKind::Damaged, now)?.context("the damaged database is gone")?;
    let rebuilt = Rebuilt {
        at: now,
        noticed: error_chain(noticed),
        damaged,
        base,
        events,
        memories,
    };
    write_receipt(&rebuilt).context("could not write the report of the rebuild")?;
    Ok(rebuilt)
}

/// Removes the unfinished database of a repair that was killed. The caller holds the worker lock or knows that no process does.
pub fn sweep(home: &Home) -> Result<()> {
    remove(&swap::building(home)).context("could not remove an unfinished database")
}

/// Completes a replacement that was interrupted by a crash.
fn finish(engine: &Engine, owner: LockOwner) -> Result<()> {
    const ATTEMPTS: usize = 200;
    let home = &engine.home;
    let complete = || swap::complete(home, engine.clock.timestamp());
    if owner == LockOwner::Worker {
        return complete();
    }
    // A process that is replacing the database now needs about two seconds at most.
    for _ in 0..ATTEMPTS {
        if !swap::is_pending(home) {
            return Ok(());
        }
        if !worker_process::is_running(home) {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    with_worker_stopped(engine, complete)
}

/// Returns `true` if every table can be read completely.
fn is_whole(engine: &Engine) -> Result<bool> {
    let home = &engine.home;
    if was_emptied(engine)? {
        return Ok(false);
    }
    let found = Store::open(&home.database(), &home.backups()).and_then(|store| store.check());
    match found {
        Ok(found) => Ok(found.is_empty()),
        Err(error) if error.is_damage() => Ok(false),
        Err(error) => Err(with_hint(error)),
    }
}

/// Returns `true` if the database was truncated to zero bytes. SQLite would treat such a file as a new database, which it is
/// while another process creates it.
fn was_emptied(engine: &Engine) -> Result<bool> {
    const CREATION: Duration = Duration::from_secs(1);
    let path = engine.home.database();
    // The write-ahead log may hold all data; then SQLite decides.
    let has_log = || fs::metadata(with_suffix(&path, "-wal")).is_ok_and(|log| log.len() > 0);
    let started = engine.clock.monotonic();
    loop {
        let file = match fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            other => other.context("could not read the metadata of the database")?,
        };
        if file.len() > 0 || has_log() {
            return Ok(false);
        }
        let age = file.modified().map(|at| engine.clock.now().duration_since(at));
        // A time in the future does not count as just now.
        let is_new = age.is_ok_and(|age| age.is_ok_and(|age| age < CREATION));
        if !is_new || engine.clock.monotonic() - started > CREATION {
            return Ok(true);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn write_receipt(rebuilt: &Rebuilt) -> Result<()> {
    let path = with_suffix(&rebuilt.damaged, ".json");
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create(true)
        .truncate(true)
        .private()
        .open(path)?;
    Ok(writeln!(file, "{}", serde_json::to_string_pretty(rebuilt)?)?)
}

/// Reads the reports of rebuilt databases, newest first.
pub fn receipts(home: &Home) -> io::Result<Vec<Rebuilt>> {
    let copies = backups::list(home)?.into_iter();
    let damaged = copies.filter(|copy| copy.reason == BackupKind::Damaged);
    let read = |copy: backups::BackupFile| {
        let text = fs::read_to_string(with_suffix(&copy.path, ".json")).ok()?;
        serde_json::from_str(&text).ok()
    };
    Ok(damaged.filter_map(read).collect())
}

fn remove_database(path: &Path) -> io::Result<()> {
    ["-wal", "-shm", ""]
        .iter()
        .try_for_each(|suffix| remove(&with_suffix(path, suffix)))
}
