//! The queue: events that await distillation.
//!
//! Every statement repeats `state <> 'done'` next to another condition on the state: SQLite uses the small partial index of
//! unfinished events only for statements that repeat its condition. A test checks the plans.

mod attempts;
mod claim;
pub(crate) mod ingest;
pub(crate) mod reindex;

use backstory_model::{EventId, EventKind, EventState, Timestamp};
use serde::Serialize;

use crate::{Store, StoreError, sql::Statements as _};

pub use attempts::MAX_ATTEMPTS;
pub use claim::{Claim, ClaimedEvent};

/// Holds the state of the queue.
#[derive(Debug, PartialEq, Eq)]
pub struct Queue {
    /// Events that await a worker.
    pub pending: u64,
    /// Claimed events.
    pub processing: u64,
    /// Failed events.
    pub failed: u64,
    /// The time since which the oldest pending or claimed event waits: since its report or its last retry.
    pub oldest_at: Option<Timestamp>,
    /// The first events: failed ones, then the oldest.
    pub items: Vec<QueueItem>,
}

/// Holds an event of the queue without its payload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QueueItem {
    /// The id for `queue retry`.
    pub id: EventId,
    /// The agent's id of the session.
    pub session_id: String,
    /// The kind of report.
    pub kind: EventKind,
    /// The tool of a tool use.
    pub tool_name: Option<String>,
    /// The state.
    pub state: EventState,
    /// The number of attempts.
    pub tries: i64,
    /// The error of the last attempt.
    pub error: Option<String>,
    /// The time of the report.
    #[serde(skip)]
    pub at: Timestamp,
}

const COUNTS: &str = "select count(*) filter (where state = 'pending') as pending,
        count(*) filter (where state = 'processing') as processing, count(*) filter (where state = 'failed') as failed,
        min(max(at, not_before)) filter (where state <> 'failed') as oldest_at
    from event where state <> 'done'";

const ITEMS: &str =
    "select event.id as id, session.session_id as session_id, kind, tool_name, state, tries, error, at
    from event join session on session.id = event.session_db_id where state <> 'done'
    order by state <> 'failed', at, event.id limit ?1";

impl Store {
    /// Returns the state of the queue with at most `max_items` events.
    pub fn queue(&self, max_items: u32) -> Result<Queue, StoreError> {
        self.read("read the queue", |connection| {
            let counts = connection.row(COUNTS, [], |row| {
                Ok(Queue {
                    pending: row.get("pending")?,
                    processing: row.get("processing")?,
                    failed: row.get("failed")?,
                    oldest_at: row.get("oldest_at")?,
                    items: Vec::new(),
                })
            })?;
            let items = connection.rows(ITEMS, [max_items], |row| {
                Ok(QueueItem {
                    id: row.get("id")?,
                    session_id: row.get("session_id")?,
                    kind: row.get("kind")?,
                    tool_name: row.get("tool_name")?,
                    state: row.get("state")?,
                    tries: row.get("tries")?,
                    error: row.get("error")?,
                    at: row.get("at")?,
                })
            })?;
            Ok(Queue { items, ..counts })
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{attempts, claim, *};
    use crate::testing::{event, store};

    pub(super) const LEASE: Duration = Duration::from_mins(1);

    pub(super) fn ids(claim: Option<Claim>) -> Vec<i64> {
        claim
            .map(|claim| claim.events.iter().map(|event| event.id.get()).collect())
            .unwrap_or_default()
    }

    /// Scanning the table would make the queue slower as the store grows.
    #[test]
    fn no_statement_of_the_queue_scans_the_events() {
        let store = store(&[event("1", "a")]);
        for sql in [
            COUNTS,
            ITEMS,
            claim::NEXT_SESSION,
            claim::NEXT_EVENTS,
            claim::LEASE,
            claim::DONE,
            claim::SUMMARIZED,
            claim::RELEASE,
            claim::EXPIRE_ALL,
            claim::CLAMP,
            claim::EXPIRED,
            attempts::FAIL,
            attempts::FAIL_SESSION,
            attempts::RETRY_ALL,
            attempts::RETRY_ONE,
            attempts::RESUME_SESSIONS,
        ] {
            let mut statement = store
                .connection
                .prepare(&format!("explain query plan {sql}"))
                .unwrap();
            let parameters = vec![0; statement.parameter_count()];
            let steps = statement.query_map(rusqlite::params_from_iter(parameters), |row| {
                row.get::<_, String>("detail")
            });
            let plan: Vec<String> = steps.unwrap().map(Result::unwrap).collect();
            let scans = plan.iter().any(|step| {
                step.starts_with("SCAN") && step.contains("event") && !step.contains("INDEX event_waiting")
            });
            assert!(!scans, "{sql}\n{plan:#?}");
        }
    }
}
