//! The queue: pending and failed events of the store and the spool.

use backstory_model::Timestamp;
use backstory_store as store;
use schemars::JsonSchema;
use serde::Serialize;

use super::rfc3339;

/// Age of the oldest event above which the worker counts as late.
const LATE_SECONDS: f64 = 60.0;

/// State of the queue.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Queue")]
pub struct QueueJson {
    /// Pending events, including spooled ones.
    pub pending: u64,
    /// Claimed events.
    pub processing: u64,
    /// Events that failed after three attempts.
    pub failed: u64,
    /// Age of the oldest unprocessed event.
    pub oldest_seconds: f64,
    /// Some of the events, failed ones first.
    pub items: Vec<QueueItemJson>,
}

/// An event in the queue.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "QueueItem")]
pub struct QueueItemJson {
    /// Id of the event.
    pub id: i64,
    /// The agent's id of the session.
    pub session_id: String,
    /// Kind of the event.
    pub kind: &'static str,
    /// Tool of a tool use.
    pub tool_name: Option<String>,
    /// pending, processing or failed.
    pub state: &'static str,
    /// Number of attempts.
    pub tries: i64,
    /// Error of the last attempt.
    pub error: Option<String>,
    /// Time of the event.
    pub created_at: String,
    /// Age of the event.
    pub age_seconds: f64,
}

impl QueueJson {
    /// Returns `late` if the oldest unprocessed event is too old, else `ok`.
    pub fn status(&self) -> &'static str {
        if self.oldest_seconds > LATE_SECONDS {
            "late"
        } else {
            "ok"
        }
    }

    /// Converts the stored queue; spooled events count as pending.
    pub fn new(queue: store::Queue, spooled: u64, now: Timestamp) -> Self {
        Self {
            pending: queue.pending + spooled,
            processing: queue.processing,
            failed: queue.failed,
            oldest_seconds: queue.oldest_at.map_or(0.0, |oldest| seconds(now, oldest)),
            items: queue
                .items
                .into_iter()
                .map(|item| QueueItemJson {
                    id: item.id.get(),
                    session_id: item.session_id,
                    kind: item.kind.name(),
                    tool_name: item.tool_name,
                    state: item.state.name(),
                    tries: item.tries,
                    error: item.error,
                    created_at: rfc3339(item.at),
                    age_seconds: seconds(now, item.at),
                })
                .collect(),
        }
    }
}

fn seconds(now: Timestamp, then: Timestamp) -> f64 {
    now.since(then).as_secs_f64()
}
