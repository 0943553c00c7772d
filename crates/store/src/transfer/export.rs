//! Reads memories as lines, one or all.

use backstory_model::{Handle, MemoryKind};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::{MemoryRecord, Project, Store, StoreError, memory::pack::unpack, schema::open::query};

impl Store {
    /// Reads a memory; `None` when there is no such memory.
    pub fn line(&self, handle: Handle) -> Result<Option<MemoryRecord>, StoreError> {
        read(&self.connection, handle).map_err(query("read a memory"))
    }

    /// Calls `each` with every memory, of one project or of all, in the order of time. Prompts that a program wrote are
    /// no memories. Stops at the first error of `each`, and returns it.
    pub fn each_line<E>(
        &self,
        project: Option<&Project>,
        mut each: impl FnMut(&MemoryRecord) -> Result<(), E>,
    ) -> Result<Result<(), E>, StoreError> {
        // A prompt comes before what was made of it, also when the times are the same.
        const ALL: &str = "select created_at, 0 as place, 'prompt', turn.id as id
                from (select id, session_db_id, started_at as created_at from turn
                    where prompt <> '' and machine_made = 0) as turn
                join session on session.id = turn.session_db_id where ?1 is null or session.project_id = ?1
            union all select created_at, 1, 'passage', id from passage where ?1 is null or project_id = ?1
            union all select created_at, 2, 'observation', id from observation where ?1 is null or project_id = ?1
            union all select created_at, 3, 'summary', id from summary where ?1 is null or project_id = ?1
            union all select created_at, 4, 'note', id from note where ?1 is null or project_id = ?1
            order by created_at, place, id";
        let attempt = query("read the memories");
        // One moment of the store, however long it takes to write it out.
        let transaction = self.connection.unchecked_transaction().map_err(attempt)?;
        let mut statement = transaction.prepare_cached(ALL).map_err(attempt)?;
        let mut rows = statement
            .query([project.map(|project| project.db_id)])
            .map_err(attempt)?;
        while let Some(row) = rows.next().map_err(attempt)? {
            let Some(handle) = handle(row).map_err(attempt)? else {
                continue;
            };
            if let Some(line) = read(&transaction, handle).map_err(attempt)?
                && let Err(error) = each(&line)
            {
                return Ok(Err(error));
            }
        }
        Ok(Ok(()))
    }
}

fn handle(row: &Row<'_>) -> rusqlite::Result<Option<Handle>> {
    let id = row.get(3)?;
    Ok(MemoryKind::from_name(row.get_ref(2)?.as_str()?).map(|kind| Handle { kind, id }))
}

/// Reads a memory; `None` when there is no such memory.
pub(crate) fn read(connection: &Connection, handle: Handle) -> rusqlite::Result<Option<MemoryRecord>> {
    // The first six columns are the same for all kinds.
    const OBSERVATION: &str =
        "select project.key, session.session_id, memory.created_at, session.branch, memory.external_id, memory.pinned,
            type, memory.title, memory.subtitle, narrative, facts, concepts, files_read, files_modified
        from observation as memory join project on project.id = memory.project_id
            left join session on session.id = memory.session_db_id where memory.id = ?1";
    const SUMMARY: &str =
        "select project.key, session.session_id, memory.created_at, session.branch, memory.external_id, memory.pinned,
            request, investigated, learned, completed, next_steps, files_read, files_edited, notes
        from summary as memory join project on project.id = memory.project_id
            left join session on session.id = memory.session_db_id where memory.id = ?1";
    const NOTE: &str =
        "select project.key, session.session_id, memory.created_at, session.branch, memory.external_id, memory.pinned,
            type, text, files
        from note as memory left join project on project.id = memory.project_id
            left join session on session.id = memory.session_db_id where memory.id = ?1";
    const PROMPT: &str =
        "select project.key, session.session_id, memory.started_at, coalesce(memory.branch, session.branch),
            memory.external_id, memory.pinned, prompt
        from turn as memory join session on session.id = memory.session_db_id
            join project on project.id = session.project_id where memory.id = ?1 and prompt is not null";
    const PASSAGE: &str =
        "select project.key, session.session_id, memory.created_at, session.branch, memory.external_id, memory.pinned,
            kind, text, packed
        from passage as memory join project on project.id = memory.project_id
            left join session on session.id = memory.session_db_id where memory.id = ?1";
    type Fill = fn(&Row<'_>, &mut MemoryRecord) -> rusqlite::Result<()>;
    let (sql, fill): (&str, Fill) = match handle.kind {
        MemoryKind::Observation => (OBSERVATION, observation),
        MemoryKind::Summary => (SUMMARY, summary),
        MemoryKind::Note => (NOTE, |row, line| {
            line.type_name = row.get(6)?;
            line.text = row.get(7)?;
            line.files_read = list(row, 8)?;
            Ok(())
        }),
        MemoryKind::Prompt => (PROMPT, |row, line| {
            line.text = row.get(6)?;
            Ok(())
        }),
        MemoryKind::Passage => (PASSAGE, |row, line| {
            line.type_name = row.get(6)?;
            line.text = Some(unpack(row.get(7)?, row.get(8)?));
            Ok(())
        }),
    };
    let line = connection.prepare_cached(sql)?.query_row([handle.id], |row| {
        let mut line = MemoryRecord::new(handle.kind);
        line.project = row.get(0)?;
        line.session_id = row.get(1)?;
        line.created_at = row.get(2)?;
        line.branch = row.get(3)?;
        line.external_id = row.get(4)?;
        line.pinned = row.get(5)?;
        fill(row, &mut line)?;
        Ok(line)
    });
    line.optional()
}

fn observation(row: &Row<'_>, line: &mut MemoryRecord) -> rusqlite::Result<()> {
    line.type_name = row.get(6)?;
    line.title = row.get(7)?;
    line.subtitle = row.get(8)?;
    line.narrative = row.get(9)?;
    line.facts = list(row, 10)?;
    line.concepts = list(row, 11)?;
    line.files_read = list(row, 12)?;
    line.files_modified = list(row, 13)?;
    Ok(())
}

fn summary(row: &Row<'_>, line: &mut MemoryRecord) -> rusqlite::Result<()> {
    line.request = row.get(6)?;
    line.investigated = row.get(7)?;
    line.learned = row.get(8)?;
    line.completed = row.get(9)?;
    line.next_steps = row.get(10)?;
    line.files_read = list(row, 11)?;
    line.files_edited = list(row, 12)?;
    line.notes = row.get(13)?;
    Ok(())
}

pub(crate) fn list(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<String>> {
    Ok(serde_json::from_str(row.get_ref(column)?.as_str()?).unwrap_or_default())
}
