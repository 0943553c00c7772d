//! Which documents a person wants to look through.

use std::collections::HashSet;

use backstory_model::{DocumentId, MemoryKind, ObservationType, Timestamp, relative_path};
use rusqlite::Params;

use crate::{Scope, Store, StoreError, schema::open::query};

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
    pub since: Option<Timestamp>,
    /// Not younger.
    pub until: Option<Timestamp>,
}

impl Filter {
    /// Whether everything passes.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Store {
    /// Returns the documents that pass.
    pub fn documents_that_pass(
        &self,
        scope: Scope<'_>,
        filter: &Filter,
    ) -> Result<HashSet<DocumentId>, StoreError> {
        let sql = format!("{PASS} and document.id between ?9 and ?10");
        let attempt = query("look for what passes the filters");
        let mut statement = self.connection.prepare_cached(&sql).map_err(attempt)?;
        let mut pass = HashSet::new();
        for range in scope.ranges() {
            let wanted = Wanted::of(filter);
            let values = wanted.values(*range.start(), *range.end());
            let rows = statement.query_map(values, |row| row.get(0)).map_err(attempt)?;
            for row in rows {
                pass.insert(row.map_err(attempt)?);
            }
        }
        Ok(pass)
    }

    /// Returns those of some documents that pass.
    pub fn passing(
        &self,
        documents: &[DocumentId],
        filter: &Filter,
    ) -> Result<HashSet<DocumentId>, StoreError> {
        let attempt = query("look for what passes the filters");
        let sql = format!("{PASS} and document.id = ?9 and ?10 = ?9");
        let mut statement = self.connection.prepare_cached(&sql).map_err(attempt)?;
        let wanted = Wanted::of(filter);
        let mut pass = HashSet::new();
        for document in documents {
            if statement
                .exists(wanted.values(*document, *document))
                .map_err(attempt)?
            {
                pass.insert(*document);
            }
        }
        Ok(pass)
    }
}

/// Everything that a document must be, but for its number.
const PASS: &str = "select document.id from document
        left join observation on document.kind = 'observation' and observation.id = document.memory_id
        left join note on document.kind = 'note' and note.id = document.memory_id
        left join summary on document.kind = 'summary' and summary.id = document.memory_id
        left join session on session.id = document.session_db_id
    where (?1 is null or document.kind = ?1)
        and (?7 is null or document.created_at >= ?7)
        and (?8 is null or document.created_at <= ?8)
        and (?2 is null or coalesce(observation.type, note.type) = ?2)
        and (?3 is null or exists (select 1 from json_each(observation.concepts) where value = ?3))
        and (?4 is null or exists (select 1 from observation_file as file
                where file.observation_id = observation.id and (file.path = ?4 or file.path like ?5 escape '\\'))
            or exists (select 1 from json_each(coalesce(note.files, summary.files_edited, '[]'))
                where value = ?4 or value like ?5 escape '\\'))
        and (?6 is null or session.session_id like ?6 escape '\\')";

/// A filter as the statement takes it.
struct Wanted<'f> {
    filter: &'f Filter,
    file: Option<String>,
    file_end: Option<String>,
    session: Option<String>,
}

impl<'f> Wanted<'f> {
    fn of(filter: &'f Filter) -> Self {
        let escaped = |text: &str| text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
        let file = filter.file.as_deref().map(|file| relative_path(file, []));
        Self {
            filter,
            file_end: file.as_deref().map(|file| format!("%/{}", escaped(file))),
            file,
            session: filter
                .session
                .as_deref()
                .map(|session| format!("{}%", escaped(session))),
        }
    }

    /// All values, and which documents are looked at.
    fn values(&self, first: DocumentId, last: DocumentId) -> impl Params {
        (
            self.filter.kind,
            self.filter.observation_type,
            self.filter.concept.as_deref(),
            self.file.as_deref(),
            self.file_end.as_deref(),
            self.session.as_deref(),
            self.filter.since,
            self.filter.until,
            first,
            last,
        )
    }
}
