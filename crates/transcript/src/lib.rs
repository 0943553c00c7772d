//! Readers for the session files that agents write themselves, one module per host. So far there is one, for Claude Code.
//!
//! A transcript becomes a sequence of [`Record`]s. Every text in a record went through the same sanitizing as a hook payload,
//! so callers may store it. Used by the worker and by imports, never in a hook.

mod claude_code;
mod lines;
mod record;

pub use claude_code::{
    AgentFile, Position, Reader, SessionOrigin, TaskReport, Transcript, TranscriptError, TranscriptList,
    TranscriptOwner, open, peek, refusal, sessions, task_report,
};
pub use record::{Record, RecordKind, SessionFacts, Skipped};
