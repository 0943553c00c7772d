//! Opens the store, and puts another database in its place when it is damaged or a person wants an older state back.
//!
//! A damaged database is set aside and built anew from the last good backup, from the events and notes that can still be
//! read of it, and from the spool, which nobody touched. Damage is what SQLite calls so, on opening or later, and a file
//! without a byte where there was a database. It is confirmed from end to end before anything is done about it. A database of
//! a newer schema is not damaged, and one that is missing was deleted by somebody who can say `backstory restore`.

mod gate;
mod swap;

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use backstory_model::Timestamp;
use backstory_store::{BusyTimeout, Salvaged, Store, StoreError};
use backstory_system::{self as system, END_BY_FORCE, OwnerOnly as _};
use serde::{Deserialize, Serialize};

use crate::{
    backups::{self, BackupKind},
    clock,
    error::{error_chain, with_hint},
    home::Home,
    log, worker,
};

pub use gate::SwapLock;

/// Who opens the store. The worker holds its lock already, and must not ask for it: closing that file gives it up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockOwner {
    /// A command; it acquires the lock when it needs it.
    Command,
    /// The worker; it holds the lock.
    Worker,
}

/// What became of a damaged database; kept beside the file that was set aside, where `doctor` finds it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Rebuilt {
    /// The time.
    pub at: Timestamp,
    /// What showed the damage.
    pub noticed: String,
    /// Where the damaged database is.
    pub damaged: PathBuf,
    /// The backup that was taken as the base.
    pub base: Option<PathBuf>,
    /// Events of the queue that could still be read and were not in the backup.
    pub events: usize,
    /// Notes and imported memories, likewise.
    pub memories: u64,
}

/// So much of the ledger goes from one database to the next: a day of the user's, wherever its midnight is.
const LEDGER_AGE: Duration = Duration::from_hours(2 * 24);

/// Opens the store to read and write. One that is damaged is rebuilt first, and a command says so.
pub fn open(home: &Home, opener: LockOwner) -> Result<Store> {
    finish(home, opener)?;
    let opened = match was_emptied(home)? {
        true => Err(StoreError::Damaged {
            path: home.database(),
            found: "it is empty, and there are backups".to_owned(),
        }),
        false => Store::open(&home.database(), &home.backups()),
    };
    match opened {
        Err(error) if error.is_damage() => {
            rebuild_if_damaged(home, opener, &anyhow::Error::new(error))?;
            Store::open(&home.database(), &home.backups()).map_err(with_hint)
        }
        other => other.map_err(with_hint),
    }
}

/// Says whether something failed because the database is damaged.
pub fn is_damage(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<StoreError>())
        .any(StoreError::is_damage)
}

/// Rebuilds the database if it is damaged indeed, and tells whoever listens; says whether it was.
pub fn rebuild_if_damaged(home: &Home, opener: LockOwner, noticed: &anyhow::Error) -> Result<bool> {
    let rebuild = || {
        swap::complete(home)?;
        match is_whole(home)? {
            // Another process was faster, or it was read while it was replaced.
            true => Ok(None),
            false => rebuild(home, noticed).map(Some),
        }
    };
    let rebuilt = match opener {
        LockOwner::Worker => rebuild(),
        LockOwner::Command => with_worker_stopped(home, rebuild),
    }
    .context("could not rebuild the damaged database\nhint: `backstory doctor` says what is there, `backstory restore FILE` takes a backup")?;
    let Some(rebuilt) = rebuilt else { return Ok(false) };
    let told = rebuilt.to_string();
    // The receipt has it too.
    log::append(home, "worker.log", clock::since_1970(), &told).ok();
    if opener == LockOwner::Command {
        anstream::eprintln!("{told}");
    }
    Ok(true)
}

