//! Erases the bytes of deleted records, and what has become too old.
//!
//! A deleted row leaves its bytes in the table's files, and its terms stay in the index, until the partition is rewritten.
//! Only one purge runs at a time, whatever the number of servers.

use std::time::Duration;

use anyhow::{Result, bail};
use deadpool_postgres::Object;

use crate::{app::App, database::Databases, log::log, sql};

/// Partitions above this size are not rewritten here: that would lock them for minutes.
const MAX_BYTES: i64 = 2 << 30;

/// Time between two looks at the clock of the database.
const INTERVAL: Duration = Duration::from_secs(15 * 60);

/// A rewrite waits at most ten seconds for its lock, because everybody else waits behind it.
const SESSION_SETTINGS: &str = "set statement_timeout = 0; set lock_timeout = 10000";

/// What a purge has done.
#[derive(Debug, Default)]
pub(crate) struct Purged {
    /// Partitions that were rewritten.
    pub(crate) rewritten: Vec<String>,
    /// Partitions that are too large, or could not be locked.
    pub(crate) left: Vec<String>,
    /// Tombstones that were dropped.
    pub(crate) tombstones: i64,
}

/// Rewrites all queued partitions and drops what is too old.
pub(crate) async fn purge(databases: &Databases) -> Result<Purged> {
    let client = databases.primary().await?;
    let purged = purge_with(&client).await;
    // Not returned to the pool: its settings differ, and its end releases the lock.
    drop(Object::take(client));
    purged
}

async fn purge_with(client: &Object) -> Result<Purged> {
    client.batch_execute(SESSION_SETTINGS).await?;
    if !sql::maintenance::try_purge_lock(client).await? {
        bail!("another purge is running");
    }
    let mut purged = Purged {
        tombstones: sql::maintenance::expire(client).await?,
        ..Purged::default()
    };
    for partition in sql::maintenance::purge_queue(client).await? {
        if partition.bytes > MAX_BYTES {
            log(format_args!(
                "purge: {} has {} MB; rewrite it with pg_repack",
                partition.name,
                partition.bytes >> 20
            ));
            purged.left.push(partition.name);
        } else if let Err(error) = sql::maintenance::rewrite(client, &partition.name).await {
            log(format_args!(
                "purge: could not rewrite {}: {}",
                partition.name,
                crate::problem::chain(&error)
            ));
            purged.left.push(partition.name);
        } else {
            purged.rewritten.push(partition.name);
        }
    }
    Ok(purged)
}

/// Purges once per night, for ever.
pub(crate) async fn purge_nightly(app: &App, hour: u8) {
    loop {
        tokio::time::sleep(INTERVAL).await;
        let now = match app.databases.primary().await {
            Ok(client) => sql::maintenance::hour(&client).await.ok(),
            Err(_) => None,
        };
        if now != Some(hour) {
            continue;
        }
        match purge(&app.databases).await {
            Ok(purged) if purged.rewritten.is_empty() && purged.left.is_empty() => {}
            Ok(purged) => log(format_args!(
                "purge: rewrote {} partitions, left {}",
                purged.rewritten.len(),
                purged.left.len()
            )),
            Err(error) => log(format_args!("purge: {error:#}")),
        }
    }
}
