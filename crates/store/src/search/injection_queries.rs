//! Queries of injections in the middle of a session: about a file, a turn or a failure.

use backstory_model::{Handle, MemoryKind, ObservationId, TurnId};

use crate::{Project, Store, StoreError, sql::Statements as _};

impl Store {
    /// Returns the memories that cite a file, notes first, then the latest, then those of others.
    pub fn memories_about_file(
        &self,
        project: &Project,
        path: &str,
        limit: u32,
    ) -> Result<Vec<Handle>, StoreError> {
        const NOTES: &str = "select note.id as id from note, json_each(note.files)
            where (project_id = ?1 or project_id is null) and value = ?2 and files <> '[]' order by note.id desc limit ?3";
        // Cross join pins the plan: scanning all memories of the project is too slow for a hook.
        const OBSERVATIONS: &str = "select observation.id as id from observation_file
                cross join observation on observation.id = observation_file.observation_id
            where path = ?2 and observation.project_id = ?1 and superseded_by is null
            order by observation_file.modified desc, observation.created_at desc limit ?3";
        const TEAM: &str = "select team_memory.id as id from team_memory_file as file
                cross join team_memory on team_memory.id = file.team_memory_id
            where path = ?2 and team_memory.project_id = ?1 and quarantine is null
            order by file.modified desc, team_memory.created_at desc limit ?3";
        self.read("look for memories about a file", |connection| {
            let mut found = Vec::new();
            let kinds = [
                (MemoryKind::Note, NOTES),
                (MemoryKind::Observation, OBSERVATIONS),
                (MemoryKind::Team, TEAM),
            ];
            for (kind, sql) in kinds {
                found.extend(connection.rows(sql, (project.db_id, path, limit), |row| {
                    Ok(Handle {
                        kind,
                        id: row.get("id")?,
                    })
                })?);
            }
            Ok(found)
        })
    }

    /// Returns the memory of a turn: its first observation, else its summary.
    pub fn memory_of_turn(&self, turn: TurnId) -> Result<Option<Handle>, StoreError> {
        const OBSERVATION: &str =
            "select id from observation where turn_id = ?1 and superseded_by is null order by id limit 1";
        const SUMMARY: &str = "select id from summary where turn_id = ?1 order by id desc limit 1";
        self.read("look for the memory of a turn", |connection| {
            for (kind, sql) in [
                (MemoryKind::Observation, OBSERVATION),
                (MemoryKind::Summary, SUMMARY),
            ] {
                if let Some(id) = connection.optional_row(sql, [turn], |row| row.get("id"))? {
                    return Ok(Some(Handle { kind, id }));
                }
            }
            Ok(None)
        })
    }

    /// Returns the valid memories of a project that resolve an error, the latest first.
    pub fn remedies(&self, project: &Project, error_signature: &str) -> Result<Vec<Handle>, StoreError> {
        const REMEDIES: &str = "select id from observation indexed by observation_by_error
            where project_id = ?1 and error_signature = ?2 and superseded_by is null
            order by rejected, created_at desc, id desc limit 5";
        self.read("look for remedies", |connection| {
            connection.rows(REMEDIES, (project.db_id, error_signature), |row| {
                row.get("id").map(|id: ObservationId| id.into())
            })
        })
    }

    /// Returns the solutions of a failure in a turn: fixes and findings of that turn, else of later turns of its session.
    pub fn solutions(&self, turn: TurnId) -> Result<Vec<Handle>, StoreError> {
        const SOLUTIONS: &str = "select solution.id as id from turn
                join observation as solution on solution.session_db_id = turn.session_db_id and solution.turn_id >= turn.id
            where turn.id = ?1 and solution.superseded_by is null
                and solution.type in ('bugfix', 'discovery', 'decision', 'change')
            order by solution.turn_id, solution.type = 'change', solution.id limit 2";
        self.read("look for solutions", |connection| {
            connection.rows(SOLUTIONS, [turn], |row| {
                row.get("id").map(|id: ObservationId| id.into())
            })
        })
    }
}
