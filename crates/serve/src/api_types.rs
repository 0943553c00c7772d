//! Memories, sessions and projects as every door shows them: the HTTP routes and `--json` alike.
//!
//! Each shape stands with how it is made of what the store tells.

mod detail;
mod memory;
mod project;
mod queue;
mod session;

use jiff::Timestamp;

pub use detail::{Detail, Passage, ProvenanceJson, ToolUseJson};
pub use memory::{Memory, SearchHitJson, TimelineEntryJson};
pub use project::ProjectJson;
pub use queue::{QueueItemJson, QueueJson};
pub use session::{SessionJson, TurnJson};

/// Writes a time.
pub fn rfc3339(ms: i64) -> String {
    Timestamp::from_millisecond(ms)
        .map(|time| time.to_string())
        .unwrap_or_default()
}
