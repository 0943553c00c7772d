//! Request, limits and result of a context block, shared by the modules that select and write it.

use std::path::Path;

use backstory_model::{Handle, ObservationType, Timestamp};
use backstory_store::Project;

/// Limits the content of a block.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The most memories.
    pub observations: usize,
    /// The most of them, in percent, that come from others.
    pub team_percent: usize,
    /// The most sessions that they come from.
    pub sessions: usize,
    /// Number of memories that are written in full.
    pub full: usize,
    /// Content of a memory that is written in full.
    pub full_field: FullField,
    /// The types that are included.
    pub types: Vec<ObservationType>,
    /// The concepts that are included; empty means all.
    pub concepts: Vec<String>,
    /// The most tokens.
    pub tokens: usize,
}

/// Selects the text of a memory that is written in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FullField {
    /// The narrative: events and reasons.
    Narrative,
    /// Single facts.
    Facts,
}

/// Describes the session that starts.
#[derive(Clone, Copy, Debug)]
pub struct ContextRequest<'s> {
    /// The project it works on.
    pub project: &'s Project,
    /// The branch that is checked out.
    pub branch: Option<&'s str>,
    /// Id of the session, if it continues after a compaction.
    pub compacted_session: Option<&'s str>,
    /// An experiment withholds all memories but pinned notes.
    pub is_withheld: bool,
    /// The time.
    pub now: Timestamp,
}

/// Holds a finished block.
#[derive(Clone, Debug, Default)]
pub struct ContextBlock {
    /// The block.
    pub text: String,
    /// Every memory that was considered, included ones first.
    pub entries: Vec<ContextEntry>,
    /// Number of open steps that it states.
    pub open_steps: usize,
    /// Time of the work that it continues.
    pub last_work: Option<Timestamp>,
}

/// Records a memory that was considered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextEntry {
    /// The memory.
    pub handle: Handle,
    /// Its text, in one line.
    pub title: String,
    /// Reason for including or skipping it.
    pub reason: String,
    /// Estimated tokens; 0 if it is skipped.
    pub tokens: usize,
    /// True if it is in the block.
    pub is_included: bool,
    /// True if only its title is in the block.
    pub is_title_only: bool,
    /// True if it would be in the block, and an experiment withholds it.
    pub is_withheld: bool,
}

/// Describes the time since a moment.
pub(crate) fn age(now: Timestamp, then: Timestamp) -> String {
    let hours = now.since(then).as_secs() / 3_600;
    match hours {
        0 => "less than an hour ago".to_owned(),
        1..48 => format!("{hours} h ago"),
        _ => format!("{} days ago", hours / 24),
    }
}

/// Returns the root of a project's working tree.
pub(super) fn root(project: &Project) -> &Path {
    Path::new(&project.root)
}
