//! Lexical search: finds documents by their words.
//!
//! Returns for each word of a query the documents that contain it, with a score; recall combines them. The cost is bounded
//! for a store of any size: a word in very many documents is ignored if the query also has rarer words. Columns are read by
//! position, because a search reads thousands of rows.

use std::{collections::HashMap, ops::RangeInclusive};

use backstory_model::{DocumentId, EpisodeId, MemoryKind, SessionId};
use rusqlite::{Connection, params};

use crate::{
    Project, Store, StoreError,
    memory::documents::{EVERYWHERE, everywhere, range},
    sql::Statements as _,
    words::{self, Term},
};

/// Selects the documents to search.
#[derive(Clone, Copy, Debug)]
pub enum Scope<'p> {
    /// One project, and what applies everywhere.
    Project(&'p Project),
    /// All projects.
    Everywhere,
}

impl Scope<'_> {
    /// Returns the ids of these documents.
    pub fn ranges(self) -> Vec<RangeInclusive<DocumentId>> {
        match self {
            Self::Project(project) => vec![range(project.db_id), range(EVERYWHERE)],
            Self::Everywhere => vec![everywhere()],
        }
    }
}

/// Holds a word of a query with the documents that contain it.
#[derive(Clone, Debug, PartialEq)]
pub struct TermMatches {
    /// The word in lower case.
    pub word: String,
    /// The inverse document frequency: high for a rare word.
    pub weight: f64,
    /// The documents with their term scores; 1 for one occurrence in a document of average length.
    pub documents: Vec<(DocumentId, f64)>,
}

/// The most documents that are scored by frequency and field. Further ones get the score 1.
const MAX_SCORED: usize = 1_500;

/// The most documents in the whole store for a word to be scored: BM25 counts all of them in every scope.
const MAX_SCORED_IN_STORE: usize = 5_000;

/// Returns the number of documents above which a word is common. A common word counts only if the query has no rarer one, and
/// then for the newest documents that contain it. A small store can afford more.
fn most_listed(all: u64) -> usize {
    const MIN: usize = 2_000;
    usize::try_from(40_000_000 / all.max(1)).map_or(usize::MAX, |most| most.max(MIN))
}

/// The number of documents from which the last word of a query counts as complete.
const COMPLETE: usize = 5;

impl Store {
    /// Returns the documents that contain each word of a query.
    pub fn match_terms(&self, scope: Scope<'_>, query: &str) -> Result<Vec<TermMatches>, StoreError> {
        self.read("search the word index", |connection| {
            let mut found: Vec<TermMatches> = Vec::new();
            for range in scope.ranges() {
                let search = TermSearch {
                    connection,
                    range,
                    is_everything: matches!(scope, Scope::Everywhere),
                };
                for word in search.run(query)? {
                    match found.iter_mut().find(|known| known.word == word.word) {
                        Some(known) => {
                            known.documents.extend(word.documents);
                            known.weight = known.weight.max(word.weight);
                        }
                        None => found.push(word),
                    }
                }
            }
            Ok(found)
        })
    }

    /// Returns the session, episode and kind of documents.
    pub fn origins_of_documents(
        &self,
        documents: &[DocumentId],
    ) -> Result<HashMap<DocumentId, Origin>, StoreError> {
        const ORIGIN: &str = "select document.session_db_id, document.kind, passage.kind = 'command',
                coalesce(passage.episode_id, observation.episode_id)
            from document left join passage on document.kind = 'passage' and passage.id = document.memory_id
                left join observation on document.kind = 'observation' and observation.id = document.memory_id
            where document.id = ?1";
        self.read("read the origins of documents", |connection| {
            let mut origins = HashMap::with_capacity(documents.len());
            for document in documents {
                let origin = connection.optional_row(ORIGIN, [document], |row| {
                    Ok(Origin {
                        session: row.get(0)?,
                        kind: row.get(1)?,
                        is_command: row.get::<_, Option<bool>>(2)?.unwrap_or_default(),
                        episode: row.get(3)?,
                    })
                })?;
                origins.extend(origin.map(|origin| (*document, origin)));
            }
            Ok(origins)
        })
    }
}

/// Holds the origin of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The session.
    pub session: Option<SessionId>,
    /// The episode.
    pub episode: Option<EpisodeId>,
    /// The kind of memory.
    pub kind: Option<MemoryKind>,
    /// It is a passage with a command.
    pub is_command: bool,
}

struct TermSearch<'s> {
    connection: &'s Connection,
    range: RangeInclusive<DocumentId>,
    is_everything: bool,
}

/// Holds a word with its newest documents: all of them if they are few.
struct Listed {
    term: Term,
    documents: Vec<DocumentId>,
}

