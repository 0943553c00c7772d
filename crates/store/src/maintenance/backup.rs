//! Copies of the whole database: making one, checking one, and putting one in the place of what is there.
//!
//! A copy is finished under another name and checked before it gets its own: whoever finds a backup finds a whole one.

use std::{
    fs::{self, DirBuilder, OpenOptions},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use backstory_system::{self as system, OwnerOnly as _, sync_folder};
use rusqlite::{
    Connection, ErrorCode, OpenFlags,
    backup::{Backup, StepResult},
    params,
};

use crate::{
    Store, StoreError,
    schema::migrate::{self, MIGRATIONS},
    schema::open::{BusyTimeout, check_not_newer, connect, query},
};

/// What is added to the name of a copy that is not finished.
pub const UNFINISHED: &str = ".part";

/// Which file is open: the path may come to lead to another.
#[derive(Debug)]
pub(crate) struct DbFile {
    pub(crate) path: PathBuf,
    file: Option<(u64, u64)>,
}

impl DbFile {
    pub(crate) fn of(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            file: identity(path),
        }
    }

    pub(crate) fn is_in_place(&self) -> bool {
        identity(&self.path) == self.file
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    backstory_system::identity(path).ok()
}

impl StoreError {
    /// Says whether the database file itself is damaged, or no database at all.
    pub fn is_damage(&self) -> bool {
        let is_said = matches!(
            self.code(),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
        );
        is_said || matches!(self, Self::Damaged { .. })
    }

    /// Says whether another process kept the database locked for longer than anybody waits.
    pub fn is_locked(&self) -> bool {
        matches!(
            self.code(),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
        )
    }

    /// What SQLite calls it.
    fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Open { source, .. } | Self::Backup { source, .. } | Self::Query { source, .. } => {
                source.sqlite_error_code()
            }
            Self::Migrate(source) => source.sqlite_error_code(),
            _ => None,
        }
    }
}

impl Store {
    /// Copies the database as it is at this moment, while others go on reading and writing. The copy belongs to its owner
    /// alone, is one file, and was checked from end to end; a file of that name is replaced. Returns its size in bytes.
    pub fn back_up(&self, to: &Path) -> Result<u64, StoreError> {
        back_up(&self.connection, to)
    }

    /// Puts what another store holds in the place of everything here. Whoever has this database open sees it as one change;
    /// a crash leaves what was there before.
    pub fn overwrite_with(&mut self, other: &Self) -> Result<(), StoreError> {
        let attempt = query("put the backup in place");
        copy_pages(&other.connection, &mut self.connection).map_err(attempt)?;
        // The log holds the whole database now.
        self.connection
            .query_row("pragma wal_checkpoint(truncate)", [], |_| Ok(()))
            .map_err(attempt)
    }

    /// Returns the last number that was given to each kind of memory.
    pub fn sequence_values(&self) -> Result<Vec<(String, i64)>, StoreError> {
        let attempt = query("read the last numbers of memories");
        let mut statement = self
            .connection
            .prepare("select name, seq from sqlite_sequence")
            .map_err(attempt)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        rows.and_then(Iterator::collect).map_err(attempt)
    }

    /// Gives no memory a number up to these: a handle that somebody noted must not come to mean something else.
    pub fn advance_sequences(&mut self, last: &[(String, i64)]) -> Result<(), StoreError> {
        const RAISE: &str = "update sqlite_sequence set seq = max(seq, ?2) where name = ?1";
        const ADD: &str = "insert into sqlite_sequence select ?1, ?2
            where not exists (select 1 from sqlite_sequence where name = ?1)
                and exists (select 1 from sqlite_schema where name = ?1)";
        let attempt = query("skip the numbers of memories");
        for (name, number) in last {
            for sql in [RAISE, ADD] {
                self.connection
                    .execute(sql, params![name, number])
                    .map_err(attempt)?;
            }
        }
        Ok(())
    }

    /// Says whether the file that is open is still the one at its path: somebody may have deleted or replaced it.
    pub fn is_in_place(&self) -> bool {
        self.place.is_in_place()
    }

    /// Fails when a newer version has changed the schema since the database was opened.
    pub fn check_schema(&self) -> Result<(), StoreError> {
        check_not_newer(&self.connection, &self.place.path, migrate::target(&MIGRATIONS)).map(drop)
    }

