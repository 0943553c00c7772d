//! Everything that can be found: one document per memory, in the word index and among the vectors.
//!
//! A document's number carries its project, so that one project is one range of numbers. Whoever stores or changes a
//! memory calls [`put`] in the same transaction; removing the memory's row removes its document.

use std::ops::RangeInclusive;

use backstory_model::{DocumentId, Handle, MemoryKind, ProjectId, SessionId, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::{
    Store, StoreError,
    memory::changes::{ChangeEvent, record_change},
    memory::pack::unpack,
    schema::open::query,
    search::words::to_index,
};

/// How many bits of a document's number count documents; those above are the project's.
const COUNTING_BITS: u32 = 40;

/// What a memory says, by the column of the word index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    /// What is true since, what was asked, or nothing.
    pub title: String,
    /// The circumstances.
    pub subtitle: String,
    /// Single facts, one a line.
    pub facts: String,
    /// What happened and why; or the whole text.
    pub narrative: String,
    /// Files, one a line.
    pub files: String,
}

impl Fields {
    /// Returns the memory as one text, the most telling first.
    pub fn text(&self) -> String {
        let parts = [&self.title, &self.subtitle, &self.facts, &self.narrative];
        let parts: Vec<&str> = parts
            .into_iter()
            .map(|part| part.trim())
            .filter(|part| !part.is_empty())
            .collect();
        parts.join("\n")
    }
}

/// The numbers that documents of a project have; those that hold everywhere are project 0.
pub(crate) fn range(project_db_id: ProjectId) -> RangeInclusive<DocumentId> {
    let first = project_db_id.get() << COUNTING_BITS;
    DocumentId::new(first)..=DocumentId::new(first + (1 << COUNTING_BITS) - 1)
}

/// The project of documents that belong to no project.
pub(crate) const EVERYWHERE: ProjectId = ProjectId::new(0);

/// The numbers that documents of all projects have.
pub(crate) fn everywhere() -> RangeInclusive<DocumentId> {
    DocumentId::new(0)..=DocumentId::new(i64::MAX)
}

impl Store {
    /// Reads what a memory says; `None` when there is no such memory.
    pub fn fields(&self, handle: Handle) -> Result<Option<Fields>, StoreError> {
        fields(&self.connection, handle)
            .map(|found| found.map(|(_, _, _, fields)| fields))
            .map_err(query("read a memory"))
    }
}

impl Store {
    /// Puts the word index in order after much was added: searching it is several times as fast then.
    pub fn optimize_fts(&mut self) -> Result<(), StoreError> {
        const TIDY: &str = "insert into words (words) values ('optimize')";
        self.connection
            .execute_batch(TIDY)
            .map_err(query("put the word index in order"))
    }
}

/// Makes a memory findable by its words, in place of what was findable of it before. A memory that says nothing is not.
pub(crate) fn put(connection: &Connection, handle: Handle) -> rusqlite::Result<()> {
    const FORGET: &str = "delete from document where kind = ?1 and memory_id = ?2";
    connection
        .prepare_cached(FORGET)?
        .execute(params![handle.kind, handle.id])?;
    let Some((project, session, created_at, fields)) = fields(connection, handle)? else {
        return Ok(());
    };
    let indexed = Fields {
        title: to_index(&fields.title),
        subtitle: to_index(&fields.subtitle),
        facts: to_index(&fields.facts),
        narrative: to_index(&fields.narrative),
        files: to_index(&fields.files),
    };
    insert(connection, handle, (project, session, created_at), &indexed)
}

/// Makes a new memory of a project, a session and a time findable; its words are those of [`to_index`].
pub(crate) fn insert(
    connection: &Connection,
    handle: Handle,
    (project, session, created_at): (ProjectId, Option<SessionId>, Timestamp),
    indexed: &Fields,
) -> rusqlite::Result<()> {
    const NEXT: &str = "insert into document_count (project_id, documents, last) values (?1, 1, 1)
        on conflict do update set documents = documents + 1, last = last + 1 returning last";
    // Raw tool input and output is searched by words alone: 2 stands for "is not embedded".
    const DOCUMENT: &str = "insert into document (id, kind, memory_id, session_db_id, created_at, embedded)
        values (?1, ?2, ?3, ?4, ?5, case when ?2 = 'passage' and exists (select 1 from passage where id = ?3
            and kind in ('command', 'error', 'edit', 'file', 'lookup', 'tool')) then 2 else 0 end)";
    const WORDS: &str =
        "insert into words (rowid, title, subtitle, facts, narrative, files) values (?1, ?2, ?3, ?4, ?5, ?6)";
    let count: i64 = connection
        .prepare_cached(NEXT)?
        .query_row([project], |row| row.get(0))?;
    let id = DocumentId::new(range(project).start().get() + count);
    connection
        .prepare_cached(DOCUMENT)?
        .execute(params![id, handle.kind, handle.id, session, created_at])?;
    let values = params![
        id,
        indexed.title,
        indexed.subtitle,
        indexed.facts,
        indexed.narrative,
        indexed.files,
    ];
    connection.prepare_cached(WORDS)?.execute(values)?;
    // Prompts are told of when they come, not when they become findable.
    match handle.kind {
        MemoryKind::Observation | MemoryKind::Summary | MemoryKind::Note => {
            record_change(connection, ChangeEvent::Memory(handle))
        }
        MemoryKind::Prompt | MemoryKind::Passage => Ok(()),
    }
}

