//! Exports memories as lines.

use backstory_model::Handle;

use crate::{MemoryRecord, Project, Store, StoreError, memory::stored};

impl Store {
    /// Calls `each` with every memory of one project or of all, in chronological order. Leaves out machine-made prompts.
    /// Stops at the first error of `each` and returns it.
    pub fn each_line<E>(
        &self,
        project: Option<&Project>,
        mut each: impl FnMut(&MemoryRecord) -> Result<(), E>,
    ) -> Result<Result<(), E>, StoreError> {
        // A prompt comes before the memories of its turn, even with the same time.
        const ALL: &str = "select created_at, 0 as place, 'prompt' as kind, turn.id as id
                from (select id, session_db_id, started_at as created_at from turn
                    where prompt <> '' and machine_made = 0) as turn
                join session on session.id = turn.session_db_id where ?1 is null or session.project_id = ?1
            union all select created_at, 1, 'passage', id from passage where ?1 is null or project_id = ?1
            union all select created_at, 2, 'observation', id from observation where ?1 is null or project_id = ?1
            union all select created_at, 3, 'summary', id from summary where ?1 is null or project_id = ?1
            union all select created_at, 4, 'note', id from note where ?1 is null or project_id = ?1
            order by created_at, place, id";
        self.read("read the memories", |connection| {
            // One state of the store, however long the export takes.
            let snapshot = connection.unchecked_transaction()?;
            let mut statement = snapshot.prepare_cached(ALL)?;
            let mut rows = statement.query([project.map(|project| project.db_id)])?;
            while let Some(row) = rows.next()? {
                let handle = Handle {
                    kind: row.get("kind")?,
                    id: row.get("id")?,
                };
                if let Some(memory) = stored::read(&snapshot, handle)?
                    && let Err(error) = each(&memory.record)
                {
                    return Ok(Err(error));
                }
            }
            Ok(Ok(()))
        })
    }
}
