//! Lock that a process holds until it exits, and that names its holder.
//!
//! Locks one byte far beyond the end of the file: a locked range cannot be read by other processes, and they have to read
//! the holder's process id at its start.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::windows::io::AsRawHandle as _,
    path::Path,
    thread,
    time::Duration,
};

use windows_sys::Win32::{
    Foundation::ERROR_LOCK_VIOLATION,
    Storage::FileSystem::{LOCKFILE_EXCLUSIVE_LOCK, LOCKFILE_FAIL_IMMEDIATELY, LockFileEx},
    System::IO::OVERLAPPED,
};

use crate::Holder;

/// Holds the lock until it is dropped.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "held, not used")] File);

impl Lock {
    /// Takes the lock; `None` if another process holds it.
    pub fn take(path: &Path) -> io::Result<Option<Self>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = options.open(path)?;
        // A process that asks for the holder holds the lock for a moment.
        for _ in 0..5 {
            if try_lock(&file, LOCKFILE_EXCLUSIVE_LOCK)? {
                super::files::write_all_at(&file, format!("{:<10}", std::process::id()).as_bytes(), 0)?;
                return Ok(Some(Self(file)));
            }
            thread::sleep(Duration::from_millis(10));
        }
        Ok(None)
    }
}

/// Returns the other process that holds the lock.
pub fn holder(path: &Path) -> Option<Holder> {
    let file = OpenOptions::new().read(true).write(true).open(path).ok()?;
    // Shared: another process that asks at the same time is not a holder.
    match try_lock(&file, 0) {
        Ok(false) => Some(Holder {
            pid: fs::read_to_string(path)
                .ok()
                .and_then(|text| text.trim().parse().ok()),
        }),
        // Released when the file is closed.
        _ => None,
    }
}

fn try_lock(file: &File, kind: u32) -> io::Result<bool> {
    let mut place = OVERLAPPED::default();
    place.Anonymous.Anonymous.OffsetHigh = 1 << 30;
    let how = kind | LOCKFILE_FAIL_IMMEDIATELY;
    // SAFETY: the handle is open while `file` exists; the call is synchronous, so `place` may be dropped afterwards.
    if unsafe { LockFileEx(file.as_raw_handle(), how, 0, 1, 0, &raw mut place) } != 0 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error().map(i32::cast_unsigned) {
        Some(ERROR_LOCK_VIOLATION) => Ok(false),
        _ => Err(error),
    }
}
