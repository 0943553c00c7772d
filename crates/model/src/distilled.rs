//! Memories that are not stored yet.

use crate::ObservationType;

/// Everything that is made of one turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distilled {
    /// Memories, in the order in which they came to be.
    pub observations: Vec<NewObservation>,
    /// The checkpoint; absent when nothing happened that is worth one.
    pub summary: Option<NewSummary>,
    /// Verbatim evidence, to be found by search.
    pub passages: Vec<NewPassage>,
    /// What the session is about, as far as this turn tells: one line.
    pub title: Option<String>,
    /// A second line to it.
    pub subtitle: Option<String>,
}

/// A memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewObservation {
    /// What it is about.
    pub kind: ObservationType,
    /// What is true since, in at most 100 characters.
    pub title: String,
    /// The circumstances, in at most 160 characters.
    pub subtitle: Option<String>,
    /// What happened and why, in a few sentences.
    pub narrative: Option<String>,
    /// Single facts that keep their names: files, functions, commands, versions, numbers, errors.
    pub facts: Vec<String>,
    /// Words from the list of concepts first: how-it-works, why-it-exists, what-changed, problem-solution, gotcha,
    /// pattern, trade-off.
    pub concepts: Vec<String>,
    /// Files that were read for it, relative to the root where they can be.
    pub files_read: Vec<String>,
    /// Files that tools changed, relative to the root where they can be; never guessed.
    pub files_modified: Vec<String>,
    /// The ids of the tool uses that it rests on.
    pub evidence: Vec<String>,
    /// The numbers of known observations that hold no longer because of it, where somebody could tell.
    pub supersedes: Vec<i64>,
}

/// A checkpoint of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewSummary {
    /// What was asked.
    pub request: Option<String>,
    /// What was looked at.
    pub investigated: Option<String>,
    /// What was found out.
    pub learned: Option<String>,
    /// What was done.
    pub completed: Option<String>,
    /// What is left to do, in the agent's or the person's words.
    pub next_steps: Option<String>,
    /// The entries of `next_steps` that are work to do, without offers and questions to the user. Absent when every entry
    /// is work to do.
    pub open_steps: Option<Vec<String>>,
    /// Files that were read.
    pub files_read: Vec<String>,
    /// Files that were changed.
    pub files_edited: Vec<String>,
    /// Open problems and anything else worth knowing.
    pub notes: Option<String>,
}

/// A verbatim piece of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPassage {
    /// What it is.
    pub kind: PassageKind,
    /// The words.
    pub text: String,
}

/// What a passage is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassageKind {
    /// What the agent said.
    Prose,
    /// A change to a file.
    Edit,
    /// A command with its result.
    Command,
    /// A failure.
    Error,
}

impl PassageKind {
    /// Returns the name used in the database.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Prose => "prose",
            Self::Edit => "edit",
            Self::Command => "command",
            Self::Error => "error",
        }
    }
}
