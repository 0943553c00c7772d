//! Which documents a person wants to look through.

use std::collections::HashSet;

use backstory_model::{MemoryKind, ObservationType};
use rusqlite::params;

use crate::{Scope, Store, StoreError, open::query};

/// What a document must be to count; empty lets everything pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Of this kind.
    pub kind: Option<MemoryKind>,
    /// An observation or a note of this type.
    pub observation_type: Option<ObservationType>,
    /// With this concept.
    pub concept: Option<String>,
    /// About this file: a whole path or its end.
    pub file: Option<String>,
    /// Of the session whose id begins like this.
    pub session: Option<String>,
    /// Not older, in milliseconds since 1970.
    pub since_ms: Option<i64>,
    /// Not younger.
    pub until_ms: Option<i64>,
}

impl Filter {
    /// Whether everything passes.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Store {
    /// Returns the documents that pass.
    pub fn documents_that_pass(&self, scope: Scope<'_>, filter: &Filter) -> Result<HashSet<i64>, StoreError> {
        const PASS: &str = "select document.id from document
                left join observation on document.kind = 'observation' and observation.id = document.memory_id
                left join note on document.kind = 'note' and note.id = document.memory_id
                left join summary on document.kind = 'summary' and summary.id = document.memory_id
                left join session on session.id = document.session_db_id
            where document.id between ?1 and ?2
                and (?3 is null or document.kind = ?3)
                and (?4 is null or coalesce(observation.type, note.type) = ?4)
                and (?5 is null or exists (select 1 from json_each(observation.concepts) where value = ?5))
                and (?6 is null or exists (select 1 from observation_file as file
                        where file.observation_id = observation.id and (file.path = ?6 or file.path like ?7 escape '\\'))
                    or exists (select 1 from json_each(coalesce(note.files, summary.files_edited, '[]'))
                        where value = ?6 or value like ?7 escape '\\'))
                and (?8 is null or session.session_id like ?8 escape '\\')
                and (?9 is null or document.created_at >= ?9)
                and (?10 is null or document.created_at <= ?10)";
        let attempt = query("look for what passes the filters");
        let mut statement = self.connection.prepare_cached(PASS).map_err(attempt)?;
        let escaped = |text: &str| text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
        let file = filter.file.as_deref().map(|file| file.trim_start_matches("./"));
        let mut pass = HashSet::new();
        for range in scope.ranges() {
            let values = params![
                range.start(),
                range.end(),
                filter.kind.map(MemoryKind::name),
                filter.observation_type.map(ObservationType::name),
                filter.concept,
                file,
                file.map(|file| format!("%/{}", escaped(file))),
                filter
                    .session
                    .as_deref()
                    .map(|session| format!("{}%", escaped(session))),
                filter.since_ms,
                filter.until_ms
            ];
            let rows = statement.query_map(values, |row| row.get(0)).map_err(attempt)?;
            for row in rows {
                pass.insert(row.map_err(attempt)?);
            }
        }
        Ok(pass)
    }
}