    /// Gives pages that are free for good back to the file system, when they are a quarter of the file and worth the while.
    /// Returns how many bytes that was. In small steps: whoever else writes gets its turn in between.
    pub fn vacuum(&self) -> Result<u64, StoreError> {
        const SIZES: &str = "select page_size, page_count, freelist_count
            from pragma_page_size(), pragma_page_count(), pragma_freelist_count()";
        const WORTH_IT: u64 = 32 << 20;
        const STEP: &str = "pragma incremental_vacuum(2000)";
        let attempt = query("give free space back");
        let sizes = || -> rusqlite::Result<(u64, u64, u64)> {
            let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
            self.connection.query_row(SIZES, [], read)
        };
        let (page, pages, free) = sizes().map_err(attempt)?;
        if free * 4 < pages || free * page < WORTH_IT {
            return Ok(0);
        }
        let mut left = free;
        loop {
            let step = || -> rusqlite::Result<u64> {
                let mut vacuum = self.connection.prepare(STEP)?;
                let mut rows = vacuum.query([])?;
                while rows.next()?.is_some() {}
                Ok(sizes()?.2)
            };
            let now = step().map_err(attempt)?;
            // Nothing moves any more, or others free pages as fast as they go.
            if now == 0 || now >= left {
                return Ok((free - now.min(free)) * page);
            }
            left = now;
        }
    }
}

/// Checks that a file is a whole database of ours that this version can use; changes nothing.
pub fn check_backup(path: &Path) -> Result<(), StoreError> {
    let store = Store::open_backup(path)?;
    match store.quick_check()?.into_iter().next() {
        Some(found) => Err(StoreError::Damaged {
            path: path.to_owned(),
            found,
        }),
        None => Ok(()),
    }
}

impl Store {
    /// Opens a copy to read only, of this schema or an older one.
    fn open_backup(path: &Path) -> Result<Self, StoreError> {
        let attempt = |source| StoreError::Open {
            path: path.to_owned(),
            source,
        };
        if !path.exists() {
            return Err(StoreError::Missing(path.to_owned()));
        }
        let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY, BusyTimeout::Command)?;
        let found = migrate::version(&connection).map_err(attempt)?;
        let known = migrate::target(&MIGRATIONS);
        let is_ours = connection
            .prepare("select 1 from sqlite_schema where name = 'observation'")
            .and_then(|mut ours| ours.exists([]))
            .map_err(attempt)?;
        match found {
            _ if found > known => Err(StoreError::Newer {
                path: path.to_owned(),
                found,
                known,
            }),
            1.. if is_ours => Ok(Self::of(connection, path)),
            _ => Err(StoreError::Damaged {
                path: path.to_owned(),
                found: "no database of backstory".to_owned(),
            }),
        }
    }

    /// Makes a new database from a copy, brought up to this schema; what stood at `path` is replaced.
    pub fn from_backup(copy: &Path, path: &Path, backups: &Path) -> Result<Self, StoreError> {
        Self::open_backup(copy)?.back_up(path)?;
        let store = Self::open(path, backups)?;
        let wal = store.connection.pragma_update(None, "journal_mode", "wal");
        wal.map_err(query("prepare the database"))?;
        Ok(store)
    }

    /// Closes the database as one file, without a log beside it.
    pub fn close(self) -> Result<(), StoreError> {
        let attempt = query("close the database");
        let is_busy: bool = self
            .connection
            .query_row("pragma wal_checkpoint(truncate)", [], |row| row.get(0))
            .map_err(attempt)?;
        if is_busy {
            return Err(attempt(busy()));
        }
        self.connection.close().map_err(|(_, error)| attempt(error))
    }

    /// Looks for damage in the tables, not in what can be made anew from them; far quicker than [`Store::check`].
    pub fn quick_check(&self) -> Result<Vec<String>, StoreError> {
        self.look_for_damage("pragma quick_check(5)")
    }
}

/// See [`Store::back_up`].
pub(crate) fn back_up(connection: &Connection, to: &Path) -> Result<u64, StoreError> {
    let unfinished = unfinished(to);
    let result = write(connection, &unfinished).and_then(|()| {
        let size = fs::metadata(&unfinished).map(|file| file.len());
        size.and_then(|size| {
            system::rename(&unfinished, to)?;
            // The new name is on the disk too, before an older copy goes.
            sync_folder(to.parent().unwrap_or(to))?;
            Ok(size)
        })
        .map_err(create_error(to))
    });
    if result.is_err() {
        // Half a copy helps nobody. One that a killed process left is overwritten by the next.
        system::remove_file(&unfinished).ok();
    }
    result
}

