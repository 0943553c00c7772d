//! Brings a database to the schema of this version.
//!
//! Migrations are only added, never changed. `user_version` counts the migrations that a database has been through.
//! `testdata/databases` has one database per released schema; add one before adding a migration.

use rusqlite::{Connection, TransactionBehavior};

use crate::memory::{documents, next_steps};

/// All migrations, oldest first.
pub(crate) const MIGRATIONS: [&str; 13] = [
    include_str!("migrations/0001_memory.sql"),
    include_str!("migrations/0002_find.sql"),
    include_str!("migrations/0003_changes.sql"),
    include_str!("migrations/0004_ledger.sql"),
    include_str!("migrations/0005_forgotten.sql"),
    include_str!("migrations/0006_sources.sql"),
    include_str!("migrations/0007_evidence.sql"),
    include_str!("migrations/0008_commands.sql"),
    include_str!("migrations/0009_branches.sql"),
    include_str!("migrations/0010_impact.sql"),
    include_str!("migrations/0011_team.sql"),
    include_str!("migrations/0012_done_items.sql"),
    include_str!("migrations/0013_team_opinions.sql"),
];

/// The last schema with another numbering and indexing of documents. Every memory of such a database is indexed again.
const LAST_OTHER_INDEX: i64 = 1;

/// The last schema without `summary.open_steps`.
const LAST_WITHOUT_OPEN_STEPS: i64 = 5;

/// Returns the schema that a list of migrations leads to.
pub(crate) fn target(migrations: &[&str]) -> i64 {
    i64::try_from(migrations.len()).unwrap_or(i64::MAX)
}

/// Returns the schema of a database; 0 for an empty one.
pub(crate) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("pragma user_version", [], |row| row.get(0))
}

/// Applies the missing migrations in one transaction.
pub(crate) fn migrate(connection: &mut Connection, migrations: &[&str]) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Read inside the transaction: another process may have migrated in the meantime.
    let from = version(&transaction)?;
    let pending = usize::try_from(from)
        .ok()
        .and_then(|from| migrations.get(from..))
        .unwrap_or_default();
    for sql in pending {
        transaction.execute_batch(sql)?;
    }
    let passes = |schema: i64| (1..=schema).contains(&from) && target(migrations) > schema;
    if passes(LAST_OTHER_INDEX) {
        documents::reindex_all(&transaction)?;
    }
    if passes(LAST_WITHOUT_OPEN_STEPS) {
        next_steps::fill_in_open_steps(&transaction)?;
    }
    if !pending.is_empty() {
        transaction.pragma_update(None, "user_version", target(migrations))?;
    }
    transaction.commit()
}
