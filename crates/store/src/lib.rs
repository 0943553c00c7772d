//! The store: one SQLite database that holds everything backstory remembers.
//!
//! The only crate with SQL. Owns the schema, the queue and what is read from them; leaves files, clocks and the
//! environment to the binary. Many processes may have the store open at once: writes are short transactions, and every
//! promise (an event counts once, a session exists once) is kept by the database, not by a lock beside it.

mod cursor;
mod maintenance;
mod memory;
mod models;
mod queue;
mod schema;
mod search;
mod sessions;
#[cfg(test)]
mod testing;
mod transfer;

pub use cursor::ParseCursorError;
pub use maintenance::backup::{UNFINISHED, check_backup};
pub use maintenance::counts::Counts;
pub use maintenance::forget::{Forgotten, Selection};
pub use maintenance::retain::{Retention, RetentionReport};
pub use maintenance::salvage::Salvaged;
pub use memory::cards::{CitedFile, MemoryView};
pub use memory::changes::{Change, ChangeEvent};
pub use memory::distilled::{
    DistillRun, FileFingerprint, ModelFollowUp, StoredTurn, TurnEvent, TurnProgress, TurnResult,
};
pub use memory::documents::Fields;
pub use memory::edit::MemoryEdit;
pub use memory::memories::{Note, Observation, Summary, TurnMemory, TurnSummary};
pub use memory::notes::{NewNote, SavedNote};
pub use memory::pages::{Page, PageCursor};
pub use memory::session_memory::{SessionRef, StoredLog, TurnRecord};
pub use memory::show::{EvidencePassage, EvidenceToolUse, MemoryDetail, Provenance};
pub use memory::supersede::SupersedeOutcome;
pub use models::ledger::{CallEnd, NewCall, Permit, Spending, TokenBudget};
pub use models::model_queue::{KnownObservation, MODEL_LEASE, MODEL_RETRY_DELAY, ModelJob, PastTurn};
pub use models::provider_backoff::{NewBackoff, ProviderBackoff};
pub use queue::ingest::{IngestCounts, IngestHooks};
pub use queue::{Claim, ClaimedEvent, MAX_ATTEMPTS, Queue, QueueItem};
pub use schema::open::{BusyTimeout, Store, StoreError};
pub use search::filter::Filter;
pub use search::lexical::{Origin, Scope, TermMatches};
pub use search::timeline::TimelineEntry;
pub use search::vectors::{Coverage, EmbedOrder, StoredVector, ToEmbed};
pub use search::words::{Term, terms};
pub use sessions::active_sessions::{Action, ActiveSession};
pub use sessions::activity::{Branch, BusyFile, DayCount};
pub use sessions::hosts::HostSeen;
pub use sessions::projects::{Project, ProjectCard, ProjectError};
pub use sessions::{Session, SessionCursor, SessionError, SessionFilter, Turn};
pub use transfer::claude_mem::{ClaudeMem, ForeignMemory};
pub use transfer::import_lines::{LineImportCounts, PreparedLine};
pub use transfer::line::MemoryRecord;

/// Returns the version of SQLite that is built in.
pub fn sqlite_version() -> &'static str {
    rusqlite::version()
}

/// Returns the schema that this version reads and writes.
pub fn schema_version() -> i64 {
    schema::migrate::target(&schema::migrate::MIGRATIONS)
}
