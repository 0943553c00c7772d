//! The search documents: one per memory, in the word index and among the vectors.
//!
//! The upper bits of a document's id are its project, so a project is one range of ids. Code that stores or changes a memory
//! calls [`put`] in the same transaction; deleting the memory's row deletes its document by a trigger.

use std::ops::RangeInclusive;

use backstory_model::{DocumentId, Handle, MemoryKind, ProjectId, SessionId, Timestamp};
use rusqlite::{Connection, params};

use crate::{
    Fields, Store, StoreError,
    memory::{
        changes::{ChangeEvent, record_change},
        stored,
    },
    sql::Statements as _,
    words::to_index,
};

/// The number of bits of a document's id that count documents; the bits above are the project.
const COUNTING_BITS: u32 = 40;

/// The project of documents that apply everywhere.
pub(crate) const EVERYWHERE: ProjectId = ProjectId::new(0);

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
        let memory = self.memory(handle)?;
        Ok(memory.map(|memory| memory.fields()))
    }

    /// Merges the segments of the word index. After a bulk import that makes searches several times faster.
    pub fn optimize_fts(&mut self) -> Result<(), StoreError> {
        const OPTIMIZE: &str = "insert into words (words) values ('optimize')";
        self.write("optimize the word index", |tx| tx.run(OPTIMIZE, []).map(drop))
    }
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
    let Some(memory) = stored::read(connection, handle)? else {
        return Ok(());
    };
    let placement = Placement {
        project: memory.project_db_id.unwrap_or(EVERYWHERE),
        session: memory.session_db_id,
        created_at: memory.created_at,
    };
    let fields = memory.fields();
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
    // Look-ups are searched by words alone: 2 stands for "is not embedded".
    const DOCUMENT: &str = "insert into document (id, kind, memory_id, session_db_id, created_at, embedded)
        values (?1, ?2, ?3, ?4, ?5, case when ?2 = 'passage' and exists (select 1 from passage where id = ?3
            and kind = 'lookup') then 2 else 0 end)";
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
        MemoryKind::Observation | MemoryKind::Summary | MemoryKind::Note | MemoryKind::Team => {
            record_change(connection, ChangeEvent::Memory(handle))
        }
        MemoryKind::Prompt | MemoryKind::Passage => Ok(()),
    }
}

/// Indexes the memories again that are indexed under a project and have moved to another one. Returns their number.
pub(crate) fn move_all(connection: &Connection, project: ProjectId) -> rusqlite::Result<u64> {
    const IN_RANGE: &str = "select kind, memory_id from document where id between ?1 and ?2 order by id";
    let range = range(project);
    let moved: Vec<Handle> = connection.rows(IN_RANGE, params![range.start(), range.end()], |row| {
        Ok(Handle {
            kind: row.get("kind")?,
            id: row.get("memory_id")?,
        })
    })?;
    for &handle in &moved {
        put(connection, handle)?;
    }
    Ok(moved.len() as u64)
}

/// Indexes every memory of a database of the first schema again; it has no team memories yet.
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
