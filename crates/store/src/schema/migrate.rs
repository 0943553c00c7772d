//! Brings a database to the schema of this version.
//!
//! Migrations are only ever added. The number of those that a database has seen is its `user_version`.

use rusqlite::{Connection, TransactionBehavior};

use crate::{
    StoreError,
    memory::{documents, next_steps},
};

/// All migrations, oldest first.
pub(crate) const MIGRATIONS: [&str; 7] = [
    include_str!("migrations/0001_memory.sql"),
    include_str!("migrations/0002_find.sql"),
    include_str!("migrations/0003_changes.sql"),
    include_str!("migrations/0004_ledger.sql"),
    include_str!("migrations/0005_forgotten.sql"),
    include_str!("migrations/0006_sources.sql"),
    include_str!("migrations/0007_evidence.sql"),
];

/// The last schema whose documents were counted and indexed differently: every memory of an older database is made
/// findable anew.
const LAST_OTHER_INDEX: i64 = 1;

/// The last schema without `summary.open_steps`.
const LAST_WITHOUT_OPEN_STEPS: i64 = 5;

/// The schema that a list of migrations leads to.
pub(crate) fn target(migrations: &[&str]) -> i64 {
    i64::try_from(migrations.len()).unwrap_or(i64::MAX)
}

/// Returns the schema of a database; 0 is an empty one.
pub(crate) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("pragma user_version", [], |row| row.get(0))
}

/// Applies what is missing. All of it or nothing: a crash leaves the old schema.
pub(crate) fn migrate(connection: &mut Connection, migrations: &[&str]) -> Result<(), StoreError> {
    let migrate = StoreError::Migrate;
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(migrate)?;
    // Asked again inside the transaction: another process may have been faster.
    let from = version(&transaction).map_err(migrate)?;
    let pending = usize::try_from(from)
        .ok()
        .and_then(|from| migrations.get(from..))
        .unwrap_or_default();
    for sql in pending {
        transaction.execute_batch(sql).map_err(migrate)?;
    }
    if (1..=LAST_OTHER_INDEX).contains(&from) && !pending.is_empty() {
        documents::reindex_all(&transaction).map_err(migrate)?;
    }
    if (1..=LAST_WITHOUT_OPEN_STEPS).contains(&from) && target(migrations) > LAST_WITHOUT_OPEN_STEPS {
        next_steps::fill_in_open_steps(&transaction).map_err(migrate)?;
    }
    if !pending.is_empty() {
        transaction
            .pragma_update(None, "user_version", target(migrations))
            .map_err(migrate)?;
    }
    transaction.commit().map_err(migrate)
}
