//! Backups: making one, checking one, and replacing the database with one. Also frees unused space.

use std::path::Path;

use rusqlite::{OpenFlags, params};

use crate::{
    Store, StoreError,
    schema::{
        connect::{BusyTimeout, connect, open_error},
        copy::{back_up, busy_error, copy_pages, quick_check},
        migrate::{self, MIGRATIONS},
    },
    sql::Statements as _,
};

impl Store {
    /// Copies the database as it is now, while other processes read and write. The copy is one file that only its owner can
    /// read, it was checked, and it replaces a file of that name. Returns its size in bytes.
    pub fn back_up(&self, to: &Path) -> Result<u64, StoreError> {
        back_up(&self.connection, to)
    }

    /// Replaces the content of this database by that of another. Other processes see one change; a crash leaves the old
    /// content.
    pub fn overwrite_with(&mut self, other: &Self) -> Result<(), StoreError> {
        const EMPTY_WAL: &str = "pragma wal_checkpoint(truncate)";
        let mut run = || {
            copy_pages(&other.connection, &mut self.connection)?;
            // The log holds the whole database now.
            self.connection.query_row(EMPTY_WAL, [], |_| Ok(()))
        };
        run().map_err(|source| StoreError::Query {
            attempt: "replace the database",
            source,
        })
    }

    /// Returns the last id of each kind of memory.
    pub fn sequence_values(&self) -> Result<Vec<(String, i64)>, StoreError> {
        self.read("read the last ids of memories", |connection| {
            connection.rows("select name, seq from sqlite_sequence", [], |row| {
                Ok((row.get("name")?, row.get("seq")?))
            })
        })
    }

    /// Skips the ids up to these: a handle that a user noted must not come to identify another memory.
    pub fn advance_sequences(&mut self, last: &[(String, i64)]) -> Result<(), StoreError> {
        const RAISE: &str = "update sqlite_sequence set seq = max(seq, ?2) where name = ?1";
        const ADD: &str = "insert into sqlite_sequence select ?1, ?2
            where not exists (select 1 from sqlite_sequence where name = ?1)
                and exists (select 1 from sqlite_schema where name = ?1)";
        self.write("skip the ids of memories", |tx| {
            for (name, id) in last {
                for sql in [RAISE, ADD] {
                    tx.run(sql, params![name, id])?;
                }
            }
            Ok(())
        })
    }

    /// Returns unused pages to the file system if they are a quarter of the file and at least 32 MB. Returns the number of
    /// bytes. Works in small steps, so that other writers get their turn.
    pub fn vacuum(&self) -> Result<u64, StoreError> {
        const SIZES: &str = "select page_size, page_count, freelist_count
            from pragma_page_size(), pragma_page_count(), pragma_freelist_count()";
        const MIN_BYTES: u64 = 32 << 20;
        const STEP: &str = "pragma incremental_vacuum(2000)";
        self.read("free unused space", |connection| {
            let sizes = || connection.query_row(SIZES, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
            let (page, pages, free): (u64, u64, u64) = sizes()?;
            if free * 4 < pages || free * page < MIN_BYTES {
                return Ok(0);
            }
            let mut left = free;
            loop {
                let mut vacuum = connection.prepare(STEP)?;
                let mut rows = vacuum.query([])?;
                while rows.next()?.is_some() {}
                let (.., now) = sizes()?;
                // No progress, or others free pages as fast as this loop returns them.
                if now == 0 || now >= left {
                    return Ok((free - now.min(free)) * page);
                }
                left = now;
            }
        })
    }

    /// Creates a database from a copy and migrates it; replaces a file at `path`.
    pub fn from_backup(copy: &Path, path: &Path, backups: &Path) -> Result<Self, StoreError> {
        Self::open_backup(copy)?.back_up(path)?;
        let store = Self::open(path, backups)?;
        store.read("prepare the database", |connection| {
            connection.pragma_update(None, "journal_mode", "wal")
        })?;
        Ok(store)
    }

    /// Opens a copy read-only, of this schema or an older one.
    fn open_backup(path: &Path) -> Result<Self, StoreError> {
        const IS_OURS: &str = "select 1 from sqlite_schema where name = 'observation'";
        if !path.exists() {
            return Err(StoreError::Missing(path.to_owned()));
        }
        let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY, BusyTimeout::Command)?;
        let found = migrate::version(&connection).map_err(open_error(path))?;
        let is_ours = connection.has_row(IS_OURS, []).map_err(open_error(path))?;
        let known = migrate::target(&MIGRATIONS);
        match found {
            _ if found > known => Err(StoreError::Newer {
                path: path.to_owned(),
                found,
                known,
            }),
            1.. if is_ours => Ok(Self::new(connection, path)),
            _ => Err(StoreError::Damaged {
                path: path.to_owned(),
                found: "no database of backstory".to_owned(),
            }),
        }
    }

    /// Closes the database as one file, without a log beside it.
    pub fn close(self) -> Result<(), StoreError> {
        let attempt = |source| StoreError::Query {
            attempt: "close the database",
            source,
        };
        let is_busy: bool = self
            .connection
            .query_row("pragma wal_checkpoint(truncate)", [], |row| row.get(0))
            .map_err(attempt)?;
        if is_busy {
            return Err(attempt(busy_error()));
        }
        self.connection.close().map_err(|(_, error)| attempt(error))
    }

    /// Looks for damage in the tables, not in the indexes; returns the findings. Far quicker than [`Store::check`].
    pub fn quick_check(&self) -> Result<Vec<String>, StoreError> {
        self.read("check the database", quick_check)
    }
}

/// Checks that a file is a sound database of backstory that this version can use. Changes nothing.
pub fn check_backup(path: &Path) -> Result<(), StoreError> {
    match Store::open_backup(path)?.quick_check()?.into_iter().next() {
        Some(found) => Err(StoreError::Damaged {
            path: path.to_owned(),
            found,
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    #[test]
    fn vacuum_runs_only_if_enough_is_free() {
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
        let freed = store.vacuum().unwrap();
        assert!(freed > full / 2, "{freed} of {full}");
        assert!(size(&store) <= full - freed);
        assert_eq!(store.check().unwrap(), [""; 0]);
        store.connection.execute("delete from passage", []).unwrap();
        assert_eq!(store.vacuum().unwrap(), 0, "too little is free");
    }

    #[test]
    fn a_backup_of_another_program_is_refused() {
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
