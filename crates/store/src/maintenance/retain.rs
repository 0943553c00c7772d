//! What is dropped when it has been kept long enough. Distilled memories stay; what they were made of goes.

use backstory_model::Timestamp;
use std::time::Duration;

use rusqlite::params;

use crate::{Store, StoreError, schema::open::query};

/// How long things are kept.
#[derive(Clone, Copy, Debug)]
pub struct Retention {
    /// Verbatim evidence older than this goes; `None` keeps it for ever.
    pub passages_max_age: Option<Duration>,
    /// The size of the database above which the oldest evidence goes; `None` is no limit.
    pub most_bytes: Option<u64>,
}

/// What was dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetentionReport {
    /// Pieces of verbatim evidence.
    pub passages: usize,
    /// What hooks had reported, long since distilled.
    pub payloads: usize,
}

/// What hooks reported is needed while a turn may be distilled again.
const PAYLOADS_MAX_AGE: Duration = Duration::from_hours(30 * 24);

/// So many rows go at once.
const BATCH_SIZE: u32 = 5_000;

impl Store {
    /// Drops what has been kept long enough. What a person pinned stays.
    pub fn apply_retention(
        &mut self,
        retention: Retention,
        now: Timestamp,
    ) -> Result<RetentionReport, StoreError> {
        const PAYLOADS: &str = "update event set payload = '{}' where id in
            (select id from event where state = 'done' and payload <> '{}' and at < ?1 limit ?2)";
        const PASSAGES: &str = "delete from passage where id in
            (select id from passage where pinned = 0 and created_at < ?1 limit ?2)";
        let attempt = query("drop what has been kept long enough");
        // A share at a time: whoever else writes gets its turn in between.
        let run = |sql: &str, before: Timestamp| -> Result<usize, StoreError> {
            let mut all = 0;
            loop {
                let now = self.connection.execute(sql, params![before, BATCH_SIZE]);
                match now.map_err(attempt)? {
                    0 => return Ok(all),
                    some => all += some,
                }
            }
        };
        let mut dropped = RetentionReport {
            payloads: run(PAYLOADS, now - PAYLOADS_MAX_AGE)?,
            passages: 0,
        };
        if let Some(age) = retention.passages_max_age {
            dropped.passages = run(PASSAGES, now - age)?;
        }
        if let Some(most) = retention.most_bytes {
            dropped.passages += self.shrink(most).map_err(attempt)?;
        }
        Ok(dropped)
    }

    /// Drops the oldest evidence, a share at a time, until what is in use fits.
    fn shrink(&self, most_bytes: u64) -> rusqlite::Result<usize> {
        const USED: &str = "select (page_count - freelist_count) * page_size
            from pragma_page_count(), pragma_freelist_count(), pragma_page_size()";
        const OLDEST: &str = "delete from passage where id in
            (select id from passage where pinned = 0 order by created_at limit ?1)";
        let mut dropped = 0;
        while self.connection.query_row(USED, [], |row| row.get::<_, u64>(0))? > most_bytes {
            let now = self.connection.execute(OLDEST, params![BATCH_SIZE])?;
            if now == 0 {
                break;
            }
            dropped += now;
        }
        Ok(dropped)
    }
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
    fn old_evidence_goes_and_what_is_pinned_stays() {
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
    fn a_database_that_is_too_large_loses_its_oldest_evidence() {
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
