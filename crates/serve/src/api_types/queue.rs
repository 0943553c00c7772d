//! The queue as it is shown: what waits in the store and in the spool, and for how long.

use backstory_store as store;
use schemars::JsonSchema;
use serde::Serialize;

use super::rfc3339;

/// What waits to be distilled.
#[derive(Debug, Serialize, JsonSchema)]
pub struct QueueJson {
    /// Events that wait, those in the spool included.
    pub pending: u64,
    /// Events in somebody's hands.
    pub processing: u64,
    /// Events that were given up after three tries.
    pub failed: u64,
    /// The age of the oldest that is not processed.
    pub oldest_seconds: f64,
    /// Some of them, those that failed first.
    pub items: Vec<QueueItemJson>,
}

/// An event in the queue.
#[derive(Debug, Serialize, JsonSchema)]
pub struct QueueItemJson {
    /// Its number.
    pub id: i64,
    /// The agent's id of its session.
    pub session_id: String,
    /// What happened.
    pub kind: String,
    /// The tool that was used.
    pub tool_name: Option<String>,
    /// pending, processing or failed.
    pub state: &'static str,
    /// How often it was tried.
    pub tries: i64,
    /// Why the last try failed.
    pub error: Option<String>,
    /// When it was reported.
    pub created_at: String,
    /// How long ago that was.
    pub age_seconds: f64,
}

impl QueueJson {
    /// Shows the queue; events in the spool wait too.
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
    // Ages fit a float exactly: 2^53 ms are 285,000 years.
    #[expect(clippy::cast_precision_loss, reason = "see above")]
    let ms = (now_ms - then_ms).max(0) as f64;
    ms / 1000.0
}
