//! JSON types of memories, sessions and projects, shared by the HTTP API and `--json`.
//!
//! Field names are part of the public contract. Each type is next to its conversion from the store's type.

mod detail;
mod memory;
mod project;
mod queue;
mod session;

use backstory_model::Timestamp;

pub use detail::{Detail, Passage, ProvenanceJson, ToolUseJson};
pub use memory::{MemoryJson, SearchHitJson, TimelineEntryJson};
pub use project::ProjectJson;
pub use queue::{QueueItemJson, QueueJson};
pub use session::{HandoverJson, SessionJson, TurnJson};

/// Formats a time as RFC 3339.
pub fn rfc3339(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.as_millis())
        .map(|time| time.to_string())
        .unwrap_or_default()
}
