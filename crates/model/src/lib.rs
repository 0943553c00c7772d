//! The domain types of backstory: events, sessions, memories, projects, ids and time.
//!
//! Owns names and their spelling. No I/O, no clock, no environment: every other crate may depend on this one. The feature
//! `rusqlite` implements the conversions to and from columns, for the store.

mod distilled;
mod event;
mod evidence;
mod handle;
mod id;
mod memory;
mod named;
mod open_item;
mod path;
mod project;
mod prompt;
mod session_memory;
mod timestamp;
mod tool_input;

pub use distilled::{Distilled, NewObservation, NewSummary};
pub use event::{Event, EventKind, EventSource, EventState, Host};
pub use evidence::{EvidenceItem, EvidenceKind};
pub use handle::{Handle, MemoryKind, ParseHandleError};
pub use id::{
    CallId, ChangeId, CommandKey, DocumentId, EpisodeId, EventId, ObservationId, ProjectId, SessionId,
    SummaryId, TurnId,
};
pub use memory::{BranchState, Distiller, NoteAuthor, ObservationType, RecallOutcome, SessionStatus};
pub use open_item::{OpenItemKey, ParseOpenItemKeyError};
pub use path::{from_drive, has_drive, is_file_path, relative_path};
pub use project::ProjectIdentity;
pub use prompt::is_machine_made;
pub use session_memory::{
    Checkpoint, CommandLesson, CommandResult, CommandRule, Episode, Handover, ItemRef, SessionMemory,
    SessionObservation,
};
pub use timestamp::Timestamp;
pub use tool_input::{ToolInput, ToolSubject};
