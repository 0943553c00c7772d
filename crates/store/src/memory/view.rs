//! A memory as lists, search results and injections show it.

use backstory_model::{DocumentId, Handle, MemoryKind, ObservationId, ObservationType, Timestamp, TurnId};
use rusqlite::{Connection, Row};

use crate::{
    Fields, FileFingerprint, Store, StoreError,
    memory::documents,
    sql::{ListColumns as _, Statements as _},
};

/// Holds a memory with its project, session and state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryView {
    /// The handle.
    pub handle: Handle,
    /// The type of an observation or a note.
    pub kind: Option<ObservationType>,
    /// The text.
    pub fields: Fields,
    /// The display name of the project; absent if it applies everywhere.
    pub project: Option<String>,
    /// The working tree that its files are in.
    pub root: Option<String>,
    /// The agent's id of the session.
    pub session_id: Option<String>,
    /// The branch of the session.
    pub branch: Option<String>,
    /// The turn.
    pub turn_id: Option<TurnId>,
    /// The concepts.
    pub concepts: Vec<String>,
    /// Pinned by the user.
    pub is_pinned: bool,
    /// The memory that superseded it.
    pub superseded_by: Option<ObservationId>,
    /// The number of sightings.
    pub seen: u32,
    /// The id in another tool.
    pub external_id: Option<String>,
    /// The time of its turn.
    pub created_at: Timestamp,
}

/// Holds a file that an observation cites.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CitedFile {
    /// The path, relative to the working tree.
    pub path: String,
    /// Tools changed it.
    pub is_modified: bool,
    /// The fingerprint of its content at that time, if known.
    pub mark: Option<FileFingerprint>,
}

impl Store {
    /// Returns the memory of a document; `None` if it was forgotten.
    pub fn card_of_document(&self, document: DocumentId) -> Result<Option<MemoryView>, StoreError> {
        const HANDLE: &str = "select kind, memory_id from document where id = ?1";
        self.read("read a memory", |connection| {
            let handle = connection.optional_row(HANDLE, [document], |row| {
                Ok(Handle {
                    kind: row.get("kind")?,
                    id: row.get("memory_id")?,
                })
            })?;
            match handle {
                Some(handle) => view(connection, handle),
                None => Ok(None),
            }
        })
    }

    /// Returns a memory; `None` if it does not exist.
    pub fn card(&self, handle: Handle) -> Result<Option<MemoryView>, StoreError> {
        self.read("read a memory", |connection| view(connection, handle))
    }

    /// Returns the files that an observation cites, the changed ones first.
    pub fn cited_files(&self, observation: ObservationId) -> Result<Vec<CitedFile>, StoreError> {
        // In the order of the key, and by position: a session start runs this for many memories.
        const FILES: &str = "select path, modified, content_hash, size from observation_file
            where observation_id = ?1 order by path";
        self.read("read the files of a memory", |connection| {
            let mut files = connection.rows(FILES, [observation], |row| {
                let mark = match (row.get(2)?, row.get(3)?) {
                    (Some(hash), Some(size)) => Some(FileFingerprint { hash, size }),
                    _ => None,
                };
                Ok(CitedFile {
                    path: row.get(0)?,
                    is_modified: row.get(1)?,
                    mark,
                })
            })?;
            files.sort_by_key(|file| !file.is_modified);
            Ok(files)
        })
    }
}

fn view(connection: &Connection, handle: Handle) -> rusqlite::Result<Option<MemoryView>> {
    let sql = match handle.kind {
        MemoryKind::Observation => OBSERVATION,
        MemoryKind::Summary => SUMMARY,
        MemoryKind::Prompt => PROMPT,
        MemoryKind::Note => NOTE,
        MemoryKind::Passage => PASSAGE,
    };
    let Some(mut view) = connection.optional_row(sql, [handle.id], |row| read(row, handle))? else {
        return Ok(None);
    };
    view.fields = documents::fields(connection, handle)?.unwrap_or_default();
    Ok(Some(view))
}

// All have the same columns, in this order. Read by position: a search reads dozens of views.
const OBSERVATION: &str =
    "select memory.type, project.name, coalesce(session.worktree, project.root), session.session_id,
        session.branch, memory.turn_id, memory.concepts, memory.pinned, memory.superseded_by, memory.seen,
        memory.external_id, memory.created_at
    from observation as memory join project on project.id = memory.project_id
        left join session on session.id = memory.session_db_id
    where memory.id = ?1";
const SUMMARY: &str =
    "select null, project.name, coalesce(session.worktree, project.root), session.session_id,
        session.branch, memory.turn_id, '[]', memory.pinned, null, 1, memory.external_id, memory.created_at
    from summary as memory join project on project.id = memory.project_id
        left join session on session.id = memory.session_db_id
    where memory.id = ?1";
const PROMPT: &str = "select null, project.name, coalesce(session.worktree, project.root), session.session_id,
        coalesce(memory.branch, session.branch), memory.id, '[]', memory.pinned, null, 1, memory.external_id, memory.started_at
    from turn as memory join session on session.id = memory.session_db_id
        join project on project.id = session.project_id
    where memory.id = ?1 and memory.prompt is not null";
const NOTE: &str =
    "select memory.type, project.name, coalesce(session.worktree, project.root), session.session_id,
        session.branch, null, '[]', memory.pinned, null, 1, memory.external_id, memory.created_at
    from note as memory left join project on project.id = memory.project_id
        left join session on session.id = memory.session_db_id
    where memory.id = ?1";
const PASSAGE: &str =
    "select null, project.name, coalesce(session.worktree, project.root), session.session_id,
        session.branch, memory.turn_id, '[]', memory.pinned, null, 1, memory.external_id, memory.created_at
    from passage as memory join project on project.id = memory.project_id
        left join session on session.id = memory.session_db_id
    where memory.id = ?1";

fn read(row: &Row<'_>, handle: Handle) -> rusqlite::Result<MemoryView> {
    Ok(MemoryView {
        handle,
        // The type of an imported note can be any text.
        kind: row
            .get_ref(0)?
            .as_str_or_null()?
            .and_then(ObservationType::from_name),
        fields: Fields::default(),
        project: row.get(1)?,
        root: row.get(2)?,
        session_id: row.get(3)?,
        branch: row.get(4)?,
        turn_id: row.get(5)?,
        concepts: row.list(6)?,
        is_pinned: row.get(7)?,
        superseded_by: row.get(8)?,
        seen: row.get(9)?,
        external_id: row.get(10)?,
        created_at: row.get(11)?,
    })
}
