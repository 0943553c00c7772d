//! The complete content of one memory, for display, export and import.

use backstory_model::{Handle, MemoryKind, ObservationType, Timestamp};
use rusqlite::{Connection, Row};
use serde::{Serialize, Serializer};

use crate::{
    Store, StoreError,
    memory::pack::unpack,
    sql::{ListColumns as _, Statements as _},
};

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

/// The order of memories with the same time: the order in which a turn produces them.
pub(crate) const CHRONOLOGICAL: [MemoryKind; 5] = [
    MemoryKind::Prompt,
    MemoryKind::Passage,
    MemoryKind::Observation,
    MemoryKind::Summary,
    MemoryKind::Note,
];

/// Returns the position of a kind in [`CHRONOLOGICAL`].
pub(crate) fn chronological_position(kind: MemoryKind) -> u8 {
    let position = CHRONOLOGICAL.iter().position(|one| *one == kind);
    u8::try_from(position.unwrap_or_default()).unwrap_or_default()
}

impl Store {
    /// Returns a memory; `None` if it does not exist.
    pub fn line(&self, handle: Handle) -> Result<Option<MemoryRecord>, StoreError> {
        self.read("read a memory", |connection| read(connection, handle))
    }
}

/// Returns true if a memory exists.
pub(crate) fn exists(connection: &Connection, handle: Handle) -> rusqlite::Result<bool> {
    let sql = match handle.kind {
        MemoryKind::Observation => "select 1 from observation where id = ?1",
        MemoryKind::Summary => "select 1 from summary where id = ?1",
        MemoryKind::Note => "select 1 from note where id = ?1",
        MemoryKind::Passage => "select 1 from passage where id = ?1",
        MemoryKind::Prompt => "select 1 from turn where id = ?1 and prompt is not null",
    };
    connection.has_row(sql, [handle.id])
}

/// Reads a memory; `None` if it does not exist. Also reads damaged databases of older schemas, so it must not use columns
/// that they do not have.
pub(crate) fn read(connection: &Connection, handle: Handle) -> rusqlite::Result<Option<MemoryRecord>> {
    // All kinds have the columns up to `pinned`.
    const OBSERVATION: &str =
        "select project.key as project, session.session_id as session_id, memory.created_at as created_at,
            session.branch as branch, memory.external_id as external_id, memory.pinned as pinned,
            type, memory.title as title, memory.subtitle as subtitle, narrative, facts, concepts, files_read,
            files_modified
        from observation as memory join project on project.id = memory.project_id
            left join session on session.id = memory.session_db_id where memory.id = ?1";
    const SUMMARY: &str =
        "select project.key as project, session.session_id as session_id, memory.created_at as created_at,
            session.branch as branch, memory.external_id as external_id, memory.pinned as pinned,
            request, investigated, learned, completed, next_steps, files_read, files_edited, notes
        from summary as memory join project on project.id = memory.project_id
            left join session on session.id = memory.session_db_id where memory.id = ?1";
    const NOTE: &str =
        "select project.key as project, session.session_id as session_id, memory.created_at as created_at,
            session.branch as branch, memory.external_id as external_id, memory.pinned as pinned,
            type, text, files
        from note as memory left join project on project.id = memory.project_id
            left join session on session.id = memory.session_db_id where memory.id = ?1";
    const PROMPT: &str =
        "select project.key as project, session.session_id as session_id, memory.started_at as created_at,
            coalesce(memory.branch, session.branch) as branch, memory.external_id as external_id,
            memory.pinned as pinned, prompt
        from turn as memory join session on session.id = memory.session_db_id
            join project on project.id = session.project_id where memory.id = ?1 and prompt is not null";
    const PASSAGE: &str =
        "select project.key as project, session.session_id as session_id, memory.created_at as created_at,
            session.branch as branch, memory.external_id as external_id, memory.pinned as pinned,
            kind, text, packed
        from passage as memory join project on project.id = memory.project_id
            left join session on session.id = memory.session_db_id where memory.id = ?1";
    type Fill = fn(&Row<'_>, &mut MemoryRecord) -> rusqlite::Result<()>;
    let (sql, fill): (&str, Fill) = match handle.kind {
        MemoryKind::Observation => (OBSERVATION, fill_observation),
        MemoryKind::Summary => (SUMMARY, fill_summary),
        MemoryKind::Note => (NOTE, |row, memory| {
            memory.type_name = row.get("type")?;
            memory.text = row.get("text")?;
            memory.files_read = row.list("files")?;
            Ok(())
        }),
        MemoryKind::Prompt => (PROMPT, |row, memory| {
            memory.text = row.get("prompt")?;
            Ok(())
        }),
        MemoryKind::Passage => (PASSAGE, |row, memory| {
            memory.type_name = row.get("kind")?;
            memory.text = Some(unpack(row.get("text")?, row.get("packed")?));
            Ok(())
        }),
    };
    connection.optional_row(sql, [handle.id], |row| {
        let mut memory = MemoryRecord::new(handle.kind);
        memory.project = row.get("project")?;
        memory.session_id = row.get("session_id")?;
        memory.created_at = row.get("created_at")?;
        memory.branch = row.get("branch")?;
        memory.external_id = row.get("external_id")?;
        memory.pinned = row.get("pinned")?;
        fill(row, &mut memory)?;
        Ok(memory)
    })
}

fn fill_observation(row: &Row<'_>, memory: &mut MemoryRecord) -> rusqlite::Result<()> {
    memory.type_name = row.get("type")?;
    memory.title = row.get("title")?;
    memory.subtitle = row.get("subtitle")?;
    memory.narrative = row.get("narrative")?;
    memory.facts = row.list("facts")?;
    memory.concepts = row.list("concepts")?;
    memory.files_read = row.list("files_read")?;
    memory.files_modified = row.list("files_modified")?;
    Ok(())
}

fn fill_summary(row: &Row<'_>, memory: &mut MemoryRecord) -> rusqlite::Result<()> {
    memory.request = row.get("request")?;
    memory.investigated = row.get("investigated")?;
    memory.learned = row.get("learned")?;
    memory.completed = row.get("completed")?;
    memory.next_steps = row.get("next_steps")?;
    memory.files_read = row.list("files_read")?;
    memory.files_edited = row.list("files_edited")?;
    memory.notes = row.get("notes")?;
    Ok(())
}

#[expect(clippy::ref_option, reason = "serde hands out references")]
fn time<S: Serializer>(at: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    match at.map(|at| jiff::Timestamp::from_millisecond(at.as_millis())) {
        Some(Ok(time)) => serializer.collect_str(&time),
        _ => serializer.serialize_none(),
    }
}
