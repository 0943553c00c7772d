//! The search documents: one per memory, in the word index and among the vectors.
//!
//! The upper bits of a document's id are its project, so a project is one range of ids. Code that stores or changes a memory
//! calls [`put`] in the same transaction; deleting the memory's row deletes its document by a trigger.

use std::ops::RangeInclusive;

use backstory_model::{DocumentId, Handle, MemoryKind, ProjectId, SessionId, Timestamp};
use rusqlite::{Connection, Row, params};

use crate::{
    Store, StoreError,
    memory::{
        changes::{ChangeEvent, record_change},
        pack::unpack,
    },
    sql::{ListColumns as _, Statements as _},
    words::to_index,
};

/// The number of bits of a document's id that count documents; the bits above are the project.
const COUNTING_BITS: u32 = 40;

/// The project of documents that apply everywhere.
pub(crate) const EVERYWHERE: ProjectId = ProjectId::new(0);

/// Holds the text of a memory by the columns of the word index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    /// The title of an observation or the request of a summary.
    pub title: String,
    /// The subtitle of an observation or the intent of a passage.
    pub subtitle: String,
    /// Facts, one per line.
    pub facts: String,
    /// The narrative, or the whole text of a memory without fields.
    pub narrative: String,
    /// Files, one per line.
    pub files: String,
}

impl Fields {
    /// Returns the memory as one text, the most specific field first.
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

/// Returns the ids of a project's documents.
pub(crate) fn range(project: ProjectId) -> RangeInclusive<DocumentId> {
    let first = project.get() << COUNTING_BITS;
    DocumentId::new(first)..=DocumentId::new(first + (1 << COUNTING_BITS) - 1)
}

/// Returns the ids of all documents.
pub(crate) fn everywhere() -> RangeInclusive<DocumentId> {
    DocumentId::new(0)..=DocumentId::new(i64::MAX)
}

impl Store {
    /// Returns the text of a memory; `None` if it does not exist.
    pub fn fields(&self, handle: Handle) -> Result<Option<Fields>, StoreError> {
        self.read("read a memory", |connection| fields(connection, handle))
    }

    /// Merges the segments of the word index. After a bulk import that makes searches several times faster.
    pub fn optimize_fts(&mut self) -> Result<(), StoreError> {
        const OPTIMIZE: &str = "insert into words (words) values ('optimize')";
        self.write("optimize the word index", |tx| tx.run(OPTIMIZE, []).map(drop))
    }
}

/// Reads the text of a memory.
pub(crate) fn fields(connection: &Connection, handle: Handle) -> rusqlite::Result<Option<Fields>> {
    Ok(document(connection, handle)?.map(|(_, fields)| fields))
}

/// Holds the attributes of a document that are not text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placement {
    pub(crate) project: ProjectId,
    pub(crate) session: Option<SessionId>,
    pub(crate) created_at: Timestamp,
}

/// Indexes a memory again, or removes it from search if it is gone.
pub(crate) fn put(connection: &Connection, handle: Handle) -> rusqlite::Result<()> {
    const REMOVE: &str = "delete from document where kind = ?1 and memory_id = ?2";
    connection.run(REMOVE, params![handle.kind, handle.id])?;
    let Some((placement, fields)) = document(connection, handle)? else {
        return Ok(());
    };
    let indexed = Fields {
        title: to_index(&fields.title),
        subtitle: to_index(&fields.subtitle),
        facts: to_index(&fields.facts),
        narrative: to_index(&fields.narrative),
        files: to_index(&fields.files),
    };
    insert(connection, handle, placement, &indexed)
}

/// Indexes a new memory; `indexed` is the result of [`to_index`].
pub(crate) fn insert(
    connection: &Connection,
    handle: Handle,
    placement: Placement,
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
    let count: i64 = connection.row(NEXT, [placement.project], |row| row.get(0))?;
    let id = DocumentId::new(range(placement.project).start().get() + count);
    connection.run(
        DOCUMENT,
        params![
            id,
            handle.kind,
            handle.id,
            placement.session,
            placement.created_at
        ],
    )?;
    connection.run(
        WORDS,
        params![
            id,
            indexed.title,
            indexed.subtitle,
            indexed.facts,
            indexed.narrative,
            indexed.files
        ],
    )?;
    // A prompt is reported when it arrives, before it is indexed.
    match handle.kind {
        MemoryKind::Observation | MemoryKind::Summary | MemoryKind::Note => {
            record_change(connection, ChangeEvent::Memory(handle))
        }
        MemoryKind::Prompt | MemoryKind::Passage => Ok(()),
    }
}