impl TermSearch<'_> {
    fn run(&self, query: &str) -> rusqlite::Result<Vec<TermMatches>> {
        let all = self.documents()?;
        if all == 0 {
            return Ok(Vec::new());
        }
        let most = most_listed(all);
        let mut words = Vec::new();
        for term in words::terms(query) {
            words.push(self.list(term, most)?);
        }
        if let Some(prefix) = words::incomplete_word(query) {
            let known = words.iter().find(|one| one.term.word == prefix.word);
            if known.is_none_or(|one| one.documents.len() < COMPLETE) {
                words.retain(|one| one.term.word != prefix.word);
                words.push(self.list(prefix, most)?);
            }
        }
        words.sort_by_key(|one| one.documents.len());
        let is_common = |one: &Listed| one.documents.len() > most;
        if words
            .iter()
            .any(|one| !one.documents.is_empty() && !is_common(one))
        {
            words.retain(|one| !is_common(one));
        }
        let mut scored = 0;
        let mut found = Vec::with_capacity(words.len());
        for one in words {
            let count = one.documents.len();
            let weight = inverse_document_frequency(all, count as u64);
            let matches = if scored + count <= MAX_SCORED {
                self.score_term(&one, weight)?
            } else {
                None
            };
            scored += matches.as_ref().map_or(0, |_| count);
            found.push(matches.unwrap_or_else(|| as_listed(one, weight)));
        }
        Ok(found)
    }

    /// Counts the documents in the range.
    fn documents(&self) -> rusqlite::Result<u64> {
        const COUNT: &str = "select coalesce(sum(documents), 0) from document_count where project_id between ?1 >> 40 and ?2 >> 40";
        let ends = [self.range.start(), self.range.end()];
        self.connection.row(COUNT, ends, |row| row.get(0))
    }

    /// Lists the newest documents that contain a word.
    fn list(&self, term: Term, most: usize) -> rusqlite::Result<Listed> {
        const LISTED: &str = "select rowid from words where words match ?1 and rowid between ?2 and ?3
            order by rowid desc limit ?4";
        let values = params![term.to_match(), self.range.start(), self.range.end(), most + 1];
        let documents = self.connection.rows(LISTED, values, |row| row.get(0))?;
        Ok(Listed { term, documents })
    }

    /// Scores the documents that contain a word with BM25; `None` if too many documents in the store contain it. BM25
    /// multiplies by its own inverse document frequency, which is the same for all documents and is divided out again.
    fn score_term(&self, one: &Listed, weight: f64) -> rusqlite::Result<Option<TermMatches>> {
        // The columns: title, subtitle, facts, narrative, files.
        const SCORED: &str = "select rowid, -bm25(words, 4.0, 2.0, 2.0, 1.0, 1.5) from words
            where words match ?1 and rowid between ?2 and ?3";
        const ALL: &str = "select coalesce(sum(documents), 0) from document_count";
        let everywhere = self.count_everywhere(one)?;
        if everywhere > MAX_SCORED_IN_STORE {
            return Ok(None);
        }
        let all: u64 = self.connection.row(ALL, [], |row| row.get(0))?;
        let factor = fts5_weight(all, everywhere);
        let values = params![one.term.to_match(), self.range.start(), self.range.end()];
        let documents = self.connection.rows(SCORED, values, |row| {
            Ok((row.get(0)?, row.get::<_, f64>(1)? / factor))
        })?;
        Ok(Some(TermMatches {
            word: one.term.word.clone(),
            weight,
            documents,
        }))
    }

    /// Counts the documents of the whole store that contain a word, up to a limit.
    fn count_everywhere(&self, one: &Listed) -> rusqlite::Result<usize> {
        const COUNT: &str = "select count(*) from (select 1 from words where words match ?1 limit ?2)";
        if self.is_everything {
            return Ok(one.documents.len());
        }
        let values = params![one.term.to_match(), MAX_SCORED_IN_STORE + 1];
        self.connection.row(COUNT, values, |row| row.get(0))
    }
}

fn as_listed(listed: Listed, weight: f64) -> TermMatches {
    TermMatches {
        word: listed.term.word,
        weight,
        documents: listed
            .documents
            .into_iter()
            .map(|document| (document, 1.0))
            .collect(),
    }
}

/// Returns the inverse document frequency of a word in `some` of `all` documents; always positive.
pub fn inverse_document_frequency(all: u64, some: u64) -> f64 {
    let (all, some) = (as_f64(all), as_f64(some));
    (1.0 + (all - some + 0.5).max(0.0) / (some + 0.5)).ln()
}

/// Returns the inverse document frequency as FTS5 computes it.
fn fts5_weight(all: u64, some: usize) -> f64 {
    let (all, some) = (as_f64(all), as_f64(some as u64));
    let weight = ((all - some + 0.5) / (some + 0.5)).ln();
    if weight > 0.0 { weight } else { 1e-6 }
}

fn as_f64(count: u64) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
