//! Memories that distillation made and that are not stored yet.

use crate::{ObservationId, ObservationType};

/// Holds the result of distilling one turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distilled {
    /// Observations, in the order of the turn.
    pub observations: Vec<NewObservation>,
    /// The checkpoint; absent after small talk.
    pub summary: Option<NewSummary>,
    /// The subject of the session according to this turn, in one line.
    pub title: Option<String>,
    /// The second line of the title.
    pub subtitle: Option<String>,
}

/// Holds an observation before it has an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewObservation {
    /// The subject.
    pub kind: ObservationType,
    /// The statement, in at most 100 characters.
    pub title: String,
    /// The circumstances, in at most 160 characters.
    pub subtitle: Option<String>,
    /// Events and reasons, in a few sentences.
    pub narrative: Option<String>,
    /// Single facts that keep their names: files, functions, commands, versions, numbers, errors.
    pub facts: Vec<String>,
    /// Words from the list of concepts first: how-it-works, why-it-exists, what-changed, problem-solution, gotcha,
    /// pattern, trade-off.
    pub concepts: Vec<String>,
    /// Files that were read for it, relative to the project root if inside.
    pub files_read: Vec<String>,
    /// Files that tools changed, relative to the project root if inside. From tool evidence only.
    pub files_modified: Vec<String>,
    /// The agent's ids of the tool uses that support it.
    pub evidence: Vec<String>,
    /// Stored observations that it supersedes, as far as the distiller knows.
    pub supersedes: Vec<ObservationId>,
}

/// Holds a checkpoint of a session before it has an id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewSummary {
    /// The request.
    pub request: Option<String>,
    /// The investigation.
    pub investigated: Option<String>,
    /// The findings.
    pub learned: Option<String>,
    /// The completed work.
    pub completed: Option<String>,
    /// Open work, offers and questions, as display text.
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