/// Makes every memory findable anew.
pub(crate) fn reindex_all(connection: &Connection) -> rusqlite::Result<()> {
    const ALL: &str = "select 'observation', id from observation union all select 'summary', id from summary
        union all select 'note', id from note union all select 'passage', id from passage
        union all select 'prompt', id from turn where prompt is not null and machine_made = 0";
    let mut statement = connection.prepare(ALL)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if let Some(kind) = MemoryKind::from_name(row.get_ref(0)?.as_str()?) {
            put(
                connection,
                Handle {
                    kind,
                    id: row.get(1)?,
                },
            )?;
        }
    }
    Ok(())
}

type Found = (ProjectId, Option<SessionId>, Timestamp, Fields);

/// Reads the project, the session, the time and the fields of a memory.
fn fields(connection: &Connection, handle: Handle) -> rusqlite::Result<Option<Found>> {
    const OBSERVATION: &str =
        "select project_id, session_db_id, created_at, title, subtitle, facts, narrative, files_modified, files_read
        from observation where id = ?1";
    const SUMMARY: &str =
        "select project_id, session_db_id, created_at, request, completed, next_steps, learned, investigated, notes,
            files_edited
        from summary where id = ?1";
    const PROMPT: &str = "select session.project_id, session.id, turn.started_at, turn.prompt
        from turn join session on session.id = turn.session_db_id where turn.id = ?1 and turn.prompt is not null";
    const NOTE: &str =
        "select coalesce(project_id, 0), session_db_id, created_at, text, files from note where id = ?1";
    const PASSAGE: &str =
        "select project_id, session_db_id, created_at, text, packed, intent, path from passage where id = ?1";
    type Read = fn(&Row<'_>) -> rusqlite::Result<Fields>;
    let (sql, read): (&str, Read) = match handle.kind {
        MemoryKind::Observation => (OBSERVATION, |row| {
            Ok(Fields {
                title: row.get(3)?,
                subtitle: text(row, 4)?,
                facts: lines(row, 5)?,
                narrative: text(row, 6)?,
                files: join(&[lines(row, 7)?, lines(row, 8)?]),
            })
        }),
        MemoryKind::Summary => (SUMMARY, |row| {
            Ok(Fields {
                title: text(row, 3)?,
                facts: join(&[text(row, 4)?, text(row, 5)?]),
                narrative: join(&[text(row, 6)?, text(row, 7)?, text(row, 8)?]),
                files: lines(row, 9)?,
                ..Fields::default()
            })
        }),
        MemoryKind::Prompt => (PROMPT, |row| {
            Ok(Fields {
                narrative: text(row, 3)?,
                ..Fields::default()
            })
        }),
        MemoryKind::Note => (NOTE, |row| {
            Ok(Fields {
                narrative: text(row, 3)?,
                files: lines(row, 4)?,
                ..Fields::default()
            })
        }),
        MemoryKind::Passage => (PASSAGE, |row| {
            Ok(Fields {
                subtitle: text(row, 5)?,
                narrative: unpack(row.get(3)?, row.get(4)?),
                files: text(row, 6)?,
                ..Fields::default()
            })
        }),
    };
    connection
        .prepare_cached(sql)?
        .query_row([handle.id], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, read(row)?))
        })
        .optional()
}

fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    Ok(row.get::<_, Option<String>>(column)?.unwrap_or_default())
}

/// Reads a JSON list as lines.
fn lines(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    let list: Vec<String> = serde_json::from_str(row.get_ref(column)?.as_str()?).unwrap_or_default();
    Ok(list.join("\n"))
}

fn join(parts: &[String]) -> String {
    let parts: Vec<&str> = parts
        .iter()
        .map(String::as_str)
        .filter(|part| !part.is_empty())
        .collect();
    parts.join("\n")
}
