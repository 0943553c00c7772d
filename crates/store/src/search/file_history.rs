//! The memories about a file.

use backstory_model::{Handle, MemoryKind, Timestamp};
use rusqlite::params;

use crate::{
    Project, Store, StoreError,
    sql::{Statements as _, escape_like},
};

impl Store {
    /// Returns the memories that cite a file, of one project or of all, the latest first. Includes superseded ones.
    pub fn file_history(
        &self,
        project: Option<&Project>,
        path: &str,
        limit: u32,
    ) -> Result<Vec<Handle>, StoreError> {
        const OBSERVATIONS: &str = "select observation.id as id, observation.created_at as created_at
            from observation_file as file indexed by observation_file_by_path
                cross join observation on observation.id = file.observation_id
            where file.path = ?1 and (?2 is null or observation.project_id = ?2)
            order by observation.created_at desc, observation.id desc limit ?3";
        // A scan: there are few notes.
        const NOTES: &str =
            "select note.id as id, note.created_at as created_at from note, json_each(note.files)
            where value = ?1 and (?2 is null or project_id is null or project_id = ?2)
            order by note.created_at desc limit ?3";
        const TEAM: &str = "select team_memory.id as id, team_memory.created_at as created_at
            from team_memory_file as file indexed by team_memory_file_by_path
                cross join team_memory on team_memory.id = file.team_memory_id
            where file.path = ?1 and (?2 is null or team_memory.project_id = ?2) and quarantine is null
            order by team_memory.created_at desc, team_memory.id desc limit ?3";
        self.read("read the history of a file", |connection| {
            let mut found: Vec<(Timestamp, Handle)> = Vec::new();
            let kinds = [
                (MemoryKind::Observation, OBSERVATIONS),
                (MemoryKind::Team, TEAM),
                (MemoryKind::Note, NOTES),
            ];
            for (kind, sql) in kinds {
                let values = params![path, project.map(|project| project.db_id), limit];
                found.extend(connection.rows(sql, values, |row| {
                    let id = row.get("id")?;
                    Ok((row.get("created_at")?, Handle { kind, id }))
                })?);
            }
            found.sort_unstable_by(|one, other| other.cmp(one));
            found.truncate(limit as usize);
            Ok(found.into_iter().map(|(_, handle)| handle).collect())
        })
    }

    /// Returns cited paths with a given end.
    pub fn paths_ending(&self, end: &str, limit: u32) -> Result<Vec<String>, StoreError> {
        // Scans the index only, until enough are found.
        const PATHS: &str = "select distinct path from observation_file indexed by observation_file_by_path
            where path like ?1 escape '\\' limit ?2";
        self.read("look for files", |connection| {
            let values = params![format!("%{}", escape_like(end)), limit];
            connection.rows(PATHS, values, |row| row.get("path"))
        })
    }
}