/// Indexes every memory again.
pub(crate) fn reindex_all(connection: &Connection) -> rusqlite::Result<()> {
    const ALL: &str = "select 'observation' as kind, id from observation
        union all select 'summary', id from summary
        union all select 'note', id from note union all select 'passage', id from passage
        union all select 'prompt', id from turn where prompt is not null and machine_made = 0";
    let mut statement = connection.prepare(ALL)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let handle = Handle {
            kind: row.get("kind")?,
            id: row.get("id")?,
        };
        put(connection, handle)?;
    }
    Ok(())
}

fn document(connection: &Connection, handle: Handle) -> rusqlite::Result<Option<(Placement, Fields)>> {
    const OBSERVATION: &str =
        "select project_id, session_db_id, created_at, title, subtitle, facts, narrative, files_modified, files_read
        from observation where id = ?1";
    const SUMMARY: &str =
        "select project_id, session_db_id, created_at, request, completed, next_steps, learned, investigated, notes,
            files_edited
        from summary where id = ?1";
    const PROMPT: &str =
        "select session.project_id as project_id, session.id as session_db_id, turn.started_at as created_at, prompt
        from turn join session on session.id = turn.session_db_id where turn.id = ?1 and turn.prompt is not null";
    const NOTE: &str = "select coalesce(project_id, 0) as project_id, session_db_id, created_at, text, files
        from note where id = ?1";
    const PASSAGE: &str =
        "select project_id, session_db_id, created_at, text, packed, intent, path from passage where id = ?1";
    type Read = fn(&Row<'_>) -> rusqlite::Result<Fields>;
    let (sql, read): (&str, Read) = match handle.kind {
        MemoryKind::Observation => (OBSERVATION, |row| {
            Ok(Fields {
                title: row.get("title")?,
                subtitle: text(row, "subtitle")?,
                facts: lines(row, "facts")?,
                narrative: text(row, "narrative")?,
                files: join(&[lines(row, "files_modified")?, lines(row, "files_read")?]),
            })
        }),
        MemoryKind::Summary => (SUMMARY, |row| {
            Ok(Fields {
                title: text(row, "request")?,
                facts: join(&[text(row, "completed")?, text(row, "next_steps")?]),
                narrative: join(&[
                    text(row, "learned")?,
                    text(row, "investigated")?,
                    text(row, "notes")?,
                ]),
                files: lines(row, "files_edited")?,
                ..Fields::default()
            })
        }),
        MemoryKind::Prompt => (PROMPT, |row| {
            Ok(Fields {
                narrative: text(row, "prompt")?,
                ..Fields::default()
            })
        }),
        MemoryKind::Note => (NOTE, |row| {
            Ok(Fields {
                narrative: text(row, "text")?,
                files: lines(row, "files")?,
                ..Fields::default()
            })
        }),
        MemoryKind::Passage => (PASSAGE, |row| {
            Ok(Fields {
                subtitle: text(row, "intent")?,
                narrative: unpack(row.get("text")?, row.get("packed")?),
                files: text(row, "path")?,
                ..Fields::default()
            })
        }),
    };
    connection.optional_row(sql, [handle.id], |row| {
        let placement = Placement {
            project: row.get("project_id")?,
            session: row.get("session_db_id")?,
            created_at: row.get("created_at")?,
        };
        Ok((placement, read(row)?))
    })
}

fn text(row: &Row<'_>, column: &str) -> rusqlite::Result<String> {
    Ok(row.get::<_, Option<String>>(column)?.unwrap_or_default())
}

fn lines(row: &Row<'_>, column: &str) -> rusqlite::Result<String> {
    Ok(row.list(column)?.join("\n"))
}

fn join(parts: &[String]) -> String {
    let parts: Vec<&str> = parts
        .iter()
        .map(String::as_str)
        .filter(|part| !part.is_empty())
        .collect();
    parts.join("\n")
}