fn write(connection: &Connection, unfinished: &Path) -> Result<(), StoreError> {
    let failed = |source| StoreError::Backup {
        path: unfinished.to_owned(),
        source,
    };
    if let Some(folder) = unfinished.parent() {
        let mut private = DirBuilder::new();
        private
            .recursive(true)
            .private()
            .create(folder)
            .map_err(create_error(folder))?;
    }
    let mut options = OpenOptions::new();
    options
        .write(true)
        .create(true)
        .truncate(true)
        .private()
        .open(unfinished)
        .map_err(create_error(unfinished))?;
    let mut copy = connect(
        unfinished,
        OpenFlags::SQLITE_OPEN_READ_WRITE,
        BusyTimeout::Command,
    )?;
    copy_pages(connection, &mut copy).map_err(failed)?;
    // One file, whole by itself.
    copy.pragma_update(None, "journal_mode", "delete")
        .map_err(failed)?;
    let found = Store::of(copy, unfinished).quick_check()?;
    match found.into_iter().next() {
        Some(found) => Err(StoreError::Damaged {
            path: unfinished.to_owned(),
            found,
        }),
        None => Ok(()),
    }
}

/// Copies all pages of one moment.
fn copy_pages(from: &Connection, to: &mut Connection) -> rusqlite::Result<()> {
    const BATCH_SIZE: std::ffi::c_int = 4_096;
    const PAUSE: Duration = Duration::from_millis(20);
    const MAX_PAUSES: usize = 500;
    // Held to the end: with others writing in between, the copy would begin again and again.
    let moment = from.unchecked_transaction()?;
    moment.query_row("select count(*) from sqlite_schema", [], |_| Ok(()))?;
    let backup = Backup::new(from, to)?;
    let mut pauses = 0;
    loop {
        match backup.step(BATCH_SIZE)? {
            StepResult::Done => return Ok(()),
            StepResult::More => {}
            // Somebody reads or writes at the place that is copied to.
            _ if pauses < MAX_PAUSES => {
                pauses += 1;
                std::thread::sleep(PAUSE);
            }
            _ => return Err(busy()),
        }
    }
}

fn busy() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY), None)
}

fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(UNFINISHED);
    path.with_file_name(name)
}

fn create_error(path: &Path) -> impl Fn(io::Error) -> StoreError {
    |source| StoreError::Create {
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_space_goes_back_when_it_is_worth_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b.db");
        let store = Store::open(&path, folder.path()).unwrap();
        let fill = "insert into project values (1, 'k', 'n', '/', 0);
            with recursive n (i) as (select 1 union all select i + 1 from n where i < 12000)
            insert into passage (project_id, kind, text, created_at) select 1, 'prose', hex(zeroblob(2000)), i from n";
        store.connection.execute_batch(fill).unwrap();
        assert_eq!(store.vacuum().unwrap(), 0, "nothing is free");
        let size = |store: &Store| -> u64 {
            let sql = "select page_count * page_size from pragma_page_count(), pragma_page_size()";
            store.connection.query_row(sql, [], |row| row.get(0)).unwrap()
        };
        let full = size(&store);
        store
            .connection
            .execute("delete from passage where id > 1200", [])
            .unwrap();
        assert_eq!(size(&store), full);
        let given = store.vacuum().unwrap();
        assert!(given > full / 2, "{given} of {full}");
        assert!(size(&store) <= full - given);
        assert_eq!(store.check().unwrap(), [""; 0]);
        store.connection.execute("delete from passage", []).unwrap();
        assert_eq!(store.vacuum().unwrap(), 0, "too little to bother");
    }

    #[test]
    fn a_copy_of_something_else_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("other.db");
        assert!(matches!(check_backup(&path), Err(StoreError::Missing(_))));
        let other = Connection::open(&path).unwrap();
        other
            .execute_batch("create table x (y); pragma user_version = 1")
            .unwrap();
        assert!(matches!(check_backup(&path), Err(StoreError::Damaged { .. })));
        other.pragma_update(None, "user_version", 99).unwrap();
        assert!(matches!(check_backup(&path), Err(StoreError::Newer { .. })));
    }
}
