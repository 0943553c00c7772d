//! The error of every store operation.

use std::{io, path::PathBuf};

use rusqlite::ErrorCode;

/// Reports why the store cannot be used or why an operation failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database file cannot be opened.
    #[error("could not open database {}", .path.display())]
    Open {
        /// The database.
        path: PathBuf,
        /// The error of SQLite or the system.
        #[source]
        source: rusqlite::Error,
    },
    /// There is no database yet.
    #[error("there is no database at {}", .0.display())]
    Missing(PathBuf),
    /// The file is no database of claude-mem.
    #[error("{} is no database of claude-mem", .0.display())]
    Foreign(PathBuf),
    /// A newer version wrote the database.
    #[error("database {} has schema {found}, this version knows {known}", .path.display())]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// The newest schema that this version knows.
        known: i64,
    },
    /// An older version wrote the database, and it is opened read-only, so it cannot be migrated.
    #[error("database {} has the older schema {found}", .path.display())]
    Older {
        /// The database.
        path: PathBuf,
        /// Its schema.
        found: i64,
    },
    /// The database is damaged.
    #[error("{} is damaged: {found}", .path.display())]
    Damaged {
        /// The database.
        path: PathBuf,
        /// The first finding of the check.
        found: String,
    },
    /// A backup failed. If it was the backup before a migration, the database was not migrated.
    #[error("could not back up the database to {}", .path.display())]
    Backup {
        /// The path of the backup.
        path: PathBuf,
        /// The error of SQLite.
        #[source]
        source: rusqlite::Error,
    },
    /// A migration failed; the database is unchanged.
    #[error("could not migrate the database")]
    Migrate(#[source] rusqlite::Error),
    /// A file or folder cannot be created.
    #[error("could not create {}", .path.display())]
    Create {
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// A query failed.
    #[error("could not {attempt}")]
    Query {
        /// The attempted operation, as a phrase after "could not".
        attempt: &'static str,
        /// The error of SQLite.
        #[source]
        source: rusqlite::Error,
    },
}

impl StoreError {
    /// Returns true if the database file is damaged or no database at all.
    pub fn is_damage(&self) -> bool {
        let is_reported = matches!(
            self.code(),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
        );
        is_reported || matches!(self, Self::Damaged { .. })
    }

    /// Returns true if another process kept the database locked for longer than the busy timeout.
    pub fn is_locked(&self) -> bool {
        matches!(
            self.code(),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
        )
    }

    /// Returns true if SQLite cannot open the database or its log.
    pub(crate) fn is_unopenable(&self) -> bool {
        self.code() == Some(ErrorCode::CannotOpen)
    }

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
