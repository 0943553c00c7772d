//! Opens the database: creates, migrates, or refuses it.

use std::{
    fs::OpenOptions,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use backstory_system::OwnerOnly as _;
use rusqlite::{Connection, OpenFlags, config::DbConfig};

use crate::{
    maintenance::backup::{DbFile, back_up},
    schema::migrate::{self, MIGRATIONS},
};

/// Why the store cannot be used or did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database file cannot be opened.
    #[error("could not open database {}", .path.display())]
    Open {
        /// The database.
        path: PathBuf,
        /// What SQLite or the system said.
        #[source]
        source: rusqlite::Error,
    },
    /// There is no database yet.
    #[error("there is no database at {}", .0.display())]
    Missing(PathBuf),
    /// A database of another program than expected.
    #[error("{} is no database of claude-mem", .0.display())]
    Foreign(PathBuf),
    /// The database was written by a newer version.
    #[error("database {} has schema {found}, this version knows {known}", .path.display())]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// The newest schema that this version knows.
        known: i64,
    },
    /// The database was written by an older version, and is only to be read.
    #[error("database {} has the older schema {found}", .path.display())]
    Older {
        /// The database.
        path: PathBuf,
        /// Its schema.
        found: i64,
    },
    /// The database is not whole.
    #[error("{} is damaged: {found}", .path.display())]
    Damaged {
        /// The database.
        path: PathBuf,
        /// What is wrong with it.
        found: String,
    },
    /// A copy could not be made. Before a migration that means that nothing was migrated.
    #[error("could not back up the database to {}", .path.display())]
    Backup {
        /// Where the copy was to be.
        path: PathBuf,
        /// What SQLite said.
        #[source]
        source: rusqlite::Error,
    },
    /// A migration failed; the database is as it was.
    #[error("could not migrate the database")]
    Migrate(#[source] rusqlite::Error),
    /// The file cannot be created.
    #[error("could not create {}", .path.display())]
    Create {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A query failed.
    #[error("could not {attempt}")]
    Query {
        /// What was attempted.
        attempt: &'static str,
        /// What SQLite said.
        #[source]
        source: rusqlite::Error,
    },
}

/// How long a process waits for another's write.
#[derive(Clone, Copy, Debug)]
pub enum BusyTimeout {
    /// A command or the worker: patient.
    Command,
    /// A hook: an agent waits for it.
    Hook,
}

impl BusyTimeout {
    fn patience(self) -> Duration {
        match self {
            Self::Command => Duration::from_secs(5),
            Self::Hook => Duration::from_millis(50),
        }
    }
}

/// An open database.
#[derive(Debug)]
pub struct Store {
    pub(crate) connection: Connection,
    pub(crate) place: DbFile,
}

impl Store {
    /// A store on a connection that was just opened.
    pub(crate) fn of(connection: Connection, path: &Path) -> Self {
        Self {
            connection,
            place: DbFile::of(path),
        }
    }

    /// Opens the database to read and write, creating it or bringing it up to date. Before an older schema is changed,
    /// a copy goes into `backups`.
    pub fn open(path: &Path, backups: &Path) -> Result<Self, StoreError> {
        Self::open_with(path, backups, &MIGRATIONS)
    }

    fn open_with(path: &Path, backups: &Path, migrations: &[&str]) -> Result<Self, StoreError> {
        // Only when it is not there, and closed at once: whoever closes a file gives up all locks that the process holds on
        // it, those of every connection too, and another process would then take the log away from under them.
        let create = OpenOptions::new()
            .write(true)
            .create_new(true)
            .private()
            .open(path)
            .map(drop);
        match create {
            Err(source) if source.kind() != io::ErrorKind::AlreadyExists => {
                return Err(StoreError::Create {
                    path: path.to_owned(),
                    source,
                });
            }
            // SQLite gives its own files beside the database the same mode.
            _ => {}
        }
        let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE, BusyTimeout::Command)?;
        let target = migrate::target(migrations);
        let found = check_not_newer(&connection, path, target)?;
        if found < target {
            if found > 0 {
                back_up(&connection, &backups.join(format!("before-schema-{target}.db")))?;
            }
            prepare(&connection).map_err(StoreError::Migrate)?;
            migrate::migrate(&mut connection, migrations)?;
        }
        let store = Self::of(connection, path);
        // FULL: an event is removed from the spool as soon as it is committed here, so it must be on the disk then.
        store
            .connection
            .pragma_update(None, "synchronous", "full")
            .map_err(open_error(path))?;
        store
            .connection
            .pragma_update(None, "foreign_keys", true)
            .map_err(open_error(path))?;
        store
            .connection
            .pragma_update(None, "secure_delete", true)
            .map_err(open_error(path))?;
        // Reads the schema: damage there shows now, where it can be mended, and not in the middle of something.
        store
            .connection
            .query_row("select count(*) from sqlite_schema", [], |_| Ok(()))
            .map_err(open_error(path))?;
        Ok(store)
    }

    /// Opens the database to read only. Works while others write, and never creates or changes anything.
    pub fn open_read_only(path: &Path, access: BusyTimeout) -> Result<Self, StoreError> {
        if !path.exists() {
            return Err(StoreError::Missing(path.to_owned()));
        }
        Self::of_this_schema(connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY, access)?, path)
    }

    /// A store to read only, unless its schema is another.
    pub(crate) fn of_this_schema(connection: Connection, path: &Path) -> Result<Self, StoreError> {
        let target = migrate::target(&MIGRATIONS);
        let found = check_not_newer(&connection, path, target)?;
        if found < target {
            return Err(StoreError::Older {
                path: path.to_owned(),
                found,
            });
        }
        Ok(Self::of(connection, path))
    }

    /// Prepares for bulk work: commits wait for the next checkpoint, so that a power cut may cost the last of them, and more
    /// of the database is kept in memory.
    pub fn set_bulk_mode(&self) -> Result<(), StoreError> {
        let attempt = query("prepare the database for bulk work");
        self.connection
            .pragma_update(None, "cache_size", -16_000)
            .map_err(attempt)?;
        self.connection
            .pragma_update(None, "synchronous", "normal")
            .map_err(attempt)
    }

    /// Waits for another's write as others do, from now on.
    pub fn set_busy_timeout(&self, access: BusyTimeout) -> Result<(), StoreError> {
        let wait = self.connection.busy_timeout(access.patience());
        wait.map_err(query("set how long to wait"))
    }

    /// Reads several times in one state of the store: nothing changes in between, and the database is locked once instead of
    /// for every statement.
    pub fn read_transaction<T>(&self, read: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        let attempt = query("begin to read");
        let transaction = self.connection.unchecked_transaction().map_err(attempt)?;
        let result = read();
        transaction.finish().map_err(attempt)?;
        result
    }

    /// Prepares for many reads: pages are mapped instead of copied.
    pub fn map_pages(&self) -> Result<(), StoreError> {
        const MAX_BYTES: i64 = 1 << 30;
        self.connection
            .pragma_update(None, "mmap_size", MAX_BYTES)
            .map_err(query("map the database"))
    }

    /// Looks for damage; returns what SQLite found, nothing when all is well.
    pub fn check(&self) -> Result<Vec<String>, StoreError> {
        self.look_for_damage("pragma integrity_check")
    }

    pub(crate) fn look_for_damage(&self, sql: &str) -> Result<Vec<String>, StoreError> {
        let attempt = "check the database";
        let mut statement = self.connection.prepare(sql).map_err(query(attempt))?;
        let rows = statement
            .query_map([], |row| row.get(0))
            .map_err(query(attempt))?;
        let found: Vec<String> = rows.collect::<Result<_, _>>().map_err(query(attempt))?;
        Ok(if found == ["ok"] { Vec::new() } else { found })
    }
}

