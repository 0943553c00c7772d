//! Lock between ingest and the replacement of the database.
//!
//! An event that is committed after the old database was read and before the new one is in place would be lost: it is in
//! neither database and no longer in the spool. Therefore ingest holds a shared lock on `spool/taking.lock`, and a replacement
//! holds it exclusively. `worker.lock` does not serve this purpose because commands ingest while a worker runs.

use std::{
    fs::{File, TryLockError},
    io, thread,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use backstory_capture::spool::Spool;

use crate::{atomic_file, error::HintedError, home::Home};

/// Time that an ingest waits for a replacement. Commands can show what is stored without the spooled events.
const SHARED_TIMEOUT: Duration = Duration::from_secs(5);

/// Time that a replacement waits for running ingests.
const EXCLUSIVE_TIMEOUT: Duration = Duration::from_secs(60);

/// Holds the lock until it is dropped.
#[derive(Debug)]
pub(crate) struct SwapLock(#[expect(dead_code, reason = "held, not used")] File);

impl SwapLock {
    /// Takes the lock for an ingest: the database is not replaced meanwhile.
    pub(crate) fn shared(spool: &Spool) -> Result<Self> {
        let file = open(spool).context("could not open spool/taking.lock")?;
        let locked = wait(|| file.try_lock_shared(), SHARED_TIMEOUT);
        if locked.context("could not lock spool/taking.lock")? {
            Ok(Self(file))
        } else {
            bail!("the database is being replaced")
        }
    }

    /// Takes the lock for a replacement: no process ingests meanwhile, and earlier ingests are committed.
    pub(crate) fn exclusive(home: &Home) -> Result<Self> {
        let spool = home.spool();
        spool.create().context("could not create the spool")?;
        let file = open(&spool).context("could not open spool/taking.lock")?;
        let locked = wait(|| file.try_lock(), EXCLUSIVE_TIMEOUT);
        if locked.context("could not lock spool/taking.lock")? {
            Ok(Self(file))
        } else {
            bail!(HintedError::new("another process ingests events").hint("try again later"))
        }
    }
}

fn open(spool: &Spool) -> io::Result<File> {
    atomic_file::lock_file(&spool.root().join("taking.lock"))
}

/// Retries until the lock is taken. Returns `false` on timeout.
fn wait(attempt: impl Fn() -> Result<(), TryLockError>, timeout: Duration) -> io::Result<bool> {
    const POLL_INTERVAL: Duration = Duration::from_millis(10);
    for _ in 0..timeout.as_millis() / POLL_INTERVAL.as_millis() {
        match attempt() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) => thread::sleep(POLL_INTERVAL),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(false)
}
