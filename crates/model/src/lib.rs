//! The nouns of backstory: what an agent reported and where it happened.
//!
//! Owns names and their spelling. No I/O, no clock, no environment: every other crate may depend on this one.

mod distilled;
mod event;
mod evidence;
mod handle;
mod memory;
mod path;
mod project;
mod session_memory;
mod tool_input;

pub use distilled::{Distilled, NewObservation, NewPassage, NewSummary, PassageKind};
pub use event::{Event, EventKind, EventSource, Host};
pub use evidence::{EvidenceItem, EvidenceKind};
pub use handle::{Handle, MemoryKind, ParseHandleError};
pub use memory::{ObservationType, SessionStatus};
pub use path::{from_drive, has_drive, relative_path};
pub use project::ProjectIdentity;
pub use session_memory::{Checkpoint, Episode, Handover, ItemRef, SessionMemory, SessionObservation};
pub use tool_input::{ToolInput, ToolSubject};
