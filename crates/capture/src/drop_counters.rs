//! Counts the events that were not recorded, by reason, for `backstory doctor`.
//!
//! One small file of fixed size, written in place: counting a dropped event must work when the disk is full.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
    path::PathBuf,
    thread,
    time::Duration,
};

use backstory_system::{OwnerOnly as _, read_exact_at, write_all_at};

use crate::spool::Spool;

/// The reason for which an event was not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// The spool could not be written.
    Dropped,
    /// The event has a name that this version does not know.
    UnknownEvent,
    /// The payload is not a JSON object.
    Unreadable,
    /// The payload has no session id.
    NoSession,
    /// A spooled file was truncated by a power cut.
    Torn,
}

impl DropReason {
    /// All reasons, in the order in which they are shown.
    pub const ALL: [Self; 5] = [
        Self::Dropped,
        Self::UnknownEvent,
        Self::Unreadable,
        Self::NoSession,
        Self::Torn,
    ];

    /// Returns the name used in the file and in `--json`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dropped => "dropped",
            Self::UnknownEvent => "unknown_event",
            Self::Unreadable => "unreadable",
            Self::NoSession => "no_session",
            Self::Torn => "torn",
        }
    }
}

/// The length of a line: name, blanks, number, line break.
const WIDTH: usize = 32;

/// Creates the file with all counts at zero. It must be there before the disk has no space, or no inode, for it.
pub fn create(spool: &Spool) -> io::Result<()> {
    let file = open(spool)?;
    lock(&file)?;
    if read_file(&file)?.is_none() {
        write_zeros(&file)?;
    }
    Ok(())
}

/// Adds one. Fails if other processes hold the file for 50 ms: a count is not worth delaying an agent.
pub fn add(spool: &Spool, loss: DropReason) -> io::Result<()> {
    let file = open(spool)?;
    lock(&file)?;
    let counts = read_file(&file)?;
    if counts.is_none() {
        write_zeros(&file)?;
    }
    let index = DropReason::ALL
        .iter()
        .position(|&one| one == loss)
        .unwrap_or_default();
    let count = counts.map_or(0, |counts| counts[index].1) + 1;
    write_all_at(&file, line(loss, count).as_bytes(), (index * WIDTH) as u64)
}

fn open(spool: &Spool) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .private()
        .open(path(spool))
}

fn write_zeros(file: &File) -> io::Result<()> {
    let text: String = DropReason::ALL.iter().map(|&one| line(one, 0)).collect();
    write_all_at(file, text.as_bytes(), 0)
}

fn line(loss: DropReason, count: u64) -> String {
    format!("{:<16}{count:>15}\n", loss.name())
}

/// Reads all counts.
pub fn read(spool: &Spool) -> io::Result<Vec<(DropReason, u64)>> {
    let none = || DropReason::ALL.map(|loss| (loss, 0)).to_vec();
    match File::open(path(spool)) {
        Ok(file) => Ok(read_file(&file)?.unwrap_or_else(none)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(none()),
        Err(error) => Err(error),
    }
}

fn path(spool: &Spool) -> PathBuf {
    spool.root().join("counts")
}

fn lock(file: &File) -> io::Result<()> {
    for _ in 0..10 {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(5)),
            other => return Ok(other?),
        }
    }
    Err(io::ErrorKind::WouldBlock.into())
}

/// Returns `None` for a file that is new or shorter than it should be.
fn read_file(file: &File) -> io::Result<Option<Vec<(DropReason, u64)>>> {
    let mut bytes = [0; WIDTH * DropReason::ALL.len()];
    match read_exact_at(file, &mut bytes, 0) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let count = |line: &[u8]| {
        std::str::from_utf8(&line[16..31])
            .ok()
            .and_then(|text| text.trim().parse().ok())
    };
    let counts = bytes
        .chunks(WIDTH)
        .zip(DropReason::ALL)
        .map(|(line, loss)| (loss, count(line).unwrap_or(0)));
    Ok(Some(counts.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn concurrent_processes_lose_no_count() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::new(folder.path().to_owned());
        assert!(read(&spool).unwrap().iter().all(|&(_, count)| count == 0));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for loss in [DropReason::Dropped, DropReason::Torn, DropReason::Torn].repeat(10) {
                        while add(&spool, loss).is_err() {}
                    }
                });
            }
        });
        let counts = read(&spool).unwrap();
        assert_eq!(counts[0], (DropReason::Dropped, 40));
        assert_eq!(counts[4], (DropReason::Torn, 80));
        assert_eq!(std::fs::metadata(path(&spool)).unwrap().len(), (WIDTH * 5) as u64);
    }
}
