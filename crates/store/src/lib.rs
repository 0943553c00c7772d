//! The store: one SQLite database with everything that backstory remembers.
//!
//! The only crate with SQL. It owns the schema, the queue and all reads and writes; it does not read the clock, the
//! environment or any file but the database. Many processes may have the store open at once: writes are short transactions,
//! and every guarantee (an event is ingested once, a session exists once) is a constraint of the database, not a lock beside
//! it.

mod cursor;
mod error;
mod maintenance;
mod memory;
mod models;
mod queue;
mod schema;
mod search;
mod sessions;
mod sql;
mod store;
mod team;
#[cfg(test)]
mod testing;
mod transfer;
mod words;

pub use cursor::ParseCursorError;
pub use error::StoreError;
pub use maintenance::backup::check_backup;
pub use maintenance::counts::Counts;
pub use maintenance::forget::{Forgotten, Selection};
pub use maintenance::retain::{Retention, RetentionReport};
pub use maintenance::salvage::Salvaged;
pub use memory::changes::{Change, ChangeEvent};
pub use memory::command_rows::{KnownFailure, KnownRule};
pub use memory::done_items::open_item_key;
pub use memory::edit::MemoryEdit;
pub use memory::evidence_rows::EvidenceItems;
pub use memory::experiment::{Experiment, ExperimentSession};
pub use memory::fields::Fields;
pub use memory::impact::{Feedback, ImpactSums, JudgedRecall, SessionImpact};
pub use memory::model_memories::ModelAnswer;
pub use memory::neighbors::{MemoryRelation, RelatedMemory, Sighting};
pub use memory::notes::{NewNote, SavedNote};
pub use memory::observation_rows::Fingerprints;
pub use memory::pack::EventPayload;
pub use memory::recent::{Note, Observation, RecentSession, Summary};
pub use memory::record::MemoryRecord;
pub use memory::session_memory::{SessionRef, StoredLog, TurnRecord};
pub use memory::show::{EvidencePassage, EvidenceToolUse, MemoryDetail, Provenance};
pub use memory::stored::{CitedFile, Memory};
pub use memory::supersede::{CorrectOutcome, SupersedeOutcome};
pub use memory::turn::{FileFingerprint, ModelFollowUp, StoredTurn, TurnEvent, TurnProgress};
pub use models::ledger::{CallEnd, NewCall, Permit, Spending, TokenBudget};
pub use models::model_queue::{KnownObservation, MODEL_LEASE, MODEL_RETRY_DELAY, ModelJob, PastTurn};
pub use models::provider_backoff::{NewBackoff, ProviderBackoff};
pub use queue::ingest::{ImportedFile, IngestCounts, LiveSession, SessionProjects};
pub use queue::reindex::{ReindexScope, ReindexTurn};
pub use queue::{Claim, ClaimedEvent, MAX_ATTEMPTS, Queue, QueueItem};
pub use schema::connect::BusyTimeout;
pub use schema::copy::UNFINISHED;
pub use search::filter::Filter;
pub use search::lexical::{Origin, Scope, TermMatches, inverse_document_frequency};
pub use search::pages::{Page, PageCursor};
pub use search::timeline::{TimelineEntry, TimelineSpan};
pub use search::vectors::{Coverage, EmbedOrder, StoredVector, ToEmbed};
pub use sessions::active_sessions::{ActiveSession, TurnAction};
pub use sessions::activity::{ActivityCounts, Branch, BusyFile, DayCount};
pub use sessions::chapters::Chapter;
pub use sessions::hosts::HostSeen;
pub use sessions::project_timeline::{SessionSpan, TimelineMark, TimelineMarkKind};
pub use sessions::projects::{Project, ProjectCard, ProjectError, ProjectFolder};
pub use sessions::turn_feed::{FeedEntry, FeedPage, TurnCard};
pub use sessions::turn_git::{RenamedFile, RepositoryCheck, TurnCommit, TurnGit};
pub use sessions::{Session, SessionCursor, SessionError, SessionFilter, Turn};
pub use store::Store;
pub use team::devices::TeamDevice;
pub use team::opinions::{Opinions, TeamOpinion, Verdict};
pub use team::projects::TeamProject;
pub use team::received::{QuarantinedRecord, ReceivedRecord, TeamApplied, TeamChange, TeamPosition};
pub use team::shares::{Share, ShareState};
pub use team::statements::TeamStatement;
pub use transfer::claude_mem::{ClaudeMem, ForeignMemory};
pub use transfer::cursor::{CursorChat, CursorEditor, CursorRecord};
pub use transfer::import_lines::{LineImportCounts, PreparedLine};
pub use transfer::opencode::{OpenCode, OpenCodeRow, OpenCodeSession};
pub use words::{Term, terms};

/// Returns the version of the built-in SQLite.
pub fn sqlite_version() -> &'static str {
    rusqlite::version()
}

/// Returns the schema that this version reads and writes.
pub fn schema_version() -> i64 {
    schema::migrate::target(&schema::migrate::MIGRATIONS)
}
