//! Reads the database without locks while no process writes to it.
//!
//! Half the cost of opening the database at a session start is locking and the shared-memory file. Both are skipped while
//! the write-ahead log is empty. A concurrent write then shows as a changed file, and the read is repeated with locks.

use std::{mem::ManuallyDrop, path::Path, time::SystemTime};

use super::connect::{BusyTimeout, connect_immutable, wal_path};
use crate::{Store, StoreError};

impl Store {
    /// Opens the database for one short read. A write of another process at the same moment can make the read fail or see
    /// parts of both states; callers must tolerate that.
    pub fn open_immutable(path: &Path) -> Result<Self, StoreError> {
        if WalEmpty::now(path).is_none() {
            return Self::open_read_only(path, BusyTimeout::Hook);
        }
        Self::of_this_schema(connect_immutable(path)?, path)
    }

    /// Reads from one state of the database, without locks if no process writes. If that changed meanwhile, `read` runs
    /// again with locks. Leaves the store open, because closing takes time: only for a process that exits right after.
    pub fn read_snapshot<T>(
        path: &Path,
        read: impl Fn(&Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let before = WalEmpty::now(path);
        if before.is_some() {
            let store = connect_immutable(path).and_then(|connection| Self::of_this_schema(connection, path));
            let result = store.and_then(|store| store.read_and_leak(&read));
            if WalEmpty::now(path) == before {
                return result;
            }
        }
        let store = Self::open_read_only(path, BusyTimeout::Hook)?;
        // Only with locks: without them the file may become shorter while it is mapped.
        store.map_pages()?;
        store.read_and_leak(&read)
    }

    fn read_and_leak<T>(self, read: impl Fn(&Self) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let store = ManuallyDrop::new(self);
        store.read_transaction(|| read(&store))
    }
}

/// The state of a database whose write-ahead log is empty.
#[derive(PartialEq, Eq)]
struct WalEmpty {
    modified: SystemTime,
    bytes: u64,
}

impl WalEmpty {
    /// Returns the state; `None` if there is no database or its log is not empty.
    fn now(path: &Path) -> Option<Self> {
        let is_empty = wal_path(path).metadata().map_or(true, |wal| wal.len() == 0);
        let file = path.metadata().ok().filter(|_| is_empty)?;
        Some(Self {
            modified: file.modified().ok()?,
            bytes: file.len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use backstory_model::NoteAuthor;

    use super::*;
    use crate::{NewNote, Store, testing::at};

    #[test]
    fn an_immutable_read_sees_the_log_and_creates_no_file() {
        let folder = tempfile::tempdir().unwrap();
        // Characters with a meaning in a URI.
        let name = if cfg!(unix) { "a?b#c%20.db" } else { "b#c%20.db" };
        let path = folder.path().join(name);
        assert!(matches!(
            Store::open_immutable(&path),
            Err(StoreError::Missing(_))
        ));
        let facts = crate::testing::project();
        let note = |text| NewNote {
            text,
            project: Some(&facts),
            kind: None,
            files: &[],
            pinned: false,
            author: NoteAuthor::User,
        };
        let count = || {
            Store::open_immutable(&path)
                .unwrap()
                .count_memories(&facts.key, 9)
                .unwrap()
        };
        let mut store = Store::open(&path, folder.path()).unwrap();
        store.remember(&note("one"), at(1)).unwrap();
        assert_eq!(count(), 1, "from the log");
        store.close().unwrap();
        assert_eq!(count(), 1, "from the file");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_snapshot_is_read_again_after_a_concurrent_write() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b.db");
        let facts = crate::testing::project();
        let note = NewNote {
            text: "one",
            project: Some(&facts),
            kind: None,
            files: &[],
            pinned: false,
            author: NoteAuthor::User,
        };
        Store::open(&path, folder.path()).unwrap().close().unwrap();
        let reads = std::cell::Cell::new(0);
        let count = |write: bool| {
            reads.set(0);
            let found = Store::read_snapshot(&path, |store| {
                reads.set(reads.get() + 1);
                if write && reads.get() == 1 {
                    // Closed at once: the log is empty again, and the file has changed.
                    let mut other = Store::open(&path, folder.path())?;
                    other.remember(&note, at(1))?;
                    other.close()?;
                }
                store.count_memories(&facts.key, 9)
            });
            (found.unwrap(), reads.get())
        };
        assert_eq!(count(false), (0, 1));
        assert_eq!(count(true), (1, 2));
        assert_eq!(count(false), (1, 1));
    }
}
