//! The store: one SQLite database that holds everything backstory remembers.
//!
//! The only crate with SQL. Owns the schema, the queue and what is read from them; leaves files, clocks and the
//! environment to the binary. Many processes may have the store open at once: writes are short transactions, and every
//! promise (an event counts once, a session exists once) is kept by the database, not by a lock beside it.

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
mod find;
mod for_model;
mod forget;
mod glance;
mod hosts;
mod intake;
mod ledger;
mod line;
mod memories;
mod migrate;
mod moments;
mod notes;
mod open;
mod pack;
mod pages;
mod pauses;
mod projects;
mod queue;
mod relation;
mod replace;
mod retain;
mod running;
mod salvage;
mod sessions;
mod show;
mod supersede;
mod survivors;
#[cfg(test)]
mod testing;
mod timeline;
mod transfer;
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

pub use backup::{UNFINISHED, check_backup};
pub use cards::{Card, CitedFile};
pub use changes::Change;
pub use claude_mem::{ClaudeMem, ForeignMemory};
pub use counts::Counts;
pub use distilled::{Distiller, FileMark, Made, ThenModel, TurnEvent, TurnProgress, TurnToDistil};
pub use documents::Fields;
pub use edit::Edit;
pub use filter::Filter;
pub use find::{FoundWord, Origin, Scope};
pub use for_model::{KnownObservation, MODEL_LATER_MS, MODEL_LEASE_MS, PastTurn, TurnForModel};
pub use forget::{Forgotten, Selection};
pub use hosts::HostSeen;
pub use intake::{Senses, Taken};
pub use ledger::{Budget, CallEnd, NewCall, Permit, Spending};
pub use line::Line;
pub use memories::{Note, Observation, Summary, TurnMemory, TurnSummary};
pub use notes::{Author, NewNote, Saved};
pub use open::{Access, Store, StoreError};
pub use pages::{At, Page};
pub use pauses::{NewPause, ProviderPause};
pub use projects::{Project, ProjectCard, ProjectError};
pub use queue::{Claim, ClaimedEvent, EventState, MOST_TRIES, Queue, QueueItem};
pub use retain::{Dropped, Retention};
pub use running::{Action, Running};
pub use salvage::Salvaged;
pub use sessions::{Session, SessionError, SessionFilter, Turn};
pub use show::{Evidence, Provenance, Shown, ToolUse};
pub use supersede::Superseding;
pub use timeline::Moment;
pub use transfer::{ReadyLine, TakenLines};
pub use vectors::{Begin, Coverage, StoredVector, ToEmbed};
pub use words::{Term, telling_words, terms};
