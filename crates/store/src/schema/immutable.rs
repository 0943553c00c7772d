//! Reads a database that does not change meanwhile: no locks, and no file is made beside it.

use std::{
    mem::ManuallyDrop,
    path::{Path, PathBuf},
    time::SystemTime,
};

use backstory_model::has_drive;
use rusqlite::{Connection, OpenFlags};

use crate::{
    Store, StoreError,
    schema::open::{BusyTimeout, connect},
};

impl Store {
    /// Opens the database for one quick look. While its log is empty it is read as a file that cannot change, which takes half
    /// the time; should somebody write at that very moment, the look may fail or see a little of both states.
    pub fn open_immutable(path: &Path) -> Result<Self, StoreError> {
        if WalEmpty::now(path).is_none() {
            return Self::open_read_only(path, BusyTimeout::Hook);
        }
        let connection = connect_unchanging(path)?;
        Self::of_this_schema(connection, path)
    }

    /// Reads something in one state of the store, by a glance when nobody writes: should that have changed meanwhile, it is
    /// read again as others read. For a process that ends in a moment: the store stays open, because closing takes time.
    pub fn read_snapshot<T>(
        path: &Path,
        read: impl Fn(&Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let before = WalEmpty::now(path);
        if before.is_some() {
            let glance =
                connect_unchanging(path).and_then(|connection| Self::of_this_schema(connection, path));
            let found = glance.and_then(|store| store.left_open(&read));
            if WalEmpty::now(path) == before {
                return found;
            }
        }
        let store = Self::open_read_only(path, BusyTimeout::Hook)?;
        // Not for a glance: only with locks it is certain that the file does not get shorter under the map.
        store.map_pages()?;
        store.left_open(&read)
    }

    fn left_open<T>(self, read: impl Fn(&Self) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let store = ManuallyDrop::new(self);
        store.read_transaction(|| read(&store))
    }
}

/// A database whose log is empty, and when it was last written to.
#[derive(PartialEq, Eq)]
struct WalEmpty {
    modified: SystemTime,
    bytes: u64,
}

impl WalEmpty {
    /// Looks whether a database is there and its log is empty.
    fn now(path: &Path) -> Option<Self> {
        let is_empty = log(path).metadata().map_or(true, |log| log.len() == 0);
        let file = path.metadata().ok().filter(|_| is_empty)?;
        Some(Self {
            modified: file.modified().ok()?,
            bytes: file.len(),
        })
    }
}

/// Returns where the write-ahead log of a database is.
pub(crate) fn log(path: &Path) -> PathBuf {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    log.into()
}

/// Opens a file as one that nobody changes.
pub(crate) fn connect_unchanging(path: &Path) -> Result<Connection, StoreError> {
    // The address of a file: what has a meaning in one is spelt out.
    let path = path.to_string_lossy();
    let is_on_drive = has_drive(&path);
    let mut address = if is_on_drive { "file:///" } else { "file:" }.to_owned();
    for c in path.chars() {
        match c {
            '\\' if is_on_drive => address.push('/'),
            '%' | '?' | '#' => address.push_str(&format!("%{:02x}", u32::from(c))),
            c => address.push(c),
        }
    }
    address.push_str("?immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    connect(Path::new(&address), flags, BusyTimeout::Command)
}

#[cfg(test)]
mod tests {
    use backstory_model::NoteAuthor;

    use super::*;
    use crate::{NewNote, Store, testing::at};

    #[test]
    fn a_glance_sees_the_log_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        // What has a meaning in an address.
        let name = if cfg!(unix) { "a?b#c%20.db" } else { "b#c%20.db" };
        let path = folder.path().join(name);
        assert!(matches!(
            Store::open_immutable(&path),
            Err(StoreError::Missing(_))
        ));
        let facts = (crate::testing::SENSES.locate)("p");
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
    fn a_look_that_somebody_wrote_into_is_taken_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b.db");
        let facts = (crate::testing::SENSES.locate)("p");
        let note = NewNote {
            text: "one",
            project: Some(&facts),
            kind: None,
            files: &[],
            pinned: false,
            author: NoteAuthor::User,
        };
        Store::open(&path, folder.path()).unwrap().close().unwrap();
        let looks = std::cell::Cell::new(0);
        let count = |write: bool| {
            looks.set(0);
            let found = Store::read_snapshot(&path, |store| {
                looks.set(looks.get() + 1);
                if write && looks.get() == 1 {
                    // Closed at once: the log is empty again, and the file is another.
                    let mut other = Store::open(&path, folder.path())?;
                    other.remember(&note, at(1))?;
                    other.close()?;
                }
                store.count_memories(&facts.key, 9)
            });
            (found.unwrap(), looks.get())
        };
        assert_eq!(count(false), (0, 1));
        assert_eq!(count(true), (1, 2));
        assert_eq!(count(false), (1, 1));
    }
}
