//! What is asked in the middle of a session: about a file, a turn, a failure.

use backstory_model::{Handle, MemoryKind, TurnId};
use rusqlite::OptionalExtension;

use crate::{Project, Store, StoreError, schema::open::query};

impl Store {
    /// Returns the memories that speak of a file, notes first, then the latest.
    pub fn memories_about_file(
        &self,
        project: &Project,
        path: &str,
        most: u32,
    ) -> Result<Vec<Handle>, StoreError> {
        const NOTES: &str = "select note.id from note, json_each(note.files)
            where (project_id = ?1 or project_id is null) and value = ?2 and files <> '[]' order by note.id desc limit ?3";
        // Crossed: whoever looks through all memories of a project for the path is too slow for a hook.
        const OBSERVATIONS: &str = "select observation.id from observation_file
                cross join observation on observation.id = observation_file.observation_id
            where path = ?2 and observation.project_id = ?1 and superseded_by is null
            order by observation_file.modified desc, observation.created_at desc limit ?3";
        let attempt = query("look for memories about a file");
        let mut found = Vec::new();
        for (kind, sql) in [(MemoryKind::Note, NOTES), (MemoryKind::Observation, OBSERVATIONS)] {
            let mut statement = self.connection.prepare_cached(sql).map_err(attempt)?;
            let rows = statement.query_map((project.db_id, path, most), |row| {
                Ok(Handle {
                    kind,
                    id: row.get(0)?,
                })
            });
            for row in rows.map_err(attempt)? {
                found.push(row.map_err(attempt)?);
            }
        }
        Ok(found)
    }

    /// Returns the memory that was distilled from a turn: its first observation, else its summary.
    pub fn memory_of_turn(&self, turn_id: TurnId) -> Result<Option<Handle>, StoreError> {
        const OBSERVATION: &str =
            "select id from observation where turn_id = ?1 and superseded_by is null order by id limit 1";
        const SUMMARY: &str = "select id from summary where turn_id = ?1 order by id desc limit 1";
        let attempt = query("look for the memory of a turn");
        for (kind, sql) in [
            (MemoryKind::Observation, OBSERVATION),
            (MemoryKind::Summary, SUMMARY),
        ] {
            let mut statement = self.connection.prepare_cached(sql).map_err(attempt)?;
            let id = statement.query_row([turn_id], |row| row.get(0)).optional();
            if let Some(id) = id.map_err(attempt)? {
                return Ok(Some(Handle { kind, id }));
            }
        }
        Ok(None)
    }

    /// Returns what helped against a failure of a turn: what was mended or found out in that turn, else later in its session.
    pub fn solutions(&self, turn_id: TurnId) -> Result<Vec<Handle>, StoreError> {
        const SOLUTIONS: &str = "select solution.id from turn
                join observation as solution on solution.session_db_id = turn.session_db_id and solution.turn_id >= turn.id
            where turn.id = ?1 and solution.superseded_by is null
                and solution.type in ('bugfix', 'discovery', 'decision', 'change')
            order by solution.turn_id, solution.type = 'change', solution.id limit 2";
        let attempt = query("look for what helped");
        let mut statement = self.connection.prepare_cached(SOLUTIONS).map_err(attempt)?;
        let rows = statement.query_map([turn_id], |row| {
            Ok(Handle {
                kind: MemoryKind::Observation,
                id: row.get(0)?,
            })
        });
        rows.and_then(Iterator::collect).map_err(attempt)
    }
}
