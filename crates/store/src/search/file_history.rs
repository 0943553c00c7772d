//! What is remembered of one file.

use backstory_model::{Handle, MemoryKind, Timestamp};
use rusqlite::params;

use crate::{Project, Store, StoreError, schema::open::query};

impl Store {
    /// Returns the memories that speak of a file, the latest first: of one project or of all, those that hold no longer
    /// among them.
    pub fn file_history(
        &self,
        project: Option<&Project>,
        path: &str,
        most: u32,
    ) -> Result<Vec<Handle>, StoreError> {
        const OBSERVATIONS: &str = "select observation.id, observation.created_at
            from observation_file as file indexed by observation_file_by_path
                cross join observation on observation.id = file.observation_id
            where file.path = ?1 and (?2 is null or observation.project_id = ?2)
            order by observation.created_at desc, observation.id desc limit ?3";
        // There are few notes.
        const NOTES: &str = "select note.id, note.created_at from note, json_each(note.files)
            where value = ?1 and (?2 is null or project_id is null or project_id = ?2)
            order by note.created_at desc limit ?3";
        let attempt = query("read the history of a file");
        let mut found: Vec<(Timestamp, Handle)> = Vec::new();
        for (kind, sql) in [(MemoryKind::Observation, OBSERVATIONS), (MemoryKind::Note, NOTES)] {
            let mut statement = self.connection.prepare_cached(sql).map_err(attempt)?;
            let values = params![path, project.map(|project| project.db_id), most];
            let rows = statement.query_map(values, |row| {
                let id = row.get(0)?;
                Ok((row.get(1)?, Handle { kind, id }))
            });
            for row in rows.map_err(attempt)? {
                found.push(row.map_err(attempt)?);
            }
        }
        found.sort_unstable_by(|one, other| other.cmp(one));
        found.truncate(most as usize);
        Ok(found.into_iter().map(|(_, handle)| handle).collect())
    }

    /// Returns paths that memories speak of and that end like this one.
    pub fn paths_ending(&self, end: &str, most: u32) -> Result<Vec<String>, StoreError> {
        // Only the index is read, from its beginning until enough are found.
        const PATHS: &str = "select distinct path from observation_file indexed by observation_file_by_path
            where path like ?1 escape '\\' limit ?2";
        let attempt = query("look for files");
        let escaped = end.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
        let mut statement = self.connection.prepare_cached(PATHS).map_err(attempt)?;
        let rows = statement.query_map(params![format!("%{escaped}"), most], |row| row.get(0));
        rows.and_then(Iterator::collect).map_err(attempt)
    }
}
