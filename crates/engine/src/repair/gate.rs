//! Keeps those who take events in apart from whoever puts another database in place.
//!
//! An event that is committed after the database was read and before it is replaced would be in neither of both, and not in
//! the spool any more. So they share a lock on a file of its own, and whoever replaces has it alone. It is not `worker.lock`:
//! commands take events in beside a worker.

use std::{
    fs::{File, TryLockError},
    io, thread,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use backstory_capture::spool::Spool;

use crate::{atomic_file, home::Home};

/// How long a reader waits for its events: what is there can be shown without them.
const TIMEOUT: Duration = Duration::from_secs(5);

/// How long others may be at it before a replacement is given up.
const LONG: Duration = Duration::from_secs(60);

/// Holds the gate as long as it lives.
#[derive(Debug)]
pub struct SwapLock(#[expect(dead_code, reason = "held, not used")] File);

impl SwapLock {
    /// Goes through to take events in: nobody replaces the database meanwhile.
    pub fn shared(spool: &Spool) -> Result<Self> {
        let file = open(spool).context("could not open spool/taking.lock")?;
        match wait(|| file.try_lock_shared(), TIMEOUT).context("could not lock spool/taking.lock")? {
            true => Ok(Self(file)),
            false => bail!("another database is being put in place"),
        }
    }

    /// Closes it: nobody takes events in meanwhile, and what was taken in is committed.
    pub(super) fn exclusive(home: &Home) -> Result<Self> {
        let spool = home.spool();
        spool.create().context("could not create the spool")?;
        let file = open(&spool).context("could not open spool/taking.lock")?;
        match wait(|| file.try_lock(), LONG).context("could not lock spool/taking.lock")? {
            true => Ok(Self(file)),
            false => bail!("another process takes events in\nhint: try again in a while"),
        }
    }
}

fn open(spool: &Spool) -> io::Result<File> {
    atomic_file::lock_file(&spool.root().join("taking.lock"))
}

/// Tries until it has the lock, at most so long; says whether it has.
fn wait(attempt: impl Fn() -> Result<(), TryLockError>, most: Duration) -> io::Result<bool> {
    const POLL_INTERVAL: Duration = Duration::from_millis(10);
    for _ in 0..most.as_millis() / POLL_INTERVAL.as_millis() {
        match attempt() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) => thread::sleep(POLL_INTERVAL),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(false)
}
