//! Memories, sessions and projects as every door shows them: the HTTP routes and `--json` alike.
//!
//! Each shape stands with how it is made of what the store tells.

mod detail;
mod memory;
mod project;
mod queue;
mod session;

use jiff::Timestamp;

pub use detail::{Detail, Passage, Provenance, ToolUse};
pub use memory::{Hit, Memory, Moment};
pub use project::Project;
pub use queue::{Queue, QueueItem};
pub use session::{Session, Turn};

/// Writes a time.
pub fn rfc3339(ms: i64) -> String {
    Timestamp::from_millisecond(ms)
        .map(|time| time.to_string())
        .unwrap_or_default()
}