/// Wraps an error of SQLite with what was attempted.
pub(crate) fn query(attempt: &'static str) -> impl Fn(rusqlite::Error) -> StoreError + Copy {
    move |source| StoreError::Query { attempt, source }
}

/// Returns a duration as columns keep it.
pub(crate) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

fn open_error(path: &Path) -> impl Fn(rusqlite::Error) -> StoreError {
    |source| StoreError::Open {
        path: path.to_owned(),
        source,
    }
}

/// Opens a connection; every connection of the product is opened here.
///
/// Must not call `sqlite3_config`: it races with another thread's first use of SQLite. See "Memory allocation" in
/// ARCHITECTURE.md.
pub(crate) fn connect(path: &Path, flags: OpenFlags, access: BusyTimeout) -> Result<Connection, StoreError> {
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(open_error(path))?;
    connection
        .busy_timeout(access.patience())
        .map_err(open_error(path))?;
    // More than one search needs: parsing a statement again costs as much as running it.
    connection.set_prepared_statement_cache_capacity(96);
    // Plans do not depend on what is asked for: else every new value may have the statement parsed again.
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
        .map_err(open_error(path))?;
    Ok(connection)
}

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

/// Sets what a database keeps for life; the first must stand before the first table.
fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "auto_vacuum", "incremental")?;
    connection.pragma_update(None, "journal_mode", "wal")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_new_database_belongs_to_its_owner_alone_and_opens_again() {
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
    fn a_newer_schema_is_refused_and_left_as_it_is() {
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
    fn an_older_schema_is_copied_before_it_is_migrated() {
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

    /// The databases of older versions, one per schema, made by those versions from recorded sessions.
    #[test]
    fn every_older_database_opens_and_answers() {
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
    fn schema_6_takes_sources_from_keys_and_open_steps_from_texts() {
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
    fn a_migration_that_fails_leaves_the_database_as_it_was() {
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
    fn a_file_that_is_no_database_is_refused_and_left_as_it_is() {
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
