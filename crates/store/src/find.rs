//! Finds documents by their words.
//!
//! Every word of a question counts (BM25, any of them is enough). What a search costs is bounded however large the store
//! is: a word that stands in very many documents says little, so it only lifts documents that rarer words have found.

use std::{collections::HashMap, ops::RangeInclusive};

use rusqlite::{Connection, params, types::Value};

use crate::{
    Project, Store, StoreError,
    documents::range,
    open::query,
    words::{self, Term},
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
    pub fn ranges(self) -> Vec<RangeInclusive<i64>> {
        match self {
            Self::Project(project) => vec![range(project.db_id), range(0)],
            Self::Everywhere => vec![0..=i64::MAX],
        }
    }
}

/// A document that was found by its words.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FoundByWords {
    /// The number of the document.
    pub document: i64,
    /// How well it fits: higher is better, comparable within one search only.
    pub score: f64,
}

/// The most rows of the word index that one search scores: a few milliseconds.
const MOST_ROWS: u64 = 5_000;

/// How many of the best documents are looked at again for words that stand in too many to begin with.
const LOOKED_AT_AGAIN: usize = 40;

/// An unfinished word that is known itself to this many documents needs no completing.
const KNOWN_WELL: u64 = 5;

impl Store {
    /// Finds the documents that fit a question best by its words, the best first.
    pub fn find_by_words(
        &self,
        scope: Scope<'_>,
        question: &str,
        wanted: usize,
    ) -> Result<Vec<FoundByWords>, StoreError> {
        let mut found = Vec::new();
        for range in scope.ranges() {
            let search = Search {
                connection: &self.connection,
                range,
            };
            found.extend(
                search
                    .run(question, wanted)
                    .map_err(query("search the word index"))?,
            );
        }
        found.sort_by(|one, other| {
            other
                .score
                .total_cmp(&one.score)
                .then(other.document.cmp(&one.document))
        });
        found.truncate(wanted);
        Ok(found)
    }
}

struct Search<'s> {
    connection: &'s Connection,
    range: RangeInclusive<i64>,
}

/// A word, and in how many documents it stands: exact when small.
struct Counted {
    term: Term,
    documents: u64,
}

impl Search<'_> {
    fn run(&self, question: &str, wanted: usize) -> rusqlite::Result<Vec<FoundByWords>> {
        let mut counted = Vec::new();
        for term in words::terms(question) {
            counted.push(self.count(term)?);
        }
        if let Some(prefix) = words::unfinished(question) {
            let known = counted.iter().find(|one| one.term.word == prefix.word);
            if known.is_none_or(|one| one.documents < KNOWN_WELL) {
                counted.push(self.count(prefix)?);
            }
        }
        counted.retain(|one| one.documents > 0);
        counted.sort_by_key(|one| one.documents);
        let mut rows = 0;
        let rare = counted.partition_point(|one| {
            rows += one.documents;
            rows <= MOST_ROWS
        });
        let (rare, common) = counted.split_at(rare);
        if rare.is_empty() {
            return self.newest_with_all(common, wanted);
        }
        let mut found = self.best_with_any(rare, wanted.max(LOOKED_AT_AGAIN))?;
        if !common.is_empty() {
            self.lift(&mut found, common)?;
        }
        Ok(found)
    }

    fn count(&self, term: Term) -> rusqlite::Result<Counted> {
        const COUNT: &str = "select count(*) from
            (select 1 from words where words match ?1 and rowid between ?2 and ?3 limit ?4)";
        let documents = self.connection.prepare_cached(COUNT)?.query_row(
            params![
                term.to_match(),
                self.range.start(),
                self.range.end(),
                MOST_ROWS + 1
            ],
            |row| row.get(0),
        )?;
        Ok(Counted { term, documents })
    }

    fn best_with_any(&self, terms: &[Counted], wanted: usize) -> rusqlite::Result<Vec<FoundByWords>> {
        // The columns: title, subtitle, facts, narrative, files.
        const BEST: &str = "select rowid, -bm25(words, 4.0, 2.0, 2.0, 1.0, 1.5) as score from words
            where words match ?1 and rowid between ?2 and ?3 order by score desc, rowid desc limit ?4";
        self.rows(BEST, &any(terms, " OR "), wanted)
    }

    /// All words are common: the newest documents that have all of them, else the newest that have the rarest.
    fn newest_with_all(&self, terms: &[Counted], wanted: usize) -> rusqlite::Result<Vec<FoundByWords>> {
        const NEWEST: &str = "select rowid, 1.0 from words
            where words match ?1 and rowid between ?2 and ?3 order by rowid desc limit ?4";
        let mut terms = terms;
        while !terms.is_empty() {
            let found = self.rows(NEWEST, &any(terms, " AND "), wanted)?;
            if !found.is_empty() {
                return Ok(found);
            }
            terms = &terms[..terms.len() - 1];
        }
        Ok(Vec::new())
    }

    /// Lifts those of the best documents that have common words too, by what such a word is worth.
    fn lift(&self, found: &mut Vec<FoundByWords>, common: &[Counted]) -> rusqlite::Result<()> {
        const HAS: &str = "select 1 from words where words match ?1 and rowid = ?2";
        // What BM25 gives to a word that stands in one of twenty documents.
        const WORTH: f64 = 2.0;
        found.truncate(LOOKED_AT_AGAIN.max(found.len() / 2));
        let mut lifts: HashMap<i64, f64> = HashMap::new();
        let mut statement = self.connection.prepare_cached(HAS)?;
        for one in common {
            let words = one.term.to_match();
            for hit in found.iter().take(LOOKED_AT_AGAIN) {
                if statement.exists(params![words, hit.document])? {
                    *lifts.entry(hit.document).or_default() += WORTH;
                }
            }
        }
        for hit in found.iter_mut() {
            hit.score += lifts.get(&hit.document).copied().unwrap_or_default();
        }
        found.sort_by(|one, other| other.score.total_cmp(&one.score));
        Ok(())
    }

    fn rows(&self, sql: &str, words: &str, wanted: usize) -> rusqlite::Result<Vec<FoundByWords>> {
        let values: [Value; 4] = [
            words.to_owned().into(),
            (*self.range.start()).into(),
            (*self.range.end()).into(),
            i64::try_from(wanted).unwrap_or(i64::MAX).into(),
        ];
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map(values, |row| {
            Ok(FoundByWords {
                document: row.get(0)?,
                score: row.get(1)?,
            })
        })?;
        rows.collect()
    }
}

fn any(terms: &[Counted], operator: &str) -> String {
    let terms: Vec<String> = terms.iter().map(|one| one.term.to_match()).collect();
    terms.join(operator)
}