impl std::fmt::Display for Rebuilt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "The database was damaged and is rebuilt from {}",
            match &self.base {
                Some(base) => base.display().to_string(),
                None => "nothing, for there was no backup".to_owned(),
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

/// So long another command that works on the database is waited for. Tests are not that patient.
const TIMEOUT: Duration = Duration::from_secs(if cfg!(debug_assertions) { 10 } else { 60 });

/// Does something while no worker runs; one that ran before runs again after. A command that holds the worker's lock, an
/// import that makes memories, is waited for and not told to end.
pub fn with_worker_stopped<T>(home: &Home, work: impl FnOnce() -> Result<T>) -> Result<T> {
    const POLL_INTERVAL: Duration = Duration::from_millis(100);
    home.create()?;
    let begun = Instant::now();
    let mut had_worker = false;
    let lock = loop {
        if let Some(lock) = worker::WorkerLock::take(home).context("could not lock worker.lock")? {
            break lock;
        }
        let holder = worker::holder(home);
        if begun.elapsed() > TIMEOUT {
            let who = holder.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"));
            bail!("{who} works on the database\nhint: try again when it has ended");
        }
        match holder.is_none() || worker::worker_info(home).is_some() {
            true => {
                had_worker |= worker::stop(home).with_context(|| {
                    format!("could not stop the worker\nhint: it may hang; `{END_BY_FORCE}` loses nothing")
                })?;
            }
            false => std::thread::sleep(POLL_INTERVAL),
        }
    };
    let result = work();
    drop(lock);
    if had_worker {
        // If it does not start, the next hook starts one.
        worker::start_and_wait(home).ok();
    }
    result
}

/// Puts a backup in the place of what is there, which is kept aside first; returns where. Nobody else may be at work.
pub fn restore(home: &Home, from: &Path) -> Result<Option<PathBuf>> {
    swap::complete(home)?;
    let _gate = SwapLock::exclusive(home)?;
    let present = Store::open(&home.database(), &home.backups());
    remove_database(&swap::building(home))?;
    let mut built = Store::from_backup(from, &swap::building(home), &home.backups())?;
    built.forget_vectors()?;
    built.import_ledger(&home.database(), clock::timestamp() - LEDGER_AGE)?;
    if let Ok(present) = &present {
        built.advance_sequences(&present.sequence_values()?)?;
    }
    let copy = backups::path_for(home, BackupKind::BeforeRestore, clock::timestamp());
    let copied = present.and_then(|present| present.back_up(&copy).map(|_| present));
    let kept = match copied {
        // Other processes may have it open: to them it is a change like any other.
        Ok(mut present) => {
            present.overwrite_with(&built)?;
            drop(built);
            remove_database(&swap::building(home))?;
            Some(copy)
        }
        // Not there, damaged, from a newer version, or no room for a copy.
        Err(_) => {
            built.close()?;
            swap::swap_in(home, BackupKind::BeforeRestore)?
        }
    };
    // Vectors have the numbers of the documents that were there before; the worker makes them anew.
    remove(&home.vectors())?;
    // The last good backup is one of this state from now on, not of the one that was unwanted.
    let store = Store::open(&home.database(), &home.backups())?;
    store.back_up(&backups::path_for(home, BackupKind::Daily, clock::timestamp()))?;
    Ok(kept)
}

/// Builds the database anew and puts it in place.
fn rebuild(home: &Home, noticed: &anyhow::Error) -> Result<Rebuilt> {
    let _gate = SwapLock::exclusive(home)?;
    let now = clock::timestamp();
    let building = swap::building(home);
    remove_database(&building)?;
    let base = backups::last_good(home).context("could not look for a backup")?;
    let mut store = match &base {
        Some(base) => Store::from_backup(base, &building, &home.backups())?,
        None => Store::open(&building, &home.backups())?,
    };
    let Salvaged { events, memories } = store.salvage(&home.database(), worker::ingest_hooks(), now)?;
    if let Ok(damaged) = Store::open_read_only(&home.database(), BusyTimeout::Command)
        && let Ok(numbers) = damaged.sequence_values()
    {
        store.advance_sequences(&numbers)?;
    }
    store.import_ledger(&home.database(), now - LEDGER_AGE)?;
    store.forget_vectors()?;
    store.close()?;
    let damaged = swap::swap_in(home, BackupKind::Damaged)?.context("the damaged database is gone")?;
    let rebuilt = Rebuilt {
        at: now,
        noticed: error_chain(noticed),
        damaged,
        base,
        events,
        memories,
    };
    write_receipt(&rebuilt).context("could not note that the database was rebuilt")?;
    Ok(rebuilt)
}

/// Removes what a repair that was killed had begun to build. Only who holds the lock may, or who knows that nobody does.
pub fn sweep(home: &Home) -> Result<()> {
    remove(&swap::building(home)).context("could not remove a database that was half built")
}

/// Finishes what a crash between two renames left.
fn finish(home: &Home, opener: LockOwner) -> Result<()> {
    const MOMENT: usize = 200;
    let complete = || swap::complete(home);
    if opener == LockOwner::Worker {
        return complete();
    }
    // Whoever is at it at this moment must not be disturbed.
    for _ in 0..MOMENT {
        if !swap::is_pending(home) {
            return Ok(());
        }
        if !worker::is_running(home) {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    with_worker_stopped(home, complete)
}

/// Says whether every table can be read from end to end.
fn is_whole(home: &Home) -> Result<bool> {
    if was_emptied(home)? {
        return Ok(false);
    }
    let found = Store::open(&home.database(), &home.backups()).and_then(|store| store.check());
    match found {
        Ok(found) => Ok(found.is_empty()),
        Err(error) if error.is_damage() => Ok(false),
        Err(error) => Err(with_hint(error)),
    }
}

/// Says whether the database has lost all its bytes. SQLite would take the file for a new database; so it is, if it was
/// made just now.
fn was_emptied(home: &Home) -> Result<bool> {
    const JUST_NOW: Duration = Duration::from_secs(5);
    let file = match fs::metadata(home.database()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        other => other.context("could not look at the database")?,
    };
    let is_old = || {
        let age = file.modified().map(|at| clock::now().duration_since(at));
        // A time in the future is not just now either.
        age.is_ok_and(|age| age.is_err() || age.is_ok_and(|age| age > JUST_NOW))
    };
    // A log may hold everything: then SQLite decides.
    let has_log = || fs::metadata(with_suffix(&home.database(), "-wal")).is_ok_and(|log| log.len() > 0);
    Ok(file.len() == 0 && is_old() && !has_log() && !backups::list(home)?.is_empty())
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

/// Reads what became of damaged databases, the newest first.
pub fn receipts(home: &Home) -> io::Result<Vec<Rebuilt>> {
    let copies = backups::list(home)?.into_iter();
    let damaged = copies.filter(|copy| copy.reason == BackupKind::Damaged);
    let read = |copy: backups::BackupFile| {
        let text = fs::read_to_string(with_suffix(&copy.path, ".json")).ok()?;
        serde_json::from_str(&text).ok()
    };
    Ok(damaged.filter_map(read).collect())
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn remove_database(path: &Path) -> io::Result<()> {
    ["-wal", "-shm", ""]
        .iter()
        .try_for_each(|suffix| remove(&with_suffix(path, suffix)))
}

fn remove(path: &Path) -> io::Result<()> {
    match system::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
