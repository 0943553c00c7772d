//! The store: one SQLite database that holds everything backstory remembers.
//!
//! The only crate with SQL. Owns the schema, the queue and what is read from them; leaves files, clocks and the
//! environment to the binary. Many processes may have the store open at once: writes are short transactions, and every
//! promise (an event counts once, a session exists once) is kept by the database, not by a lock beside it.

mod active_sessions;
mod activity;
mod backup;
mod cards;
mod changes;
mod claude_mem;
mod counts;
mod distilled;
mod documents;
mod edit;
mod export;
mod file_history;
mod filter;
mod forget;
mod hosts;
mod immutable;
mod import_lines;
mod ingest;
mod injection_queries;
mod ledger;
mod lexical;
mod line;
mod memories;
mod migrate;
mod model_queue;
mod notes;
mod open;
mod pack;
mod pages;
mod projects;
mod provider_backoff;
mod queue;
mod relation;
mod replace;
mod retain;
mod salvage;
mod sessions;
mod show;
mod supersede;
#[cfg(test)]
mod testing;
mod timeline;
mod user_edits;
mod vectors;
mod words;

pub use activity::{Branch, BusyFile, DayCount};
/// Returns the version of SQLite that is built in.
pub fn sqlite_version() -> &'static str {
    rusqlite::version()
}

/// Returns the schema that this version reads and writes.
pub fn schema_version() -> i64 {
    migrate::target(&migrate::MIGRATIONS)
}

pub use active_sessions::{Action, ActiveSession};
pub use backup::{UNFINISHED, check_backup};
pub use cards::{CitedFile, MemoryView};
pub use changes::Change;
pub use claude_mem::{ClaudeMem, ForeignMemory};
pub use counts::Counts;
pub use distilled::{
    Distiller, FileFingerprint, ModelFollowUp, StoredTurn, TurnEvent, TurnProgress, TurnResult,
};
pub use documents::Fields;
pub use edit::MemoryEdit;
pub use filter::Filter;
pub use forget::{Forgotten, Selection};
pub use hosts::HostSeen;
pub use import_lines::{LineImportCounts, PreparedLine};
pub use ingest::{IngestCounts, IngestHooks};
pub use ledger::{CallEnd, NewCall, Permit, Spending, TokenBudget};
pub use lexical::{Origin, Scope, TermMatches};
pub use line::MemoryRecord;
pub use memories::{Note, Observation, Summary, TurnMemory, TurnSummary};
pub use model_queue::{KnownObservation, MODEL_LATER_MS, MODEL_LEASE_MS, ModelJob, PastTurn};
pub use notes::{Author, NewNote, SavedNote};
pub use open::{BusyTimeout, Store, StoreError};
pub use pages::{Page, PageCursor};
pub use projects::{Project, ProjectCard, ProjectError};
pub use provider_backoff::{NewBackoff, ProviderBackoff};
pub use queue::{Claim, ClaimedEvent, EventState, MAX_ATTEMPTS, Queue, QueueItem};
pub use retain::{Retention, RetentionReport};
pub use salvage::Salvaged;
pub use sessions::{Session, SessionError, SessionFilter, Turn};
pub use show::{EvidencePassage, EvidenceToolUse, MemoryDetail, Provenance};
pub use supersede::SupersedeOutcome;
pub use timeline::TimelineEntry;
pub use vectors::{Coverage, EmbedOrder, StoredVector, ToEmbed};
pub use words::{Term, content_words, terms};
