//! The queue: pending and failed events of the store and the spool.

use backstory_store as store;
use schemars::JsonSchema;
use serde::Serialize;

use super::rfc3339;

/// State of the queue.
#[derive(Debug, Serialize, JsonSchema)]
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
pub struct QueueItemJson {
    /// Id of the event.
    pub id: i64,
    /// The agent's id of the session.
    pub session_id: String,
    /// Kind of the event.
    pub kind: String,
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
    /// Converts the stored queue; spooled events count as pending.
    pub fn new(queue: store::Queue, spooled: u64, now_ms: i64) -> Self {
        Self {
            pending: queue.pending + spooled,
            processing: queue.processing,
            failed: queue.failed,
            oldest_seconds: queue.oldest_ms.map_or(0.0, |oldest| seconds(now_ms, oldest)),
            items: queue
                .items
                .into_iter()
                .map(|item| QueueItemJson {
                    id: item.id,
                    session_id: item.session_id,
                    kind: item.kind,
                    tool_name: item.tool_name,
                    state: item.state.name(),
                    tries: item.tries,
                    error: item.error,
                    created_at: rfc3339(item.at_ms),
                    age_seconds: seconds(now_ms, item.at_ms),
                })
                .collect(),
        }
    }
}

fn seconds(now_ms: i64, then_ms: i64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "exact up to 2^53 ms, 285,000 years")]
    let ms = (now_ms - then_ms).max(0) as f64;
    ms / 1000.0
}
