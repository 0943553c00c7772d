use std::fmt;

use serde::{Deserialize, Serialize};

/// What an observation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ObservationType {
    /// Something was chosen, with its reason.
    Decision,
    /// Something was broken and is mended.
    Bugfix,
    /// Something new works.
    Feature,
    /// The same behaviour in another shape.
    Refactor,
    /// Something was found out.
    Discovery,
    /// Anything else that is different now.
    Change,
}

impl ObservationType {
    /// All types, in the order in which they are shown.
    pub const ALL: [Self; 6] = [
        Self::Decision,
        Self::Bugfix,
        Self::Feature,
        Self::Refactor,
        Self::Discovery,
        Self::Change,
    ];

    /// Finds the type that [`name`](Self::name) spells this way.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// Returns the sign that stands for it in lists.
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

    /// Returns the name used everywhere outside.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Decision => "decision",
            Self::Bugfix => "bugfix",
            Self::Feature => "feature",
            Self::Refactor => "refactor",
            Self::Discovery => "discovery",
            Self::Change => "change",
        }
    }
}

/// Where a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionStatus {
    /// It goes on.
    Active,
    /// A turn ended and waits to be distilled.
    Summarizing,
    /// It ended.
    Completed,
    /// Nothing was heard of it for a day.
    Interrupted,
    /// Its events could not be processed.
    Failed,
}

impl SessionStatus {
    /// Finds the status that [`name`](Self::name) spells this way.
    pub fn from_name(name: &str) -> Option<Self> {
        [
            Self::Active,
            Self::Summarizing,
            Self::Completed,
            Self::Interrupted,
            Self::Failed,
        ]
        .into_iter()
        .find(|status| status.name() == name)
    }

    /// Returns the name used in the database and outside.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Summarizing => "summarizing",
            Self::Completed => "completed",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
        }
    }
}

impl fmt::Display for SessionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
