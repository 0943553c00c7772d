//! Reads a stored memory: one type and one statement per kind for display, search, export and indexing.
//!
//! Only the context block has narrower types of its own (`recent`), because a session start waits for it.

use backstory_model::{
    DocumentId, Handle, MemoryKind, NoteAuthor, ObservationId, ProjectId, SessionId, Timestamp, TurnId,
};
use backstory_text::one_line;
use rusqlite::{Connection, Row};

use crate::{
    Fields, FileFingerprint, MemoryRecord, Opinions, Store, StoreError, TurnCommit, Verdict,
    memory::{impact, pack::unpack},
    sessions::turn_git,
    sql::{ListColumns as _, Statements as _},
    team::opinions,
};

/// Holds a stored memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The handle.
    pub handle: Handle,
    /// The content.
    pub record: MemoryRecord,
    /// The display name of the project; absent if the memory applies everywhere.
    pub project_name: Option<String>,
    /// The working tree that its files are in.
    pub root: Option<String>,
    /// The turn.
    pub turn_id: Option<TurnId>,
    /// Passages: the last sentence of agent prose before it.
    pub intent: Option<String>,
    /// Passages: the file that it is about.
    pub path: Option<String>,
    /// Passages: the position of its evidence item within the turn.
    pub position: Option<u32>,
    /// Observations: it was tried and did not work.
    pub rejected: bool,
    /// Notes: the author.
    pub author: Option<NoteAuthor>,
    /// The commit and the state of its work; absent outside of repositories.
    pub work: Option<TurnCommit>,
    /// The factor by which earlier outcomes of its injections change its rank, in thousandths.
    pub weight: u32,
    /// Memories of others: the name of the person who shared it.
    pub shared_by: Option<String>,
    /// Memories of others: the commit that it was made on.
    pub shared_commit: Option<String>,
    /// Memories of others: what people think of it.
    pub opinions: Opinions,
    /// The number of sightings.
    pub seen: u32,
    /// The memory that superseded it.
    pub superseded_by: Option<Handle>,
    /// The time of its turn.
    pub created_at: Timestamp,
    pub(crate) project_db_id: Option<ProjectId>,
    pub(crate) session_db_id: Option<SessionId>,
}

impl Memory {
    /// Returns the label of a memory that is not the user's own: shared by another person, or a note that an agent saved,
    /// whose text may pass for the user's words.
    pub fn author_label(&self) -> Option<String> {
        if let Some(name) = &self.shared_by {
            let opinions = self.opinions.label().map(|label| format!(", {label}"));
            return Some(format!(
                "shared by {}{}",
                one_line(name, 40),
                opinions.unwrap_or_default()
            ));
        }
        agent_label(self.author?, self.project_name.as_deref())
    }

    /// Reports whether agents may be told it unasked: nothing replaces it, and the user does not find it wrong.
    pub fn is_valid(&self) -> bool {
        self.superseded_by.is_none() && self.opinions.own != Verdict::Wrong
    }

    /// Returns its text by the columns of the word index.
    pub fn fields(&self) -> Fields {
        let record = &self.record;
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        match self.handle.kind {
            MemoryKind::Observation | MemoryKind::Team => Fields {
                title: text(&record.title),
                subtitle: text(&record.subtitle),
                facts: record.facts.join("\n"),
                narrative: text(&record.narrative),
                files: join([record.files_modified.join("\n"), record.files_read.join("\n")]),
            },
            MemoryKind::Summary => Fields {
                title: text(&record.request),
                facts: join([text(&record.completed), text(&record.next_steps)]),
                narrative: join([
                    text(&record.learned),
                    text(&record.investigated),
                    text(&record.notes),
                ]),
                files: record.files_edited.join("\n"),
                ..Fields::default()
            },
            MemoryKind::Prompt | MemoryKind::Note | MemoryKind::Passage => Fields {
                subtitle: text(&self.intent),
                narrative: text(&record.text),
                files: join([record.files_read.join("\n"), text(&self.path)]),
                ..Fields::default()
            },
        }
    }
}

/// Returns the label of a note by its author, if it needs one.
pub(crate) fn agent_label(author: NoteAuthor, project: Option<&str>) -> Option<String> {
    if author != NoteAuthor::Agent {
        return None;
    }
    let project = project.map(|name| format!(" in {}", one_line(name, 80)));
    Some(format!("noted by an agent{}", project.unwrap_or_default()))
}

