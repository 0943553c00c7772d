//! Lock that a process holds until it exits, and that names its holder.

use std::{
    fs::{File, OpenOptions},
    io,
    path::Path,
};

use rustix::{
    fs::FlockOperation,
    io::Errno,
    process::{Flock, FlockType},
};

use crate::{Holder, OwnerOnly as _};

/// Holds the lock until it is dropped. Closing the file anywhere else in this process would release it.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "held, not used")] File);

impl Lock {
    /// Takes the lock; `None` if another process holds it.
    pub fn take(path: &Path) -> io::Result<Option<Self>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = options.private().open(path)?;
        match rustix::fs::fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Self(file))),
            Err(Errno::AGAIN | Errno::ACCESS) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// Returns the other process that holds the lock.
pub fn holder(path: &Path) -> Option<Holder> {
    let file = File::open(path).ok()?;
    let held = rustix::process::fcntl_getlk(&file, &Flock::from(FlockType::ReadLock)).ok()??;
    Some(Holder {
        pid: held.pid.map(|pid| pid.as_raw_nonzero().get().unsigned_abs()),
    })
}
