//! Retention: drops evidence and event payloads by age and by the size of the store, the least valuable first.
//!
//! Memories, hand-overs, prompts and the user's words are never dropped. Evidence of a memory that is gone leaves the memory
//! as it is.

use std::time::Duration;

use backstory_model::{EvidenceKind, Timestamp};
use rusqlite::{Connection, params};

use crate::{
    Store, StoreError,
    sql::{Statements as _, json_list},
};

/// Holds the limits of retention.
#[derive(Clone, Copy, Debug)]
pub struct Retention {
    /// The maximum age of passages; `None` keeps them forever.
    pub passages_max_age: Option<Duration>,
    /// The size of the database above which evidence is dropped; `None` for no limit.
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

/// The value of evidence, least valuable first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Value {
    /// The repository has the files, and the tools can be asked again.
    Lookup,
    /// Output of programs.
    Output,
    /// Changes, which version control has too.
    Change,
    /// Narration.
    Prose,
    /// Texts that summarize work.
    Summary,
    /// Texts written for a reader.
    Report,
}

impl Value {
    const ALL: [Self; 6] = [
        Self::Lookup,
        Self::Output,
        Self::Change,
        Self::Prose,
        Self::Summary,
        Self::Report,
    ];

    /// Returns the value of a kind of evidence; `None` for the user's words.
    fn of(kind: EvidenceKind) -> Option<Self> {
        use EvidenceKind as Kind;
        Some(match kind {
            Kind::Lookup | Kind::Tool => Self::Lookup,
            Kind::Command | Kind::Error => Self::Output,
            Kind::Edit | Kind::File => Self::Change,
            Kind::Prose => Self::Prose,
            Kind::SubagentReport | Kind::Compaction | Kind::Plan => Self::Summary,
            Kind::Report | Kind::Publication | Kind::Commit => Self::Report,
            Kind::UserMessage | Kind::UserAnswer | Kind::Refusal | Kind::Prompt => return None,
        })
    }

    /// Lists the kinds of this value as JSON.
    fn kinds(self) -> String {
        let kinds = EvidenceKind::ALL
            .into_iter()
            .filter(|kind| Self::of(*kind) == Some(self))
            .map(|kind| kind.name().to_owned());
        json_list(&kinds.collect::<Vec<_>>())
    }

    /// Returns the part of the maximum age after which it is dropped: 91 days of a year for look-ups.
    fn max_age(self, of_passages: Duration) -> Duration {
        match self {
            Self::Lookup => of_passages / 4,
            _ => of_passages,
        }
    }
}

const DAY: Duration = Duration::from_hours(24);

/// The age at which payloads are dropped. Until then a turn can be distilled again from its events.
const PAYLOADS_MAX_AGE: Duration = Duration::from_hours(30 * 24);

/// The age up to which payloads stay in a store that is too large: a turn may still be under way.
const PAYLOADS_MIN_AGE: Duration = DAY;

/// The ages at which a store that is too large loses evidence: everything of one age goes before anything younger.
const AGES: [Duration; 4] = [
    Duration::from_hours(180 * 24),
    Duration::from_hours(60 * 24),
    Duration::from_hours(14 * 24),
    Duration::ZERO,
];

/// The number of rows that one statement drops, so that other writers get their turn in between.
const BATCH_SIZE: u32 = 5_000;

impl Store {
    /// Drops what exceeds the limits. Pinned passages stay.
    pub fn apply_retention(
        &mut self,
        retention: Retention,
        now: Timestamp,
    ) -> Result<RetentionReport, StoreError> {
        self.read("drop old evidence", |connection| {
            let mut pass = Pass {
                connection,
                most_bytes: None,
                dropped: RetentionReport::default(),
            };
            pass.payloads(now - PAYLOADS_MAX_AGE)?;
            if let Some(age) = retention.passages_max_age {
                for value in Value::ALL {
                    pass.passages(value, now - value.max_age(age))?;
                }
            }
            pass.most_bytes = retention.most_bytes;
            if pass.most_bytes.is_some() {
                pass.shrink(now)?;
            }
            Ok(pass.dropped)
        })
    }
}

/// One run of the retention.
struct Pass<'c> {
    connection: &'c Connection,
    /// The size at which it ends; `None` if it goes by age.
    most_bytes: Option<u64>,
    dropped: RetentionReport,
}

