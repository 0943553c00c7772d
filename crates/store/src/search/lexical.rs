//! Finds documents by their words.
//!
//! Says for every word of a question which documents have it and how strongly; what that is worth together is left to
//! recall. What a search costs is bounded however large the store is: a word that stands in very many documents says
//! little beside rarer ones, and is left out then.

use std::{collections::HashMap, ops::RangeInclusive};

use backstory_model::{DocumentId, EpisodeId, MemoryKind, SessionId};
use rusqlite::{Connection, OptionalExtension, params};

use crate::{
    Project, Store, StoreError,
    memory::documents::{EVERYWHERE, everywhere, range},
    schema::open::query,
    search::words::{self, Term},
};

/// Where to look.
#[derive(Clone, Copy, Debug)]
pub enum Scope<'p> {
    /// In one project, and among what holds everywhere.
    Project(&'p Project),
    /// In all projects.
    Everywhere,
}

impl Scope<'_> {
    /// Returns the numbers of the documents in question.
    pub fn ranges(self) -> Vec<RangeInclusive<DocumentId>> {
        match self {
            Self::Project(project) => vec![range(project.db_id), range(EVERYWHERE)],
            Self::Everywhere => vec![everywhere()],
        }
    }
}

/// A word of a question and the documents that have it.
#[derive(Clone, Debug, PartialEq)]
pub struct TermMatches {
    /// The word in lower case.
    pub word: String,
    /// What it tells: much for a rare word, little for one that stands nearly everywhere.
    pub weight: f64,
    /// The documents, each with how strongly it has the word: 1 is once in a document of usual length.
    pub documents: Vec<(DocumentId, f64)>,
}

/// Up to so many documents, a word is looked at closely: how often it stands in each, and in which field.
const CLOSELY: usize = 1_500;

/// Above so many documents in the whole store even that many in the scope are too many to be looked at closely.
const CLOSELY_OF_ALL: usize = 5_000;

/// A word that stands in more documents than this is common: it counts only when no rarer word is there, and then for the
/// newest documents that have it. A small store can afford to look at more.
fn most_listed(all: u64) -> usize {
    const MIN: usize = 2_000;
    usize::try_from(40_000_000 / all.max(1)).map_or(usize::MAX, |most| most.max(MIN))
}

/// An unfinished word that stands in so many documents needs no completing.
const KNOWN_WELL: usize = 5;

impl Store {
    /// Finds, for each word of a question, the documents that have it.
    pub fn match_terms(&self, scope: Scope<'_>, question: &str) -> Result<Vec<TermMatches>, StoreError> {
        let mut found: Vec<TermMatches> = Vec::new();
        for range in scope.ranges() {
            let search = TermSearch {
                connection: &self.connection,
                range,
                is_everything: matches!(scope, Scope::Everywhere),
            };
            let words = search.run(question).map_err(query("search the word index"))?;
            for word in words {
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
    }

    /// Says where documents belong.
    pub fn origins_of_documents(
        &self,
        documents: &[DocumentId],
    ) -> Result<HashMap<DocumentId, Origin>, StoreError> {
        const ORIGIN: &str = "select document.session_db_id, document.kind, passage.kind = 'command',
                coalesce(passage.episode_id, observation.episode_id)
            from document left join passage on document.kind = 'passage' and passage.id = document.memory_id
                left join observation on document.kind = 'observation' and observation.id = document.memory_id
            where document.id = ?1";
        let attempt = query("read where a memory belongs");
        let mut statement = self.connection.prepare_cached(ORIGIN).map_err(attempt)?;
        let mut origins = HashMap::with_capacity(documents.len());
        for document in documents {
            let origin = statement.query_row([document], |row| {
                Ok(Origin {
                    session: row.get(0)?,
                    kind: MemoryKind::from_name(row.get_ref(1)?.as_str()?),
                    is_command: row.get::<_, Option<bool>>(2)?.unwrap_or_default(),
                    episode: row.get(3)?,
                })
            });
            if let Some(origin) = origin.optional().map_err(attempt)? {
                origins.insert(*document, origin);
            }
        }
        Ok(origins)
    }
}

/// Where a document belongs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The number of its session's row.
    pub session: Option<SessionId>,
    /// The row of its episode.
    pub episode: Option<EpisodeId>,
    /// What kind of memory it is.
    pub kind: Option<MemoryKind>,
    /// Whether it is the record of a command.
    pub is_command: bool,
}

struct TermSearch<'s> {
    connection: &'s Connection,
    range: RangeInclusive<DocumentId>,
    is_everything: bool,
}

