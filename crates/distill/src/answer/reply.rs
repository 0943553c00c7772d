//! Content of a model's answer, after parsing.

use backstory_model::{ObservationId, ObservationType};

/// Holds the answer of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Its memories.
    pub observations: Vec<ModelObservation>,
    /// Its summary of the turn.
    pub summary: Option<ModelSummary>,
}

/// A memory as a model wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelObservation {
    /// Type of the memory.
    pub kind: ObservationType,
    /// The statement, in one line.
    pub title: String,
    /// The circumstances.
    pub subtitle: Option<String>,
    /// Events and reasons.
    pub narrative: Option<String>,
    /// Single facts.
    pub facts: Vec<String>,
    /// Concepts.
    pub concepts: Vec<String>,
    /// Files that it names; kept only if a tool call confirms them.
    pub files: Vec<String>,
    /// Known memories that it declares outdated.
    pub supersedes: Vec<ObservationId>,
}

/// A summary as a model wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelSummary {
    /// The user's request.
    pub request: Option<String>,
    /// Investigated files and topics.
    pub investigated: Option<String>,
    /// Findings.
    pub learned: Option<String>,
    /// Finished work.
    pub completed: Option<String>,
    /// Remaining work.
    pub next_steps: Option<String>,
    /// Open problems.
    pub notes: Option<String>,
}
