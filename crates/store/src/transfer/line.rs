//! A memory as one line of text: how memories leave the store and come from others.

use backstory_model::{MemoryKind, ObservationType, Timestamp};
use serde::{Serialize, Serializer};

/// A memory with everything that another store can use. What its kind does not have is empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemoryRecord {
    /// What it is.
    #[serde(serialize_with = "name")]
    pub kind: MemoryKind,
    /// The project's id, or whatever names it; a note without one holds everywhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The agent's id of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// When it came to be, in milliseconds since 1970.
    #[serde(
        rename = "created_at",
        serialize_with = "time",
        skip_serializing_if = "Option::is_none"
    )]
    pub created_at: Option<Timestamp>,
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
    /// What another tool calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// The branch: of the turn for a prompt, else of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Whether a person wants it kept in sight.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
}

impl MemoryRecord {
    /// Returns a line of a kind that says nothing yet.
    pub fn new(kind: MemoryKind) -> Self {
        Self {
            kind,
            project: None,
            session_id: None,
            created_at: None,
            type_name: None,
            title: None,
            subtitle: None,
            narrative: None,
            text: None,
            facts: Vec::new(),
            concepts: Vec::new(),
            request: None,
            investigated: None,
            learned: None,
            completed: None,
            next_steps: None,
            files_read: Vec::new(),
            files_modified: Vec::new(),
            files_edited: Vec::new(),
            notes: None,
            external_id: None,
            branch: None,
            pinned: false,
        }
    }

    /// Returns the type of an observation or a note.
    pub fn observation_type(&self) -> Option<ObservationType> {
        self.type_name.as_deref().and_then(ObservationType::from_name)
    }

    /// Returns the icon shown in lists.
    pub fn icon(&self) -> &'static str {
        self.kind.icon(self.observation_type())
    }

    /// Returns the line that the memory goes by.
    pub fn headline(&self) -> &str {
        let said = [
            &self.title,
            &self.request,
            &self.completed,
            &self.text,
            &self.notes,
            &self.learned,
            &self.next_steps,
            &self.investigated,
        ];
        said.into_iter()
            .flatten()
            .find_map(|text| text.lines().map(str::trim).find(|line| !line.is_empty()))
            .unwrap_or("(nothing)")
    }

    /// Returns everything that it says.
    pub(crate) fn everything(&self) -> String {
        let texts = [
            &self.title,
            &self.subtitle,
            &self.narrative,
            &self.text,
            &self.request,
            &self.investigated,
            &self.learned,
            &self.completed,
            &self.next_steps,
            &self.notes,
        ];
        let lists = [
            &self.facts,
            &self.concepts,
            &self.files_read,
            &self.files_modified,
            &self.files_edited,
        ];
        let texts = texts.into_iter().flatten().chain(lists.into_iter().flatten());
        texts.map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn name<S: Serializer>(kind: &MemoryKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.name())
}

#[expect(clippy::ref_option, reason = "serde hands out references")]
fn time<S: Serializer>(at: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    match at.map(|at| jiff::Timestamp::from_millisecond(at.as_millis())) {
        Some(Ok(time)) => serializer.collect_str(&time),
        _ => serializer.serialize_none(),
    }
}
