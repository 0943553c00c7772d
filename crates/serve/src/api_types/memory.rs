//! A memory: as a search hit, in full, and as an entry of a timeline.

use backstory_model::BranchState;
use backstory_recall as recall;
use backstory_store as store;
use schemars::JsonSchema;
use serde::Serialize;

use super::rfc3339;

/// A search result.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SearchHit")]
pub struct SearchHitJson {
    /// Handle: 123, S12, P34, N5 or V678.
    pub id: String,
    /// observation, summary, prompt, note or passage.
    pub kind: &'static str,
    /// Type of an observation or note.
    #[serde(rename = "type")]
    pub type_name: Option<String>,
    /// Title, in one line.
    pub title: String,
    /// Subtitle of an observation.
    pub subtitle: Option<String>,
    /// Best-matching part of the text.
    pub snippet: String,
    /// Display name of the project; absent for a memory of all projects.
    pub project: Option<String>,
    /// The agent's id of the session.
    pub session_id: Option<String>,
    /// Creation time.
    pub created_at: String,
    /// Relevance, from 0 to 1.
    pub score: f64,
    /// Estimated tokens of the full memory.
    pub tokens: usize,
    /// True if a cited file has changed since.
    pub stale: bool,
    /// Id in another tool, for imported memories.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// The memory that supersedes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
    /// True if it was tried and did not work.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rejected: bool,
    /// The person who shared it, for a memory of another person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_by: Option<String>,
    /// What people think of it, for a memory of another person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opinions: Option<String>,
    /// Branch, commit and state of its work.
    #[serde(flatten)]
    pub work: WorkJson,
}

/// The work that a memory is about, as git has it; fields that are not known are absent.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "Work")]
pub struct WorkJson {
    /// Branch at the end of its turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Commit with its work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// working, merged or abandoned, at the last check.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch_state: Option<&'static str>,
    /// Commit that reverts it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reverted_by: Option<String>,
}

impl From<&store::Memory> for WorkJson {
    fn from(memory: &store::Memory) -> Self {
        let work = memory.work.as_ref();
        Self {
            branch: memory.record.branch.clone(),
            commit: work
                .and_then(|work| work.commit.clone())
                .or_else(|| memory.shared_commit.clone()),
            branch_state: work.and_then(|work| work.state).map(BranchState::name),
            reverted_by: work.and_then(|work| work.reverted_by.clone()),
        }
    }
}

impl From<&recall::SearchHit> for SearchHitJson {
    fn from(hit: &recall::SearchHit) -> Self {
        let memory = &hit.memory;
        let record = &memory.record;
        // The type of a passage is not part of this answer.
        let type_name = record.observation_type().map(|kind| kind.to_string());
        Self {
            id: memory.handle.to_string(),
            kind: memory.handle.kind.name(),
            type_name,
            title: hit.title(),
            subtitle: Some(memory.fields().subtitle).filter(|text| !text.is_empty()),
            snippet: hit.snippet.clone(),
            project: memory.project_name.clone(),
            session_id: record.session_id.clone(),
            created_at: rfc3339(memory.created_at),
            score: (hit.score * 1000.0).round() / 1000.0,
            tokens: hit.tokens(),
            stale: hit.is_stale,
            external_id: record.external_id.clone(),
            superseded_by: memory.superseded_by.map(|id| id.to_string()),
            rejected: memory.rejected,
            shared_by: memory.shared_by.clone(),
            opinions: memory.opinions.label(),
            work: memory.into(),
        }
    }
}

/// A memory with all fields of its kind; other fields are absent.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Memory")]
pub struct MemoryJson {
    /// Handle: 123, S12, P34, N5 or V678.
    pub id: String,
    /// observation, summary, prompt, note or passage.
    pub kind: &'static str,
    /// Id of the project.
    pub project: Option<String>,
    /// The agent's id of the session.
    pub session_id: Option<String>,
    /// Creation time.
    pub created_at: Option<String>,
    /// Id in another tool, for imported memories.
    pub external_id: Option<String>,
    /// Type of an observation, note or passage.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_name: Option<String>,
    /// Observations: title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Observations: subtitle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subtitle: Option<String>,
    /// Observations: what happened and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub narrative: Option<String>,
    /// Prompts, notes, passages: full text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Observations: single facts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<String>,
    /// Observations: concepts, such as `gotcha`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub concepts: Vec<String>,
    /// Summaries: request of the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// Summaries: what was investigated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub investigated: Option<String>,
    /// Summaries: what was learned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub learned: Option<String>,
    /// Summaries: what was completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed: Option<String>,
    /// Summaries: open work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_steps: Option<String>,
    /// Files that were read, or that a note is about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files_read: Vec<String>,
    /// Observations: changed files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files_modified: Vec<String>,
    /// Summaries: changed files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files_edited: Vec<String>,
    /// Summaries: open problems and other notes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// Branch, commit and state of its work.
    #[serde(flatten)]
    pub work: WorkJson,
    /// True if pinned.
    pub pinned: bool,
    /// Observations: true if it was tried and did not work.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rejected: bool,
}

impl From<store::Memory> for MemoryJson {
    fn from(memory: store::Memory) -> Self {
        let work = WorkJson::from(&memory);
        let line = memory.record;
        Self {
            id: memory.handle.to_string(),
            kind: line.kind.name(),
            project: line.project,
            session_id: line.session_id,
            created_at: line.created_at.map(rfc3339),
            external_id: line.external_id,
            type_name: line.type_name,
            title: line.title,
            subtitle: line.subtitle,
            narrative: line.narrative,
            text: line.text,
            facts: line.facts,
            concepts: line.concepts,
            request: line.request,
            investigated: line.investigated,
            learned: line.learned,
            completed: line.completed,
            next_steps: line.next_steps,
            files_read: line.files_read,
            files_modified: line.files_modified,
            files_edited: line.files_edited,
            notes: line.notes,
            work,
            pinned: line.pinned,
            rejected: memory.rejected,
        }
    }
}

/// An entry of a timeline.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TimelineEntry")]
pub struct TimelineEntryJson {
    /// True for the requested memory.
    pub anchor: bool,
    /// The memory.
    #[serde(flatten)]
    pub memory: MemoryJson,
}

impl From<store::TimelineEntry> for TimelineEntryJson {
    fn from(entry: store::TimelineEntry) -> Self {
        Self {
            anchor: entry.is_anchor,
            memory: entry.memory.into(),
        }
    }
}
