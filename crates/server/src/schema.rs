//! Schema of the database: explicit migrations, and the check that `serve` makes.
//!
//! Migrations are only ever added. Each runs in a transaction of its own under an advisory lock, so that several servers may
//! start `migrate` at once. Nothing but `migrate` changes the schema.

use anyhow::{Context as _, Result, bail};
use deadpool_postgres::Client;

/// Migrations in order; the version of a schema is the number of those applied.
const MIGRATIONS: [&str; 1] = [include_str!("schema/0001_team_memory.sql")];

/// Key of the advisory lock; arbitrary, and different from that of `purge`.
const LOCK: i64 = 0x6261_636b_0001;

/// Returns the version that this program needs.
pub(crate) fn version() -> i32 {
    i32::try_from(MIGRATIONS.len()).unwrap_or(i32::MAX)
}

/// Returns the version of the database; 0 if it is empty.
pub(crate) async fn current(client: &Client) -> Result<i32> {
    const EXISTS: &str = "select to_regclass('schema_version') is not null";
    const VERSION: &str = "select coalesce(max(version), 0) from schema_version";
    let exists: bool = client.query_one(EXISTS, &[]).await?.try_get(0)?;
    if !exists {
        return Ok(0);
    }
    Ok(client.query_one(VERSION, &[]).await?.try_get(0)?)
}

/// Returns an error unless the database has exactly the schema that this program needs.
pub(crate) async fn check(client: &Client) -> Result<()> {
    let (current, needed) = (current(client).await?, version());
    if current < needed {
        bail!(
            "the database has schema {current}, this program needs {needed}\nhint: run `backstory-server migrate`"
        );
    }
    if current > needed {
        bail!(
            "the database has schema {current}, this program knows {needed}\nhint: install the version that migrated it, or a later one"
        );
    }
    Ok(())
}

/// Applies the missing migrations and returns the version before and after.
pub(crate) async fn migrate(client: &mut Client) -> Result<(i32, i32)> {
    const MINIMUM: i32 = 140_000;
    let number: String = client
        .query_one("show server_version_num", &[])
        .await?
        .try_get(0)?;
    if number.parse::<i32>().unwrap_or(0) < MINIMUM {
        bail!("PostgreSQL 14 or later is needed");
    }
    // No deadline: building an index on a large table takes minutes.
    client
        .batch_execute("set statement_timeout = 0; set lock_timeout = 0")
        .await?;
    client.execute("select pg_advisory_lock($1)", &[&LOCK]).await?;
    let result = apply(client).await;
    client.execute("select pg_advisory_unlock($1)", &[&LOCK]).await?;
    result
}

async fn apply(client: &mut Client) -> Result<(i32, i32)> {
    const CREATE: &str = "create table if not exists schema_version (version integer primary key, applied_at timestamptz not null default now())";
    client.batch_execute(CREATE).await?;
    let before = current(client).await?;
    if before > version() {
        check(client).await?;
    }
    for (number, migration) in (1..).zip(MIGRATIONS).filter(|(number, _)| *number > before) {
        let transaction = client.transaction().await?;
        transaction
            .batch_execute(migration)
            .await
            .with_context(|| format!("migration {number} failed"))?;
        transaction
            .execute("insert into schema_version (version) values ($1)", &[&number])
            .await?;
        transaction.commit().await?;
    }
    Ok((before, version()))
}
