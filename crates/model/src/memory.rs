//! Enums of sessions and memories, and the distiller's name.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::named::named_enum;

named_enum! {
    /// The subject of an observation, in display order.
    pub enum ObservationType {
        /// A choice, with its reason.
        Decision = "decision",
        /// A fixed bug.
        Bugfix = "bugfix",
        /// A new capability.
        Feature = "feature",
        /// The same behavior in another structure.
        Refactor = "refactor",
        /// A finding.
        Discovery = "discovery",
        /// Any other change.
        Change = "change",
    }
}

impl ObservationType {
    /// The icon of an observation that was tried and did not work, in place of that of its type.
    pub const REJECTED_ICON: &'static str = "⛔";

    /// Returns the icon shown in lists.
    pub const fn icon(self) -> &'static str {
        match self {
            Self::Decision => "🎯",
            Self::Bugfix => "🔴",
            Self::Feature => "🟢",
            Self::Refactor => "🔵",
            Self::Discovery => "🟡",
            Self::Change => "⚪",
        }
    }

    /// Returns the concept that every observation of this type has.
    pub const fn concept(self) -> &'static str {
        match self {
            Self::Decision => "trade-off",
            Self::Bugfix => "problem-solution",
            Self::Feature | Self::Refactor | Self::Change => "what-changed",
            Self::Discovery => "how-it-works",
        }
    }
}

named_enum! {
    /// The state of a session.
    pub enum SessionStatus {
        /// It is running.
        Active = "active",
        /// A turn ended and awaits distillation.
        Summarizing = "summarizing",
        /// It ended.
        Completed = "completed",
        /// No event arrived for a day.
        Interrupted = "interrupted",
        /// Its events failed permanently.
        Failed = "failed",
    }
}

named_enum! {
    /// The state of the work that a memory is about, as git has it.
    pub enum BranchState {
        /// It is on a branch that is not merged.
        Working = "working",
        /// The main branch has it.
        Merged = "merged",
        /// Its branch was deleted without a merge, or its commit was reverted.
        Abandoned = "abandoned",
    }
}

named_enum! {
    /// What became of a memory that was injected into a session.
    pub enum RecallOutcome {
        /// A sign of it shows in what the agent did or said afterwards, and not before.
        Used = "used",
        /// No sign of it shows.
        Ignored = "ignored",
        /// It was marked as wrong, or the error that it resolves came back.
        Contradicted = "contradicted",
    }
}

named_enum! {
    /// The author of a note.
    pub enum NoteAuthor {
        /// The user.
        User = "person",
        /// An agent.
        Agent = "agent",
        /// Another store, by way of an import.
        Import = "import",
    }
}

/// Names what made a memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Distiller {
    /// The built-in rules.
    Builtin,
    /// Another store, by way of an import.
    Import,
    /// A model, by provider and name.
    Model(String),
}

impl Distiller {
    const BUILTIN: &'static str = "builtin";
    const IMPORT: &'static str = "import";

    /// Returns the name used in the database and outside.
    pub fn name(&self) -> &str {
        match self {
            Self::Builtin => Self::BUILTIN,
            Self::Import => Self::IMPORT,
            Self::Model(name) => name,
        }
    }

    /// Reads a [`name`](Self::name). Every other name is a model's.
    pub fn from_name(name: &str) -> Self {
        match name {
            Self::BUILTIN => Self::Builtin,
            Self::IMPORT => Self::Import,
            model => Self::Model(model.to_owned()),
        }
    }
}

impl fmt::Display for Distiller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for Distiller {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[cfg(feature = "rusqlite")]
impl rusqlite::ToSql for Distiller {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        Ok(self.name().into())
    }
}

#[cfg(feature = "rusqlite")]
impl rusqlite::types::FromSql for Distiller {
    fn column_result(value: rusqlite::types::ValueRef<'_>) -> rusqlite::types::FromSqlResult<Self> {
        value.as_str().map(Self::from_name)
    }
}