fn join<const N: usize>(parts: [String; N]) -> String {
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n")
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
    /// Returns a memory, or its successor if its id is gone; `None` if neither exists.
    pub fn memory(&self, handle: Handle) -> Result<Option<Memory>, StoreError> {
        self.read("read a memory", |connection| {
            read(connection, resolve(connection, handle)?)
        })
    }

    /// Returns the handle under which a memory is stored now: its own, or that of its successor.
    pub fn resolve(&self, handle: Handle) -> Result<Handle, StoreError> {
        self.read("look for a memory", |connection| resolve(connection, handle))
    }

    /// Returns the memory of a document; `None` if it was forgotten.
    pub fn memory_of_document(&self, document: DocumentId) -> Result<Option<Memory>, StoreError> {
        const HANDLE: &str = "select kind, memory_id from document where id = ?1";
        self.read("read a memory", |connection| {
            let handle = connection.optional_row(HANDLE, [document], |row| {
                Ok(Handle {
                    kind: row.get("kind")?,
                    id: row.get("memory_id")?,
                })
            })?;
            match handle {
                Some(handle) => read(connection, handle),
                None => Ok(None),
            }
        })
    }

    /// Returns the files that an observation or a memory of another person cites, the changed ones first.
    pub fn cited_files(&self, handle: Handle) -> Result<Vec<CitedFile>, StoreError> {
        // In the order of the key, and by position: a session start runs this for many memories.
        const FILES: &str = "select path, modified, content_hash, size, lines from observation_file
            where observation_id = ?1 order by path";
        const OF_TEAM: &str = "select path, modified, content_hash, size, null from team_memory_file
            where team_memory_id = ?1 order by path";
        let sql = match handle.kind {
            MemoryKind::Observation => FILES,
            MemoryKind::Team => OF_TEAM,
            _ => return Ok(Vec::new()),
        };
        self.read("read the files of a memory", |connection| {
            let mut files = connection.rows(sql, [handle.id], |row| {
                let mark = match (row.get(2)?, row.get(3)?) {
                    (Some(hash), Some(size)) => Some(FileFingerprint {
                        hash,
                        size,
                        lines: row.get::<_, Option<Vec<u8>>>(4)?.unwrap_or_default(),
                    }),
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

/// The order of memories with the same time: the order in which a turn produces them.
pub(crate) const CHRONOLOGICAL: [MemoryKind; 6] = [
    MemoryKind::Prompt,
    MemoryKind::Passage,
    MemoryKind::Observation,
    MemoryKind::Summary,
    MemoryKind::Note,
    MemoryKind::Team,
];

/// Returns the position of a kind in [`CHRONOLOGICAL`].
pub(crate) fn chronological_position(kind: MemoryKind) -> u8 {
    let position = CHRONOLOGICAL.iter().position(|one| *one == kind);
    u8::try_from(position.unwrap_or_default()).unwrap_or_default()
}

/// Returns true if a memory exists.
pub(crate) fn exists(connection: &Connection, handle: Handle) -> rusqlite::Result<bool> {
    let sql = match handle.kind {
        MemoryKind::Observation => "select 1 from observation where id = ?1",
        MemoryKind::Summary => "select 1 from summary where id = ?1",
        MemoryKind::Note => "select 1 from note where id = ?1",
        MemoryKind::Team => "select 1 from team_memory where id = ?1",
        MemoryKind::Passage => "select 1 from passage where id = ?1",
        MemoryKind::Prompt => "select 1 from turn where id = ?1 and prompt is not null",
    };
    connection.has_row(sql, [handle.id])
}

/// Returns the handle of the successor if an observation is gone and has one.
pub(crate) fn resolve(connection: &Connection, handle: Handle) -> rusqlite::Result<Handle> {
    const SUCCESSOR: &str = "select new_id from successor where old_id = ?1";
    if handle.observation().is_none() || exists(connection, handle)? {
        return Ok(handle);
    }
    let successor: Option<ObservationId> =
        connection.optional_row(SUCCESSOR, [handle.id], |row| row.get("new_id"))?;
    Ok(successor.map_or(handle, Handle::from))
}

/// Reads a memory; `None` if it does not exist.
pub(crate) fn read(connection: &Connection, handle: Handle) -> rusqlite::Result<Option<Memory>> {
    let mut memory = read_with(connection, handle, sql(handle.kind))?;
    if let Some(memory) = &mut memory
        && let Some(turn) = memory.turn_id
    {
        memory.work = turn_git::of_turn(connection, turn)?;
        if let Some(observation) = handle.observation() {
            memory.weight = impact::weight(connection, observation)?;
        }
        if let Some(work) = &memory.work {
            memory.record.branch = Some(work.branch.clone());
        }
    }
    if let Some(memory) = memory.as_mut().filter(|_| handle.kind == MemoryKind::Team) {
        read_opinions(connection, memory)?;
    }
    Ok(memory)
}

fn read_opinions(connection: &Connection, memory: &mut Memory) -> rusqlite::Result<()> {
    const RECORD: &str = "select record_id from team_memory where id = ?1";
    let record: [u8; 16] = connection.row(RECORD, [memory.handle.id], |row| row.get("record_id"))?;
    memory.opinions = opinions::of_record(connection, &record)?;
    memory.weight = memory.opinions.weight();
    memory.superseded_by = opinions::successor(connection, &record)?;
    Ok(())
}

/// Reads a memory from a database of this schema or an older one, down to schema 2.
pub(crate) fn read_any_schema(connection: &Connection, handle: Handle) -> rusqlite::Result<Option<Memory>> {
    let sql = sql(handle.kind);
    let newer = match handle.kind {
        MemoryKind::Passage => Some((EVIDENCE_COLUMNS, "null, null, null")),
        MemoryKind::Observation => Some((REJECTED, "0")),
        MemoryKind::Summary | MemoryKind::Note | MemoryKind::Prompt | MemoryKind::Team => None,
    };
    match newer {
        Some((columns, values)) if connection.prepare_cached(sql).is_err() => {
            read_with(connection, handle, &sql.replace(columns, values))
        }
        _ => read_with(connection, handle, sql),
    }
}

// All have the columns up to `superseded_by`, in this order. They are read by position: a search reads dozens of memories, an
// export all of them.

const OBSERVATION: &str =
    "select project.id, project.key, project.name, coalesce(session.worktree, project.root), session.session_id,
        memory.session_db_id, session.branch, memory.turn_id, memory.created_at, memory.external_id, memory.pinned,
        memory.seen, memory.superseded_by,
        memory.type, memory.title, memory.subtitle, memory.narrative, memory.facts, memory.concepts, memory.files_read,
        memory.files_modified, memory.rejected
    from observation as memory join project on project.id = memory.project_id
        left join session on session.id = memory.session_db_id where memory.id = ?1";

const SUMMARY: &str =
    "select project.id, project.key, project.name, coalesce(session.worktree, project.root), session.session_id,
        memory.session_db_id, session.branch, memory.turn_id, memory.created_at, memory.external_id, memory.pinned, 1, null,
        memory.request, memory.investigated, memory.learned, memory.completed, memory.next_steps, memory.files_read,
        memory.files_edited, memory.notes
    from summary as memory join project on project.id = memory.project_id
        left join session on session.id = memory.session_db_id where memory.id = ?1";

const NOTE: &str =
    "select project.id, project.key, project.name, coalesce(session.worktree, project.root), session.session_id,
        memory.session_db_id, session.branch, null, memory.created_at, memory.external_id, memory.pinned, 1, null,
        memory.type, memory.text, memory.files, memory.author
    from note as memory left join project on project.id = memory.project_id
        left join session on session.id = memory.session_db_id where memory.id = ?1";

const PROMPT: &str =
    "select project.id, project.key, project.name, coalesce(session.worktree, project.root), session.session_id,
        memory.session_db_id, coalesce(memory.branch, session.branch), memory.id, memory.started_at, memory.external_id,
        memory.pinned, 1, null,
        memory.prompt
    from turn as memory join session on session.id = memory.session_db_id
        join project on project.id = session.project_id where memory.id = ?1 and memory.prompt is not null";

const PASSAGE: &str =
    "select project.id, project.key, project.name, coalesce(session.worktree, project.root), session.session_id,
        memory.session_db_id, session.branch, memory.turn_id, memory.created_at, memory.external_id, memory.pinned, 1, null,
        memory.kind, memory.text, memory.packed, memory.intent, memory.path, memory.position
    from passage as memory join project on project.id = memory.project_id
        left join session on session.id = memory.session_db_id where memory.id = ?1";

const TEAM: &str = "select project.id, project.key, project.name, project.root, null, null, memory.branch, null,
        memory.created_at, null, memory.pinned, 1, null,
        memory.type, memory.title, memory.subtitle, memory.narrative, memory.facts, memory.concepts, memory.files_read,
        memory.files_modified, memory.author, memory.commit_id
    from team_memory as memory join project on project.id = memory.project_id
    where memory.id = ?1 and memory.quarantine is null";

/// The columns of [`PASSAGE`] that schemas before 7 do not have.
const EVIDENCE_COLUMNS: &str = "memory.intent, memory.path, memory.position";

/// The column of [`OBSERVATION`] that schemas before 7 do not have.
const REJECTED: &str = "memory.rejected";

const fn sql(kind: MemoryKind) -> &'static str {
    match kind {
        MemoryKind::Observation => OBSERVATION,
        MemoryKind::Summary => SUMMARY,
        MemoryKind::Note => NOTE,
        MemoryKind::Prompt => PROMPT,
        MemoryKind::Passage => PASSAGE,
        MemoryKind::Team => TEAM,
    }
}

fn read_with(connection: &Connection, handle: Handle, sql: &str) -> rusqlite::Result<Option<Memory>> {
    connection.optional_row(sql, [handle.id], |row| {
        let mut memory = Memory {
            handle,
            record: MemoryRecord::new(handle.kind),
            project_db_id: row.get(0)?,
            project_name: row.get(2)?,
            root: row.get(3)?,
            session_db_id: row.get(5)?,
            turn_id: row.get(7)?,
            created_at: row.get(8)?,
            seen: row.get(11)?,
            superseded_by: row.get::<_, Option<ObservationId>>(12)?.map(Handle::from),
            work: None,
            weight: impact::NEUTRAL,
            intent: None,
            path: None,
            position: None,
            rejected: false,
            author: None,
            shared_by: None,
            shared_commit: None,
            opinions: Opinions::default(),
        };
        let record = &mut memory.record;
        record.project = row.get(1)?;
        record.session_id = row.get(4)?;
        record.branch = row.get(6)?;
        record.created_at = Some(memory.created_at);
        record.external_id = row.get(9)?;
        record.pinned = row.get(10)?;
        match handle.kind {
            MemoryKind::Observation => {
                read_observation(row, record)?;
                memory.rejected = row.get(21)?;
            }
            MemoryKind::Team => {
                read_observation(row, record)?;
                memory.shared_by = row.get(21)?;
                memory.shared_commit = row.get(22)?;
            }
            MemoryKind::Summary => read_summary(row, record)?,
            MemoryKind::Note => {
                record.type_name = row.get(13)?;
                record.text = row.get(14)?;
                record.files_read = row.list(15)?;
                memory.author = row.get(16)?;
            }
            MemoryKind::Prompt => record.text = row.get(13)?,
            MemoryKind::Passage => {
                record.type_name = row.get(13)?;
                record.text = Some(unpack(row.get(14)?, row.get(15)?));
                memory.intent = row.get(16)?;
                memory.path = row.get(17)?;
                memory.position = row.get(18)?;
            }
        }
        Ok(memory)
    })
}

fn read_observation(row: &Row<'_>, record: &mut MemoryRecord) -> rusqlite::Result<()> {
    record.type_name = row.get(13)?;
    record.title = row.get(14)?;
    record.subtitle = row.get(15)?;
    record.narrative = row.get(16)?;
    record.facts = row.list(17)?;
    record.concepts = row.list(18)?;
    record.files_read = row.list(19)?;
    record.files_modified = row.list(20)?;
    Ok(())
}

fn read_summary(row: &Row<'_>, record: &mut MemoryRecord) -> rusqlite::Result<()> {
    record.request = row.get(13)?;
    record.investigated = row.get(14)?;
    record.learned = row.get(15)?;
    record.completed = row.get(16)?;
    record.next_steps = row.get(17)?;
    record.files_read = row.list(18)?;
    record.files_edited = row.list(19)?;
    record.notes = row.get(20)?;
    Ok(())
}
