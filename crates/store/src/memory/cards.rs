//! A memory as every list, search and context shows it.

use backstory_model::{DocumentId, Handle, MemoryKind, ObservationId, ObservationType, Timestamp, TurnId};
use rusqlite::{OptionalExtension, Row};

use crate::{Fields, FileFingerprint, Store, StoreError, schema::open::query};

/// A memory with its circumstances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryView {
    /// How it is named.
    pub handle: Handle,
    /// An observation's type, or the type that a note was given.
    pub kind: Option<ObservationType>,
    /// What it says.
    pub fields: Fields,
    /// The project's display name; absent when it holds everywhere.
    pub project: Option<String>,
    /// The working tree that its files are in.
    pub root: Option<String>,
    /// The agent's id of its session.
    pub session_id: Option<String>,
    /// The branch that its session was on.
    pub branch: Option<String>,
    /// The number of its turn's row.
    pub turn_id: Option<TurnId>,
    /// Concepts.
    pub concepts: Vec<String>,
    /// Whether a person pinned it.
    pub is_pinned: bool,
    /// The memory that holds in its place.
    pub superseded_by: Option<ObservationId>,
    /// How often it was seen.
    pub seen: u32,
    /// The name that another store gave it.
    pub external_id: Option<String>,
    /// When it came to be, in milliseconds since 1970.
    pub created_at: Timestamp,
}

/// A file that a memory cites.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CitedFile {
    /// Where it was, from the root of the working tree.
    pub path: String,
    /// Whether tools changed it then.
    pub is_modified: bool,
    /// What it held then, as far as that is known.
    pub mark: Option<FileFingerprint>,
}

impl Store {
    /// Returns the memory of a document; `None` when it was forgotten meanwhile.
    pub fn card_of_document(&self, document: DocumentId) -> Result<Option<MemoryView>, StoreError> {
        const HANDLE: &str = "select kind, memory_id from document where id = ?1";
        let attempt = query("read a memory");
        let mut statement = self.connection.prepare_cached(HANDLE).map_err(attempt)?;
        let found = statement.query_row([document], |row| {
            Ok((MemoryKind::from_name(row.get_ref(0)?.as_str()?), row.get(1)?))
        });
        match found.optional().map_err(attempt)? {
            Some((Some(kind), id)) => self.card(Handle { kind, id }),
            _ => Ok(None),
        }
    }

    /// Returns a memory; `None` when there is none of that name.
    pub fn card(&self, handle: Handle) -> Result<Option<MemoryView>, StoreError> {
        let sql = match handle.kind {
            MemoryKind::Observation => OBSERVATION,
            MemoryKind::Summary => SUMMARY,
            MemoryKind::Prompt => PROMPT,
            MemoryKind::Note => NOTE,
            MemoryKind::Passage => PASSAGE,
        };
        let attempt = query("read a memory");
        let mut statement = self.connection.prepare_cached(sql).map_err(attempt)?;
        let card = statement.query_row([handle.id], |row| read(row, handle));
        let Some(mut card) = card.optional().map_err(attempt)? else {
            return Ok(None);
        };
        card.fields = self.fields(handle)?.unwrap_or_default();
        Ok(Some(card))
    }

    /// Returns the files that an observation cites, those that were changed first.
    pub fn cited_files(&self, observation: ObservationId) -> Result<Vec<CitedFile>, StoreError> {
        // In the order of the key: SQLite would set up a sorter for each of the many memories that a session start asks about.
        const FILES: &str = "select path, modified, content_hash, size from observation_file
            where observation_id = ?1 order by path";
        let attempt = query("read the files of a memory");
        let mut statement = self.connection.prepare_cached(FILES).map_err(attempt)?;
        let rows = statement.query_map([observation], |row| {
            let mark = match (row.get(2)?, row.get(3)?) {
                (Some(hash), Some(size)) => Some(FileFingerprint { hash, size }),
                _ => None,
            };
            Ok(CitedFile {
                path: row.get(0)?,
                is_modified: row.get(1)?,
                mark,
            })
        });
        let files: rusqlite::Result<Vec<CitedFile>> = rows.and_then(Iterator::collect);
        let mut files = files.map_err(attempt)?;
        files.sort_by_key(|file| !file.is_modified);
        Ok(files)
    }
}

// All have the same columns, in this order.
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
        kind: row.get(0)?,
        fields: Fields::default(),
        project: row.get(1)?,
        root: row.get(2)?,
        session_id: row.get(3)?,
        branch: row.get(4)?,
        turn_id: row.get(5)?,
        concepts: serde_json::from_str(row.get_ref(6)?.as_str()?).unwrap_or_default(),
        is_pinned: row.get(7)?,
        superseded_by: row.get(8)?,
        seen: row.get(9)?,
        external_id: row.get(10)?,
        created_at: row.get(11)?,
    })
}
