//! Retention: drops old evidence and old event payloads. Distilled memories stay.

use std::time::Duration;

use backstory_model::Timestamp;
use rusqlite::Connection;

use crate::{Store, StoreError, sql::Statements as _};

/// Holds the limits of retention.
#[derive(Clone, Copy, Debug)]
pub struct Retention {
    /// The maximum age of passages; `None` keeps them forever.
    pub passages_max_age: Option<Duration>,
    /// The size of the database above which the oldest passages are dropped; `None` for no limit.
    pub most_bytes: Option<u64>,
}

/// Holds the number of dropped rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetentionReport {
    /// Passages.
    pub passages: usize,
    /// Payloads of distilled events.
    pub payloads: usize,
}

/// The age at which payloads are dropped. Until then a turn can be distilled again from its events.
const PAYLOADS_MAX_AGE: Duration = Duration::from_hours(30 * 24);

/// The number of rows that one statement drops, so that other writers get their turn in between.
const BATCH_SIZE: u32 = 5_000;

impl Store {
    /// Drops what exceeds the limits. Pinned passages stay.
    pub fn apply_retention(
        &mut self,
        retention: Retention,
        now: Timestamp,
    ) -> Result<RetentionReport, StoreError> {
        const PAYLOADS: &str = "update event set payload = '{}', packed = null where id in
            (select id from event where state = 'done' and payload <> '{}' and at < ?1 limit ?2)";
        const PASSAGES: &str = "delete from passage where id in
            (select id from passage where pinned = 0 and created_at < ?1 limit ?2)";
        self.read("drop old evidence", |connection| {
            let mut dropped = RetentionReport {
                payloads: run_in_batches(connection, PAYLOADS, now - PAYLOADS_MAX_AGE)?,
                passages: 0,
            };
            if let Some(age) = retention.passages_max_age {
                dropped.passages = run_in_batches(connection, PASSAGES, now - age)?;
            }
            if let Some(most) = retention.most_bytes {
                dropped.passages += shrink(connection, most)?;
            }
            Ok(dropped)
        })
    }
}

/// Runs a statement until it changes nothing more; each run is a transaction of its own.
fn run_in_batches(connection: &Connection, sql: &str, before: Timestamp) -> rusqlite::Result<usize> {
    let mut all = 0;
    loop {
        match connection.run(sql, (before, BATCH_SIZE))? {
            0 => return Ok(all),
            some => all += some,
        }
    }
}

/// Drops the oldest passages until the used pages fit.
fn shrink(connection: &Connection, most_bytes: u64) -> rusqlite::Result<usize> {
    const USED: &str = "select (page_count - freelist_count) * page_size
        from pragma_page_count(), pragma_freelist_count(), pragma_page_size()";
    const OLDEST: &str = "delete from passage where id in
        (select id from passage where pinned = 0 order by created_at limit ?1)";
    let mut dropped = 0;
    while connection.row(USED, [], |row| row.get::<_, u64>(0))? > most_bytes {
        let now = connection.run(OLDEST, [BATCH_SIZE])?;
        if now == 0 {
            break;
        }
        dropped += now;
    }
    Ok(dropped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{at, event, store};

    fn passages(store: &Store) -> Vec<String> {
        let mut statement = store
            .connection
            .prepare("select text from passage order by id")
            .unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn old_evidence_is_dropped_and_pinned_evidence_stays() {
        let mut store = store(&[event("1", "a")]);
        let sql = "insert into passage (project_id, kind, text, created_at, pinned)
            values (1, 'prose', 'old', 10, 0), (1, 'prose', 'pinned', 10, 1), (1, 'prose', 'new', 90, 0);
            update event set state = 'done', payload = '{\"x\":1}'";
        store.connection.execute_batch(sql).unwrap();
        let retention = Retention {
            passages_max_age: Some(Duration::from_millis(50)),
            most_bytes: None,
        };
        let dropped = store.apply_retention(retention, at(100)).unwrap();
        assert_eq!(
            dropped,
            RetentionReport {
                passages: 1,
                payloads: 0
            }
        );
        assert_eq!(passages(&store), ["pinned", "new"]);
        assert_eq!(
            store
                .apply_retention(retention, at(2_000) + PAYLOADS_MAX_AGE)
                .unwrap()
                .payloads,
            1
        );
    }

    #[test]
    fn a_database_over_the_size_limit_loses_its_oldest_evidence() {
        let mut store = store(&[event("1", "a")]);
        store
            .connection
            .execute_batch(
                "with recursive n (i) as (select 1 union all select i + 1 from n where i < 12000)
                insert into passage (project_id, kind, text, created_at)
                select 1, 'prose', printf('%0200d', i), i from n",
            )
            .unwrap();
        let retention = Retention {
            passages_max_age: None,
            most_bytes: Some(2 << 20),
        };
        let dropped = store.apply_retention(retention, at(0)).unwrap();
        let left = passages(&store);
        assert!((1..12_000).contains(&left.len()), "{}", left.len());
        assert_eq!(left.len(), 12_000 - dropped.passages);
        assert_eq!(left[0], format!("{:0200}", dropped.passages + 1));
    }
}
