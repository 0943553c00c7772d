//! What the server asks of the program around it.

use std::{fmt, path::Path};

use backstory_model::{EventKind, Handle, Host, ProjectIdentity, Timestamp};
use backstory_recall::Limits;
use backstory_store::{Store, StoreError};
use serde_json::{Map, Value};

/// What became of an event that was handed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordOutcome {
    /// It is safe, and will be distilled.
    Queued,
    /// It is not wanted, and why.
    Skipped(String),
    /// It could not be kept, and why.
    Failed(String),
}

/// Why something that was asked for is not done, and what to do instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendError {
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

type ParseTime = dyn Fn(&str) -> Option<Timestamp> + Send + Sync;
type Record = dyn Fn(EventKind, &Host, &str, Option<ProjectIdentity>) -> RecordOutcome + Send + Sync;
type Sanitize = dyn Fn(&str) -> Option<String> + Send + Sync;
type Forget = dyn Fn(&mut Store, &[Handle]) -> Result<(), BackendError> + Send + Sync;
type Stats = dyn Fn(&Store) -> Result<Value, StoreError> + Send + Sync;
type Change = dyn Fn(&Map<String, Value>) -> Result<(), BackendError> + Send + Sync;

/// Clock, file system and settings, as the program around the server sees them.
pub struct Backend {
    /// Returns the time.
    pub now: fn() -> Timestamp,
    /// Reads a moment as people write it.
    pub moment: Box<ParseTime>,
    /// Finds the project of a folder.
    pub locate: fn(&Path) -> ProjectIdentity,
    /// Records an event as a hook does: its JSON is cut and redacted before anything is written. A project that is given
    /// counts instead of that of the folder in the JSON.
    pub record: Box<Record>,
    /// Takes in what waits in the spool.
    pub take_in: Box<dyn Fn(&mut Store) + Send + Sync>,
    /// Counts the events that wait in the spool.
    pub spooled: Box<dyn Fn() -> u64 + Send + Sync>,
    /// Returns what may be kept of a text; `None` when nothing is left.
    pub wash: Box<Sanitize>,
    /// Returns how much a new session is told.
    pub limits: Box<dyn Fn() -> Limits + Send + Sync>,
    /// Forgets memories, and leaves no byte of them in any file.
    pub forget: Box<Forget>,
    /// Returns how much is remembered, and what models cost.
    pub stats: Box<Stats>,
    /// Returns every setting with its value, where it comes from and what it accepts.
    pub settings: Box<dyn Fn() -> Value + Send + Sync>,
    /// Changes settings, all of them or none.
    pub change_settings: Box<Change>,
}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outside").finish_non_exhaustive()
    }
}
