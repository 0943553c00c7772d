//! The queue: events that wait to be distilled, and what is shown of them.
//!
//! `claim` gives them out and takes them back, `tries` says what becomes of those that fail.
//!
//! Every query says `state <> 'done'` although it names another state too: SQLite uses the small index of what waits only
//! when the query repeats its condition.

mod attempts;
mod claim;
pub(crate) mod ingest;

use backstory_model::{EventId, EventKind, EventState, Timestamp};
use rusqlite::{Row, TransactionBehavior};
use serde::Serialize;

use crate::{Store, StoreError, schema::open::query};

pub use attempts::MAX_ATTEMPTS;
pub use claim::{Claim, ClaimedEvent};

/// The queue at one moment.
#[derive(Debug, PartialEq, Eq)]
pub struct Queue {
    /// Events that wait.
    pub pending: u64,
    /// Events under way.
    pub processing: u64,
    /// Events given up.
    pub failed: u64,
    /// Since when the oldest event that waits or is under way does so, in milliseconds since 1970: since it was reported, or
    /// since it was put back.
    pub oldest_at: Option<Timestamp>,
    /// Some of them: failed first, then the oldest.
    pub items: Vec<QueueItem>,
}

/// One event of the queue, without its payload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QueueItem {
    /// The number to use with `queue retry`.
    pub id: EventId,
    /// The agent's id of the session.
    pub session_id: String,
    /// What happened.
    pub kind: EventKind,
    /// The tool, for tool events.
    pub tool_name: Option<String>,
    /// Where it stands.
    pub state: EventState,
    /// How often it was tried.
    pub tries: i64,
    /// Why the last try failed.
    pub error: Option<String>,
    /// When it was reported, in milliseconds since 1970.
    #[serde(skip)]
    pub at: Timestamp,
}

impl Store {
    /// Describes the queue, with at most so many of its events.
    pub fn queue(&self, most_items: u32) -> Result<Queue, StoreError> {
        const COUNTS: &str = "select count(*) filter (where state = 'pending'),
                count(*) filter (where state = 'processing'), count(*) filter (where state = 'failed'),
                min(max(at, not_before)) filter (where state <> 'failed')
            from event where state <> 'done'";
        const ITEMS: &str = "select event.id, session.session_id, kind, tool_name, state, tries, error, at
            from event join session on session.id = event.session_db_id where state <> 'done'
            order by state <> 'failed', at, event.id limit ?1";
        let attempt = query("read the queue");
        let counts = self.connection.query_row(COUNTS, [], |row| {
            Ok(Queue {
                pending: row.get(0)?,
                processing: row.get(1)?,
                failed: row.get(2)?,
                oldest_at: row.get(3)?,
                items: Vec::new(),
            })
        });
        let counts = counts.map_err(attempt)?;
        let mut statement = self.connection.prepare_cached(ITEMS).map_err(attempt)?;
        let rows = statement.query_map([most_items], item).map_err(attempt)?;
        let items = rows.collect::<Result<_, _>>().map_err(attempt)?;
        Ok(Queue { items, ..counts })
    }

    fn for_each(
        &mut self,
        ids: &[EventId],
        attempt: &'static str,
        mut run: impl FnMut(&mut rusqlite::Statement<'_>, EventId) -> rusqlite::Result<usize>,
        sql: &str,
    ) -> Result<(), StoreError> {
        let attempt = query(attempt);
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(attempt)?;
        for &id in ids {
            run(&mut *transaction.prepare_cached(sql).map_err(attempt)?, id).map_err(attempt)?;
        }
        transaction.commit().map_err(attempt)
    }
}

fn item(row: &Row<'_>) -> rusqlite::Result<QueueItem> {
    Ok(QueueItem {
        id: row.get(0)?,
        session_id: row.get(1)?,
        kind: row.get(2)?,
        tool_name: row.get(3)?,
        state: row.get(4)?,
        tries: row.get(5)?,
        error: row.get(6)?,
        at: row.get(7)?,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::testing::{event, store};

    pub(super) const LEASE: Duration = Duration::from_mins(1);

    pub(super) fn kinds(claim: Option<Claim>) -> Vec<i64> {
        claim
            .map(|claim| claim.events.iter().map(|event| event.id.get()).collect())
            .unwrap_or_default()
    }

    /// A plan that scans the table would make every look at the queue as slow as the store is large.
    #[test]
    fn a_look_at_the_queue_does_not_depend_on_the_size_of_the_store() {
        let store = store(&[event("1", "a")]);
        let sources = [
            include_str!("mod.rs"),
            include_str!("claim.rs"),
            include_str!("attempts.rs"),
        ];
        let sources = sources.map(|source| source.split("#[cfg(test)]").next().unwrap());
        let mut looked_at = 0;
        for sql in sources
            .iter()
            .flat_map(|source| source.split(": &str = ").skip(1))
            .filter_map(|rest| rest.split('"').nth(1))
        {
            let plan_sql = format!("explain query plan {sql}");
            let mut statement = store.connection.prepare(&plan_sql).unwrap();
            let parameters = vec![0; statement.parameter_count()];
            let rows = statement.query_map(rusqlite::params_from_iter(parameters), |row| {
                row.get::<_, String>(3)
            });
            let plan: Vec<String> = rows.unwrap().map(Result::unwrap).collect();
            let scans = plan.iter().any(|step| {
                step.starts_with("SCAN") && step.contains("event") && !step.contains("INDEX event_waiting")
            });
            assert!(!scans, "{sql}\n{plan:#?}");
            looked_at += 1;
        }
        assert!(looked_at >= 10, "{looked_at}");
    }
}
