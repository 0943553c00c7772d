//! Opens the database: creates it, migrates it, or refuses it.

use std::{fs::OpenOptions, io, path::Path};

use backstory_system::{OwnerOnly as _, can_write};
use rusqlite::{Connection, OpenFlags};

use super::{
    connect::{BusyTimeout, connect, connect_immutable, open_error, wal_path},
    copy::{back_up, check},
    migrate::{self, MIGRATIONS},
};
use crate::{Store, StoreError};

impl Store {
    /// Opens the database for reading and writing; creates or migrates it if necessary. Before a migration, a copy of the
    /// database goes into `backups`.
    pub fn open(path: &Path, backups: &Path) -> Result<Self, StoreError> {
        Self::open_with(path, backups, &MIGRATIONS)
    }

    fn open_with(path: &Path, backups: &Path, migrations: &[&str]) -> Result<Self, StoreError> {
        create_private(path)?;
        let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE, BusyTimeout::Command)?;
        let target = migrate::target(migrations);
        let found = check_not_newer(&connection, path, target)?;
        if found < target {
            if found > 0 {
                back_up(&connection, &backups.join(format!("before-schema-{target}.db")))?;
            }
            set_permanent_options(&connection).map_err(StoreError::Migrate)?;
            migrate::migrate(&mut connection, migrations).map_err(StoreError::Migrate)?;
        }
        set_connection_options(&connection).map_err(open_error(path))?;
        Ok(Self::new(connection, path))
    }

    /// Opens an empty database that exists only as long as this value, for memories that are ranked and not kept.
    pub fn in_memory() -> Result<Self, StoreError> {
        let path = Path::new(":memory:");
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let mut connection = connect(path, flags, BusyTimeout::Command)?;
        migrate::migrate(&mut connection, &MIGRATIONS).map_err(StoreError::Migrate)?;
        set_connection_options(&connection).map_err(open_error(path))?;
        Ok(Self::new(connection, path))
    }

    /// Opens the database read-only. Works while other processes write, and never creates or changes anything.
    pub fn open_read_only(path: &Path, timeout: BusyTimeout) -> Result<Self, StoreError> {
        if !path.exists() {
            return Err(StoreError::Missing(path.to_owned()));
        }
        let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY, timeout)?;
        match Self::of_this_schema(connection, path) {
            // SQLite cannot create its lock files on a read-only disk. There, no other process writes.
            Err(error) if error.is_unopenable() && is_on_read_only_disk(path) => {
                Self::of_this_schema(connect_immutable(path)?, path)
            }
            other => other,
        }
    }

    /// Wraps a read-only connection; fails if the schema is older or newer.
    pub(super) fn of_this_schema(connection: Connection, path: &Path) -> Result<Self, StoreError> {
        let target = migrate::target(&MIGRATIONS);
        let found = check_not_newer(&connection, path, target)?;
        if found < target {
            return Err(StoreError::Older {
                path: path.to_owned(),
                found,
            });
        }
        Ok(Self::new(connection, path))
    }

    /// Fails if a newer version has migrated the database since it was opened.
    pub fn check_schema(&self) -> Result<(), StoreError> {
        check_not_newer(&self.connection, &self.file.path, migrate::target(&MIGRATIONS)).map(drop)
    }

    /// Prepares for bulk work: commits are flushed at the next checkpoint, so a power cut can lose the last of them, and the
    /// page cache is larger.
    pub fn set_bulk_mode(&self) -> Result<(), StoreError> {
        self.read("prepare the database for bulk work", |connection| {
            connection.pragma_update(None, "cache_size", -16_000)?;
            connection.pragma_update(None, "synchronous", "normal")
        })
    }

    /// Changes how long this store waits for writes of other processes.
    pub fn set_busy_timeout(&self, timeout: BusyTimeout) -> Result<(), StoreError> {
        self.read("set the busy timeout", |connection| {
            connection.busy_timeout(timeout.duration())
        })
    }

    /// Prepares for many reads: maps pages into memory instead of copying them.
    pub fn map_pages(&self) -> Result<(), StoreError> {
        const MAX_BYTES: i64 = 1 << 30;
        self.read("map the database", |connection| {
            connection.pragma_update(None, "mmap_size", MAX_BYTES)
        })
    }

    /// Looks for damage; returns the findings of SQLite, none for a sound database.
    pub fn check(&self) -> Result<Vec<String>, StoreError> {
        self.read("check the database", |connection| {
            check(connection, "pragma integrity_check")
        })
    }
}

