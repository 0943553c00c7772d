//! The content of one memory, as export and import exchange it.
//!
//! Import recognizes a memory by a hash of its record: a new field here must stay empty for existing memories, or an export of
//! an older version is imported twice.

use backstory_model::{MemoryKind, ObservationType, Timestamp};
use serde::{Serialize, Serializer};

/// Holds the complete content of a memory. Fields that its kind does not have are empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemoryRecord {
    /// The kind.
    pub kind: MemoryKind,
    /// The key of the project, or another name in imported lines; absent for a note that applies everywhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The agent's id of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The time of its turn.
    #[serde(
        rename = "created_at",
        serialize_with = "time",
        skip_serializing_if = "Option::is_none"
    )]
    pub created_at: Option<Timestamp>,
    /// The type of an observation or a note, or the kind of a passage.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_name: Option<String>,
    /// Observations: the title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Observations: the subtitle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subtitle: Option<String>,
    /// Observations: the narrative.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub narrative: Option<String>,
    /// Prompts, notes, passages: the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Observations: the facts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<String>,
    /// Observations: the concepts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub concepts: Vec<String>,
    /// Summaries: the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// Summaries: the investigation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub investigated: Option<String>,
    /// Summaries: the findings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub learned: Option<String>,
    /// Summaries: the completed work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed: Option<String>,
    /// Summaries: open work, offers and questions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_steps: Option<String>,
    /// The files that were read for it, or that a note is about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files_read: Vec<String>,
    /// Observations: the changed files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files_modified: Vec<String>,
    /// Summaries: the changed files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files_edited: Vec<String>,
    /// Summaries: open problems and other notes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// The id in another tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// The branch: of the turn for a prompt, else of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Pinned by the user.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
}

impl MemoryRecord {
    /// Returns an empty memory of a kind.
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

    /// Returns the line that represents the memory in lists.
    pub fn headline(&self) -> &str {
        let fields = [
            &self.title,
            &self.request,
            &self.completed,
            &self.text,
            &self.notes,
            &self.learned,
            &self.next_steps,
            &self.investigated,
        ];
        fields
            .into_iter()
            .flatten()
            .find_map(|text| text.lines().map(str::trim).find(|line| !line.is_empty()))
            .unwrap_or("(nothing)")
    }

    /// Returns all of its text.
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

#[expect(clippy::ref_option, reason = "serde hands out references")]
fn time<S: Serializer>(at: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    match at.map(|at| jiff::Timestamp::from_millisecond(at.as_millis())) {
        Some(Ok(time)) => serializer.collect_str(&time),
        _ => serializer.serialize_none(),
    }
}