/// A word, and the documents that have it: all of them when they are few.
struct Listed {
    term: Term,
    documents: Vec<DocumentId>,
}

impl TermSearch<'_> {
    fn run(&self, question: &str) -> rusqlite::Result<Vec<TermMatches>> {
        let all = self.documents()?;
        if all == 0 {
            return Ok(Vec::new());
        }
        let most = most_listed(all);
        let mut words = Vec::new();
        for term in words::terms(question) {
            words.push(self.list(term, most)?);
        }
        if let Some(prefix) = words::unfinished(question) {
            let known = words.iter().find(|one| one.term.word == prefix.word);
            if known.is_none_or(|one| one.documents.len() < KNOWN_WELL) {
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
        let mut closely = 0;
        let mut found = Vec::with_capacity(words.len());
        for one in words {
            let count = one.documents.len();
            let weight = weight(all, count);
            let close = match closely + count <= CLOSELY {
                true => self.score_term(&one, weight)?,
                false => None,
            };
            closely += close.as_ref().map_or(0, |_| count);
            found.push(close.unwrap_or_else(|| as_listed(one, weight)));
        }
        Ok(found)
    }

    /// How many documents there are to look through.
    fn documents(&self) -> rusqlite::Result<u64> {
        const COUNT: &str = "select coalesce(sum(documents), 0) from document_count where project_id between ?1 >> 40 and ?2 >> 40";
        let ends = [self.range.start(), self.range.end()];
        self.connection
            .prepare_cached(COUNT)?
            .query_row(ends, |row| row.get(0))
    }

    /// Lists the documents that have a word, the newest first.
    fn list(&self, term: Term, most: usize) -> rusqlite::Result<Listed> {
        const LISTED: &str = "select rowid from words where words match ?1 and rowid between ?2 and ?3
            order by rowid desc limit ?4";
        let values = params![term.to_match(), self.range.start(), self.range.end(), most + 1];
        let mut statement = self.connection.prepare_cached(LISTED)?;
        let rows = statement.query_map(values, |row| row.get(0))?;
        let documents = rows.collect::<Result<_, _>>()?;
        Ok(Listed { term, documents })
    }

    /// Asks the index how strongly each document has a word; `None` when the word stands in too many elsewhere. The index
    /// multiplies by its own idea of what the word tells, the same for all documents, which is taken out again.
    fn score_term(&self, one: &Listed, weight: f64) -> rusqlite::Result<Option<TermMatches>> {
        // The columns: title, subtitle, facts, narrative, files.
        const SCORED: &str = "select rowid, -bm25(words, 4.0, 2.0, 2.0, 1.0, 1.5) from words
            where words match ?1 and rowid between ?2 and ?3";
        const ALL: &str = "select coalesce(sum(documents), 0) from document_count";
        let everywhere = self.count_everywhere(one)?;
        if everywhere > CLOSELY_OF_ALL {
            return Ok(None);
        }
        let all: u64 = self
            .connection
            .prepare_cached(ALL)?
            .query_row([], |row| row.get(0))?;
        let factor = own_weight(all, everywhere);
        let values = params![one.term.to_match(), self.range.start(), self.range.end()];
        let mut statement = self.connection.prepare_cached(SCORED)?;
        let rows = statement.query_map(values, |row| Ok((row.get(0)?, row.get::<_, f64>(1)? / factor)))?;
        Ok(Some(TermMatches {
            word: one.term.word.clone(),
            weight,
            documents: rows.collect::<Result<_, _>>()?,
        }))
    }

    /// The index weighs a word by all documents, and counts them for that: too many elsewhere are too slow here.
    fn count_everywhere(&self, one: &Listed) -> rusqlite::Result<usize> {
        const COUNT: &str = "select count(*) from (select 1 from words where words match ?1 limit ?2)";
        match self.is_everything {
            true => Ok(one.documents.len()),
            false => self
                .connection
                .prepare_cached(COUNT)?
                .query_row(params![one.term.to_match(), CLOSELY_OF_ALL + 1], |row| row.get(0)),
        }
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

/// What a word tells that stands in some of all documents: never nothing.
fn weight(all: u64, some: usize) -> f64 {
    let (all, some) = (as_f64(all), as_f64(some as u64));
    (1.0 + (all - some + 0.5).max(0.0) / (some + 0.5)).ln()
}

/// What the index itself takes a word for: its formula.
fn own_weight(all: u64, some: usize) -> f64 {
    let (all, some) = (as_f64(all), as_f64(some as u64));
    let weight = ((all - some + 0.5) / (some + 0.5)).ln();
    if weight > 0.0 { weight } else { 1e-6 }
}

fn as_f64(count: u64) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