/// Creates the file with owner-only permissions, unless it exists. SQLite gives the files beside it the same mode.
fn create_private(path: &Path) -> Result<(), StoreError> {
    // Closed at once, before SQLite opens it: closing any descriptor of a file drops all locks of the process on it, and
    // another process could then remove the log that this one uses.
    let created = OpenOptions::new()
        .write(true)
        .create_new(true)
        .private()
        .open(path)
        .map(drop);
    match created {
        Err(source) if source.kind() != io::ErrorKind::AlreadyExists => Err(StoreError::Create {
            path: path.to_owned(),
            source,
        }),
        _ => Ok(()),
    }
}

/// Reports whether a folder cannot be written, and its database needs no log to be read.
fn is_on_read_only_disk(path: &Path) -> bool {
    let is_log_empty = wal_path(path).metadata().map_or(true, |log| log.len() == 0);
    is_log_empty && path.parent().is_some_and(|folder| can_write(folder).is_err())
}

/// Returns the schema of a database; fails if it is newer than the known one.
pub(crate) fn check_not_newer(connection: &Connection, path: &Path, known: i64) -> Result<i64, StoreError> {
    let found = migrate::version(connection).map_err(open_error(path))?;
    if found > known {
        return Err(StoreError::Newer {
            path: path.to_owned(),
            found,
            known,
        });
    }
    Ok(found)
}

/// Sets the options that are stored in the file. `auto_vacuum` only works before the first table exists.
fn set_permanent_options(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "auto_vacuum", "incremental")?;
    connection.pragma_update(None, "journal_mode", "wal")
}