impl Pass<'_> {
    fn shrink(&mut self, now: Timestamp) -> rusqlite::Result<()> {
        for age in AGES {
            self.payloads(now - age.max(PAYLOADS_MIN_AGE))?;
            for value in Value::ALL {
                // No age is younger than the last one, also if the clock was wrong.
                let before = if age.is_zero() { Timestamp::MAX } else { now - age };
                self.passages(value, before)?;
            }
        }
        Ok(())
    }

    /// Drops payloads of distilled events, oldest first.
    fn payloads(&mut self, before: Timestamp) -> rusqlite::Result<()> {
        const DROP: &str = "update event set payload = '{}', packed = null where id in
            (select id from event where state = 'done' and payload <> '{}' and at < ?1 order by at limit ?2)";
        while !self.is_small_enough()? {
            match self.connection.run(DROP, params![before, BATCH_SIZE])? {
                0 => break,
                some => self.dropped.payloads += some,
            }
        }
        Ok(())
    }

    /// Drops evidence of one value, oldest first.
    fn passages(&mut self, value: Value, before: Timestamp) -> rusqlite::Result<()> {
        const DROP: &str = "delete from passage where id in (select id from passage where pinned = 0
            and created_at < ?1 and kind in (select value from json_each(?2)) order by created_at limit ?3)";
        // The word index keeps the words of deleted documents until its segments are merged.
        const MERGE: &str = "insert into words (words, rank) values ('merge', 2000)";
        let kinds = value.kinds();
        while !self.is_small_enough()? {
            match self.connection.run(DROP, params![before, kinds, BATCH_SIZE])? {
                0 => break,
                some => self.dropped.passages += some,
            }
            if self.most_bytes.is_some() {
                self.connection.run(MERGE, [])?;
            }
        }
        Ok(())
    }

    fn is_small_enough(&self) -> rusqlite::Result<bool> {
        const USED: &str = "select (page_count - freelist_count) * page_size
            from pragma_page_count(), pragma_freelist_count(), pragma_page_size()";
        let Some(most) = self.most_bytes else {
            return Ok(false);
        };
        let used: u64 = self.connection.row(USED, [], |row| row.get(0))?;
        Ok(used <= most)
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
                select 1, 'command', printf('%0200d', i), i from n",
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

    #[test]
    fn look_ups_expire_first_and_the_users_words_never() {
        let mut store = store(&[event("1", "a")]);
        let kinds = [
            "lookup",
            "tool",
            "command",
            "report",
            "user_message",
            "user_answer",
            "refusal",
            "prompt",
        ];
        for kind in kinds {
            let sql = "insert into passage (project_id, kind, text, created_at) values (1, ?1, ?1, 10)";
            store.connection.execute(sql, [kind]).unwrap();
        }
        let retention = Retention {
            passages_max_age: Some(Duration::from_millis(400)),
            most_bytes: None,
        };
        store.apply_retention(retention, at(109)).unwrap();
        assert_eq!(passages(&store), kinds);
        store.apply_retention(retention, at(111)).unwrap();
        assert_eq!(passages(&store), kinds[2..]);
        store.apply_retention(retention, at(1_000)).unwrap();
        assert_eq!(passages(&store), kinds[4..]);
    }

    #[test]
    fn a_large_store_loses_old_evidence_first_and_the_least_valuable_of_one_age() {
        const DAY_MS: i64 = 24 * 3_600_000;
        let mut store = store(&[event("1", "a")]);
        let now = at(400 * DAY_MS);
        let old = at(100 * DAY_MS);
        for (kind, at) in [
            ("lookup", now),
            ("commit", old),
            ("edit", old),
            ("lookup", old),
            ("user_message", old),
            ("command", now),
        ] {
            let sql = "with recursive n (i) as (select 1 union all select i + 1 from n where i < 5000)
                insert into passage (project_id, kind, text, created_at)
                select 1, ?1, ?3 || printf('%0200d', i), ?2 from n";
            let text = format!("{kind} of {}", at.as_millis() / DAY_MS);
            store.connection.execute(sql, params![kind, at, text]).unwrap();
        }
        store
            .connection
            .execute_batch(
                "insert into observation (project_id, session_db_id, type, title, created_at, last_seen_at)
                    values (1, 1, 'change', 't', 0, 0);
                insert into handover values (1, '{}', 0)",
            )
            .unwrap();
        let mut order = Vec::new();
        let left = |store: &Store| -> Vec<String> {
            let sql = "select distinct substr(text, 1, instr(text, '0000') - 1) from passage";
            let mut statement = store.connection.prepare(sql).unwrap();
            let rows = statement.query_map([], |row| row.get(0)).unwrap();
            rows.map(Result::unwrap).collect()
        };
        let mut before = left(&store);
        for megabytes in (0..12).rev() {
            let retention = Retention {
                passages_max_age: None,
                most_bytes: Some(megabytes << 20),
            };
            store.apply_retention(retention, now).unwrap();
            let after = left(&store);
            order.extend(before.into_iter().filter(|text| !after.contains(text)));
            before = after;
        }
        assert_eq!(
            order,
            [
                "lookup of 1",
                "edit of 1",
                "commit of 1",
                "lookup of 4",
                "command of 4"
            ]
        );
        assert_eq!(before, ["user_message of 1"]);
        let memories = "select (select count(*) from observation) + (select count(*) from handover)";
        let count: i64 = store
            .connection
            .query_row(memories, [], |row| row.get(0))
            .unwrap();
        assert_eq!(count, 2);
    }

    #[test]
    fn payloads_of_the_last_day_stay_in_a_store_that_is_too_large() {
        let mut store = store(&[event("1", "a")]);
        let done = r#"update event set state = 'done', payload = '{"x":1}'"#;
        store.connection.execute_batch(done).unwrap();
        let retention = Retention {
            passages_max_age: None,
            most_bytes: Some(1),
        };
        let now = at(1_000) + PAYLOADS_MIN_AGE;
        assert_eq!(store.apply_retention(retention, now).unwrap().payloads, 0);
        let later = now + Duration::from_millis(1);
        assert_eq!(store.apply_retention(retention, later).unwrap().payloads, 1);
    }
}
