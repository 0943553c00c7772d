//! A memory as it is shown: found by a search, by itself, or as a moment among others.

use backstory_model::Handle;
use backstory_recall as recall;
use backstory_store as store;
use schemars::JsonSchema;
use serde::Serialize;

use super::rfc3339;

/// A memory that was found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SearchHitJson {
    /// What names it: 123, S12, P34, N5, V678.
    pub id: String,
    /// observation, summary, prompt, note or passage.
    pub kind: &'static str,
    /// An observation's type, or that of a note.
    #[serde(rename = "type")]
    pub type_name: Option<String>,
    /// What it is about, in a line.
    pub title: String,
    /// The circumstances.
    pub subtitle: Option<String>,
    /// The part of it that answers.
    pub snippet: String,
    /// The project's display name; absent when it holds everywhere.
    pub project: Option<String>,
    /// The agent's id of its session.
    pub session_id: Option<String>,
    /// When it came to be.
    pub created_at: String,
    /// How sure it is that this was looked for, from 0 to 1.
    pub score: f64,
    /// About how many tokens all of it has.
    pub tokens: usize,
    /// Whether a file that it cites has changed since.
    pub stale: bool,
    /// What another tool calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// The memory that holds in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
}

impl From<&recall::SearchHit> for SearchHitJson {
    fn from(hit: &recall::SearchHit) -> Self {
        let card = &hit.card;
        Self {
            id: card.handle.to_string(),
            kind: card.handle.kind.name(),
            type_name: card.kind.clone(),
            title: hit.title(),
            subtitle: Some(card.fields.subtitle.clone()).filter(|text| !text.is_empty()),
            snippet: hit.snippet.clone(),
            project: card.project.clone(),
            session_id: card.session_id.clone(),
            created_at: rfc3339(card.created_ms),
            score: (hit.score * 1000.0).round() / 1000.0,
            tokens: hit.tokens(),
            stale: hit.is_stale,
            external_id: card.external_id.clone(),
            superseded_by: card.superseded_by.map(|id| id.to_string()),
        }
    }
}

/// A memory with everything that it says. What its kind does not have is left out.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Memory {
    /// What names it.
    pub id: String,
    /// observation, summary, prompt, note or passage.
    pub kind: &'static str,
    /// The project's id.
    pub project: Option<String>,
    /// The agent's id of the session.
    pub session_id: Option<String>,
    /// When it came to be.
    pub created_at: Option<String>,
    /// What another tool calls it.
    pub external_id: Option<String>,
    /// The type of an observation or a note; what a passage is.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_name: Option<String>,
    /// Observations: what is true since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Observations: the circumstances.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subtitle: Option<String>,
    /// Observations: what happened and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub narrative: Option<String>,
    /// Prompts, notes, passages: the words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Observations: single facts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<String>,
    /// Observations: what they teach.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub concepts: Vec<String>,
    /// Summaries: what was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// Summaries: what was looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub investigated: Option<String>,
    /// Summaries: what was found out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub learned: Option<String>,
    /// Summaries: what was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed: Option<String>,
    /// Summaries: what is left to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_steps: Option<String>,
    /// Files that were read for it, or that a note is about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files_read: Vec<String>,
    /// Observations: files that were changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files_modified: Vec<String>,
    /// Summaries: files that were changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files_edited: Vec<String>,
    /// Summaries: open problems and anything else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// The branch: of the turn for a prompt, else of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Whether a person wants it kept in sight.
    pub pinned: bool,
}

impl Memory {
    /// Shows a memory.
    pub fn new(handle: Handle, line: store::MemoryRecord) -> Self {
        Self {
            id: handle.to_string(),
            kind: line.kind.name(),
            project: line.project,
            session_id: line.session_id,
            created_at: line.created_ms.map(rfc3339),
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
            branch: line.branch,
            pinned: line.pinned,
        }
    }
}

/// A moment around a memory.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TimelineEntryJson {
    /// Whether it is the one that was asked for.
    pub anchor: bool,
    /// The memory.
    #[serde(flatten)]
    pub memory: Memory,
}

impl From<store::TimelineEntry> for TimelineEntryJson {
    fn from(moment: store::TimelineEntry) -> Self {
        Self {
            anchor: moment.is_anchor,
            memory: Memory::new(moment.handle, moment.line),
        }
    }
}