fn set_connection_options(connection: &Connection) -> rusqlite::Result<()> {
    // FULL: an event is removed from the spool as soon as it is committed, so it must be on the disk by then.
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "secure_delete", true)?;
    // Reads the schema: damage there must show now, where it can be repaired, and not in the middle of an operation.
    connection.query_row("select count(*) from sqlite_schema", [], |_| Ok(()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_new_database_is_private_and_opens_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b.db");
        assert!(matches!(
            Store::open_read_only(&path, BusyTimeout::Hook),
            Err(StoreError::Missing(_))
        ));
        let store = Store::open(&path, folder.path()).unwrap();
        assert_eq!(store.check().unwrap(), Vec::<String>::new());
        for name in ["b.db", "b.db-wal", "b.db-shm"] {
            let is_open = backstory_system::is_open_to_others(&folder.path().join(name));
            assert_ne!(is_open, Some(true), "{name}");
        }
        Store::open(&path, folder.path()).unwrap();
        Store::open_read_only(&path, BusyTimeout::Hook).unwrap();
    }

    #[test]
    fn a_newer_schema_is_refused_and_not_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b.db");
        let store = Store::open(&path, folder.path()).unwrap();
        store.connection.pragma_update(None, "user_version", 99).unwrap();
        drop(store);
        let before = fs::read(&path).unwrap();
        for error in [
            Store::open(&path, folder.path()).unwrap_err(),
            Store::open_read_only(&path, BusyTimeout::Command).unwrap_err(),
        ] {
            assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error}");
        }
        assert_eq!(fs::read(&path).unwrap(), before);
    }

    #[test]
    fn an_older_schema_is_backed_up_before_it_is_migrated() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b.db");
        let backups = folder.path().join("backups");
        let first = [MIGRATIONS[0]];
        let older = Store::open_with(&path, &backups, &first).unwrap();
        assert!(!backups.exists(), "a new database needs no copy");
        older
            .connection
            .execute("insert into project values (1, 'k', 'kept', '/', 0)", [])
            .unwrap();
        drop(older);

        let newer = [MIGRATIONS[0], "alter table project add column extra text"];
        let store = Store::open_with(&path, &backups, &newer).unwrap();
        let name = |connection: &Connection, column: &str| {
            let sql = format!("select {column} from project");
            connection.query_row(&sql, [], |row| row.get::<_, Option<String>>(0))
        };
        assert_eq!(name(&store.connection, "extra").unwrap(), None);
        assert_eq!(name(&store.connection, "name").unwrap().unwrap(), "kept");
        let copy = Store::open_with(&backups.join("before-schema-2.db"), &backups, &first).unwrap();
        assert_eq!(name(&copy.connection, "name").unwrap().unwrap(), "kept");
        assert!(name(&copy.connection, "extra").is_err());
    }

    /// Opens one database per older schema; those versions made them from recorded sessions.
    #[test]
    fn every_older_database_can_be_migrated_and_searched() {
        let old = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/databases");
        for schema in 1..MIGRATIONS.len() {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("b.db");
            fs::copy(format!("{old}/schema-{schema}.db"), &path).unwrap();
            let store = Store::open(&path, folder.path()).unwrap();
            let count = |sql: &str| -> i64 { store.connection.query_row(sql, [], |row| row.get(0)).unwrap() };
            assert_eq!(count("select count(*) from session"), 1, "{schema}");
            assert_eq!(count("select count(*) from document"), 18, "{schema}");
            assert_eq!(
                count(
                    "select count(*) from words join document on document.id = words.rowid
                    where words match 'title:became' and kind = 'observation' and memory_id = 2"
                ),
                1,
                "{schema}"
            );
            // The recorded sessions were imported.
            assert_eq!(
                count("select count(*) from event where source <> 'import'"),
                0,
                "{schema}"
            );
            assert_eq!(store.check().unwrap(), [""; 0]);
        }
    }

    #[test]
    fn schema_6_reads_sources_from_keys_and_open_steps_from_texts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b.db");
        let older = Store::open_with(&path, folder.path(), &MIGRATIONS[..5]).unwrap();
        let rows = "insert into project values (1, 'k', 'n', '/', 0);
            insert into session (id, session_id, host, project_id, started_at, last_event_at)
                values (1, 's', 'claude-code', 1, 0, 0);
            insert into event (key, session_db_id, kind, at, payload)
                values ('001-42-stop', 1, 'stop', 1, '{}'), ('001-import-s-session-7-stop', 1, 'stop', 1, '{}');
            insert into summary (project_id, next_steps, created_at) values
                (1, 'Offered: add a flag. Stop the old worker. Asked: which one?', 1),
                (1, 'Stop the old worker.', 2), (1, null, 3)";
        older.connection.execute_batch(rows).unwrap();
        drop(older);

        let store = Store::open(&path, folder.path()).unwrap();
        let column = |sql: &str| -> Vec<Option<String>> {
            let mut statement = store.connection.prepare(sql).unwrap();
            let rows = statement.query_map([], |row| row.get(0)).unwrap();
            rows.map(Result::unwrap).collect()
        };
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(
            column("select source from event order by key"),
            [text("hook"), text("import")]
        );
        assert_eq!(
            column("select open_steps from summary order by id"),
            [text(r#"["Stop the old worker."]"#), None, None]
        );
    }

    #[test]
    fn a_failed_migration_does_not_change_the_database() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b.db");
        let broken = [
            MIGRATIONS.as_slice(),
            &["create table half (x); insert into nowhere values (1)"],
        ]
        .concat();
        drop(Store::open(&path, folder.path()).unwrap());
        assert!(matches!(
            Store::open_with(&path, folder.path(), &broken),
            Err(StoreError::Migrate(_))
        ));
        let store = Store::open(&path, folder.path()).unwrap();
        assert!(store.connection.prepare("select * from half").is_err());
    }

    #[test]
    fn a_file_that_is_no_database_is_refused_and_not_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b.db");
        fs::copy("Cargo.toml", &path).unwrap();
        assert!(matches!(
            Store::open(&path, folder.path()),
            Err(StoreError::Open { .. })
        ));
        assert_eq!(fs::read(&path).unwrap(), fs::read("Cargo.toml").unwrap());
    }
}
