//! An open database, and the only two ways to use it: [`Store::read`] and [`Store::write`].
//!
//! Both add the attempted operation to every error. Waiting for other processes happens in SQLite: every connection has a
//! busy timeout, and a write transaction takes the write lock when it begins, so it cannot fail
//! halfway because another process wrote first.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::StoreError;

/// An open database.
#[derive(Debug)]
pub struct Store {
    pub(crate) connection: Connection,
    pub(crate) file: DbFile,
}

impl Store {
    /// Wraps a connection that was just opened.
    pub(crate) fn new(connection: Connection, path: &Path) -> Self {
        Self {
            connection,
            file: DbFile::open_at(path),
        }
    }

    /// Runs queries. `attempt` completes "could not …" in the error.
    ///
    /// Each statement sees the database as of its own start, unless a [`Store::read_transaction`] surrounds the call.
    pub(crate) fn read<T>(
        &self,
        attempt: &'static str,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        read(&self.connection).map_err(|source| StoreError::Query { attempt, source })
    }

    /// Runs statements in one write transaction: all of them take effect or none. `attempt` completes "could not …" in
    /// the error.
    pub(crate) fn write<T>(
        &mut self,
        attempt: &'static str,
        write: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let run = || {
            let transaction = self
                .connection
                .transaction_with_behavior(TransactionBehavior::Immediate)?;
            let result = write(&transaction)?;
            transaction.commit()?;
            Ok(result)
        };
        run().map_err(|source| StoreError::Query { attempt, source })
    }

    /// Runs several reads against one state of the database. Locks once instead of once per statement.
    pub fn read_transaction<T>(&self, read: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        let attempt = |source| StoreError::Query {
            attempt: "begin to read",
            source,
        };
        let transaction = self.connection.unchecked_transaction().map_err(attempt)?;
        let result = read();
        transaction.finish().map_err(attempt)?;
        result
    }

    /// Returns true if the open file is still the one at its path. A user may have deleted or replaced it.
    pub fn is_in_place(&self) -> bool {
        self.file.is_in_place()
    }
}

/// Identifies the open file: its path may lead to another file later.
#[derive(Debug)]
pub(crate) struct DbFile {
    pub(crate) path: PathBuf,
    identity: Option<(u64, u64)>,
}

impl DbFile {
    fn open_at(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            identity: identity(path),
        }
    }

    fn is_in_place(&self) -> bool {
        identity(&self.path) == self.identity
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    backstory_system::identity(path).ok()
}
