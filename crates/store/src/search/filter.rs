//! Filters on documents: kind, type, concept, file, session, branch and time.

use std::collections::HashSet;

use backstory_model::{DocumentId, MemoryKind, ObservationType, Timestamp, relative_path};
use rusqlite::Params;

use crate::{
    Store, StoreError,
    sql::{Statements as _, escape_like},
};

/// Holds the conditions of a search; an empty filter passes everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// The kind of memory.
    pub kind: Option<MemoryKind>,
    /// The type of an observation or a note.
    pub observation_type: Option<ObservationType>,
    /// A concept.
    pub concept: Option<String>,
    /// A cited file, as a whole path or its end.
    pub file: Option<String>,
    /// The start of the session id.
    pub session: Option<String>,
    /// The branch of the session.
    pub branch: Option<String>,
    /// The earliest time.
    pub since: Option<Timestamp>,
    /// The latest time.
    pub until: Option<Timestamp>,
}

impl Filter {
    /// Returns true if everything passes.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Store {
    /// Returns those of the given documents that pass.
    pub fn passing(
        &self,
        documents: &[DocumentId],
        filter: &Filter,
    ) -> Result<HashSet<DocumentId>, StoreError> {
        let sql = format!("{PASS} and document.id = ?10");
        let conditions = Conditions::of(filter);
        self.read("filter memories", |connection| {
            let mut pass = HashSet::new();
            for document in documents {
                if connection.has_row(&sql, conditions.values(*document))? {
                    pass.insert(*document);
                }
            }
            Ok(pass)
        })
    }
}

/// Selects the documents that pass; the caller adds a condition on the id.
const PASS: &str = "select document.id as id from document
        left join observation on document.kind = 'observation' and observation.id = document.memory_id
        left join note on document.kind = 'note' and note.id = document.memory_id
        left join summary on document.kind = 'summary' and summary.id = document.memory_id
        left join team_memory on document.kind = 'team' and team_memory.id = document.memory_id
        left join session on session.id = document.session_db_id
    where (?1 is null or document.kind = ?1)
        and (?7 is null or document.created_at >= ?7)
        and (?8 is null or document.created_at <= ?8)
        and (?2 is null or coalesce(observation.type, note.type, team_memory.type) = ?2)
        and (?3 is null or exists (select 1 from json_each(coalesce(observation.concepts, team_memory.concepts))
            where value = ?3))
        and (?4 is null or exists (select 1 from observation_file as file
                where file.observation_id = observation.id and (file.path = ?4 or file.path like ?5 escape '\\'))
            or exists (select 1 from team_memory_file as file
                where file.team_memory_id = team_memory.id and (file.path = ?4 or file.path like ?5 escape '\\'))
            or exists (select 1 from json_each(coalesce(note.files, summary.files_edited, '[]'))
                where value = ?4 or value like ?5 escape '\\'))
        and (?6 is null or session.session_id like ?6 escape '\\')
        and (?9 is null or session.branch = ?9)";

/// Holds a filter as SQL parameters.
struct Conditions<'f> {
    filter: &'f Filter,
    file: Option<String>,
    file_end: Option<String>,
    session: Option<String>,
}

impl<'f> Conditions<'f> {
    fn of(filter: &'f Filter) -> Self {
        let file = filter.file.as_deref().map(|file| relative_path(file, []));
        Self {
            filter,
            file_end: file.as_deref().map(|file| format!("%/{}", escape_like(file))),
            file,
            session: filter
                .session
                .as_deref()
                .map(|session| format!("{}%", escape_like(session))),
        }
    }

    /// Returns the parameters of [`PASS`] and the id.
    fn values(&self, document: DocumentId) -> impl Params {
        (
            self.filter.kind,
            self.filter.observation_type,
            self.filter.concept.as_deref(),
            self.file.as_deref(),
            self.file_end.as_deref(),
            self.session.as_deref(),
            self.filter.since,
            self.filter.until,
            self.filter.branch.as_deref(),
            document,
        )
    }
}
