//! Hybrid search: lexical and semantic matches in one ranking, with relevance, snippet and staleness of each hit.

use std::{
    collections::{HashMap, HashSet},
    path::Path,
    thread,
    time::Duration,
};

use backstory_model::{DocumentId, MemoryKind, ObservationId, SessionId, Timestamp};
use backstory_store::{Filter, Memory, Scope, Store, StoreError, terms};
use backstory_text::{one_line, tokens};

use crate::{
    question::Wanted,
    rank::{Candidate, Ranked, by_words, rank},
    semantic::{SemanticIndex, SemanticMatches},
    snippet::snippet,
    staleness::{self, FileStatus},
};

/// A search.
#[derive(Clone, Copy, Debug)]
pub struct Query<'q> {
    /// Any text.
    pub text: &'q str,
    /// The project, or all projects.
    pub scope: Scope<'q>,
    /// Types, times, files and concepts that pass.
    pub filter: &'q Filter,
    /// Maximum number of hits.
    pub limit: usize,
    /// Current time.
    pub now: Timestamp,
}

/// A memory that was found.
#[derive(Clone, Debug)]
pub struct SearchHit {
    /// The memory.
    pub memory: Memory,
    /// Estimated probability that it answers the query, from 0 to 1.
    pub score: f64,
    /// The part that matches the query best.
    pub snippet: String,
    /// True if a file that it cites has changed since.
    pub is_stale: bool,
}

impl SearchHit {
    /// Returns its title; of a memory that has none, its first words.
    pub fn title(&self) -> String {
        const MAX_LEN: usize = 100;
        let fields = self.memory.fields();
        let text = if fields.title.trim().is_empty() {
            &fields.narrative
        } else {
            &fields.title
        };
        one_line(text, MAX_LEN)
    }

    /// Returns the snippet without the part that the title above it shows already.
    pub fn snippet_below(&self, title: &str) -> Option<String> {
        /// Longer than any snippet.
        const WHOLE: usize = 1_000;
        let snippet = one_line(&self.snippet, WHOLE);
        if snippet.is_empty() || snippet == title {
            return None;
        }
        let start = title.strip_suffix('…').filter(|start| snippet.starts_with(start));
        let Some(start) = start else { return Some(snippet) };
        let from = match &snippet[start.len()..] {
            "" => return None,
            rest if rest.starts_with(' ') => start.len() + 1,
            // The title was cut inside a word: the snippet repeats the whole word.
            _ => start.rfind(' ').map_or(start.len(), |blank| blank + 1),
        };
        Some(format!("…{}", &snippet[from..]))
    }

    /// Returns the estimated number of tokens of the whole memory.
    pub fn tokens(&self) -> usize {
        tokens(&self.memory.fields().text())
    }
}

/// Number of the best lexical and of the best semantic matches that are ranked.
const BY_WORDS: usize = 300;
const BY_MEANING: usize = 150;

/// Searches a store. Reused, it is warm: vectors stay mapped, statements prepared.
#[derive(Debug)]
pub struct Searcher<'s> {
    store: &'s Store,
    meanings: SemanticIndex,
}

impl<'s> Searcher<'s> {
    /// Prepares to search a store whose vectors are in a file.
    pub fn new(store: &'s Store, vectors: &Path) -> Result<Self, StoreError> {
        Ok(Self {
            store,
            meanings: SemanticIndex::open(store, vectors)?,
        })
    }

    /// Returns the best hits, best first.
    pub fn search(&mut self, query: &Query<'_>) -> Result<Vec<SearchHit>, StoreError> {
        let store = self.store;
        store.read_transaction(|| self.find(query))
    }

    fn find(&mut self, query: &Query<'_>) -> Result<Vec<SearchHit>, StoreError> {
        if query.text.trim().is_empty() {
            let pass = match query.filter.is_empty() {
                true => HashSet::new(),
                false => self.store.documents_that_pass(query.scope, query.filter)?,
            };
            return self.newest(query, pass);
        }
        let filter = Some(query.filter).filter(|filter| !filter.is_empty());
        let (ranked, usual) = self.rank(query.scope, query.text, query.text, filter)?;
        let asked: Vec<String> = terms(query.text).into_iter().map(|term| term.word).collect();
        let wanted = Wanted::of(query.text);
        let mut found = Vec::new();
        // More than are wanted: kind and age of the memories change the order, and some are parts of one item.
        for ranked in apply_relevance_gate(ranked, usual).take(query.limit.saturating_mul(2) + 100) {
            if let Some(memory) = self.store.memory_of_document(ranked.document)? {
                let worth = ranked.score * prior_weight(&memory, query.now) * wanted.weight(&memory);
                found.push((worth, ranked, memory));
            }
        }
        found.sort_by(|one, other| other.0.total_cmp(&one.0));
        let found = collapse_duplicates(found);
        let mut hits = Vec::with_capacity(query.limit);
        for (ranked, memory) in found.into_iter().take(query.limit) {
            hits.push(SearchHit {
                score: relevance(&ranked, asked.len(), usual),
                snippet: snippet(&body(&memory), &asked),
                is_stale: self.is_stale(&memory)?,
                memory,
            });
        }
        // What stands further up is at least as sure as what stands below it.
        let mut least = 0.0_f64;
        for hit in hits.iter_mut().rev() {
            least = least.max(hit.score);
            hit.score = least;
        }
        Ok(hits)
    }

    /// Ranks documents by the meaning of one text and the words of another, without reading their content.
    pub(crate) fn ranked(
        &mut self,
        scope: Scope<'_>,
        meaning: &str,
        words: &str,
    ) -> Result<Vec<Ranked>, StoreError> {
        Ok(self.rank(scope, meaning, words, None)?.0)
    }

    /// Ranks the documents that pass the filter. Also returns the similarity of an unrelated document.
    fn rank(
        &mut self,
        scope: Scope<'_>,
        meaning: &str,
        words: &str,
        filter: Option<&Filter>,
    ) -> Result<(Vec<Ranked>, f32), StoreError> {
        let ranges = scope.ranges();
        let store = self.store;
        let meanings = &mut self.meanings;
        let (words, nearness) = thread::scope(|threads| {
            let nearness = threads.spawn(|| meanings.nearest(meaning, &ranges, BY_MEANING));
            let words = store.match_terms(scope, words);
            (words, nearness.join().unwrap_or_default())
        });
        let words = words?;
        // Only what was found is looked at: whoever looks through all memories for the few that pass is too slow.
        let pass = match filter {
            None => None,
            Some(filter) => {
                let by_words = words
                    .iter()
                    .flat_map(|word| &word.documents)
                    .map(|(document, _)| *document);
                let by_meaning = nearness.nearest.iter().map(|(document, _)| *document);
                let mut found: Vec<DocumentId> = by_words.chain(by_meaning).collect();
                found.sort_unstable();
                found.dedup();
                Some(store.passing(&found, filter)?)
            }
        };
        let passes = |document: DocumentId| pass.as_ref().is_none_or(|pass| pass.contains(&document));
        let words = by_words(&words, passes, BY_WORDS);
        let nearest = nearness.nearest.iter().map(|(document, _)| *document);
        let documents: Vec<DocumentId> = words
            .keys()
            .copied()
            .chain(nearest.filter(|document| passes(*document)))
            .collect();
        let candidates = self.candidates(&documents, &nearness)?;
        Ok((rank(candidates, &words, nearness.usual), nearness.usual))
    }

    fn candidates(
        &self,
        documents: &[DocumentId],
        nearness: &SemanticMatches,
    ) -> Result<Vec<Candidate>, StoreError> {
        let origins = self.store.origins_of_documents(documents)?;
        let known: HashMap<DocumentId, f32> = nearness.nearest.iter().copied().collect();
        let candidates = documents.iter().map(|document| Candidate {
            document: *document,
            origin: origins.get(document).copied().unwrap_or_default(),
            cosine: known
                .get(document)
                .copied()
                .or_else(|| self.meanings.cosine(nearness, *document)),
        });
        Ok(candidates.collect())
    }

    /// Returns the newest memories that pass the filter, for a query without words.
    fn newest(&self, query: &Query<'_>, pass: HashSet<DocumentId>) -> Result<Vec<SearchHit>, StoreError> {
        let mut memories = Vec::new();
        for document in pass {
            memories.extend(self.store.memory_of_document(document)?);
        }
        memories.sort_by_key(|memory| std::cmp::Reverse((memory.created_at, memory.handle)));
        memories.truncate(query.limit);
        let hits = memories.into_iter().map(|memory| {
            Ok(SearchHit {
                score: 1.0,
                snippet: snippet(&body(&memory), &[]),
                is_stale: self.is_stale(&memory)?,
                memory,
            })
        });
        hits.collect()
    }

    fn is_stale(&self, memory: &Memory) -> Result<bool, StoreError> {
        is_stale(self.store, memory)
    }
}

/// Reports whether a file that a memory cites was changed or deleted since.
pub fn is_stale(store: &Store, memory: &Memory) -> Result<bool, StoreError> {
    let (Some(observation), Some(root)) = (memory.handle.observation(), &memory.root) else {
        return Ok(false);
    };
    files_changed(store, observation, Path::new(root), memory.created_at)
}

/// Reports whether a file that an observation cites was changed or deleted since.
pub(crate) fn files_changed(
    store: &Store,
    observation: ObservationId,
    root: &Path,
    since: Timestamp,
) -> Result<bool, StoreError> {
    let files = store.cited_files(observation)?;
    // What was only read may have been any file; what was changed is what the memory speaks of.
    let changed_then = files.iter().any(|file| file.is_modified);
    let stale = files
        .iter()
        .filter(|file| file.is_modified || !changed_then)
        .any(|file| {
            let fate = file
                .mark
                .as_ref()
                .map(|mark| staleness::file_status(root, &file.path, mark, since));
            matches!(fate, Some(FileStatus::Changed | FileStatus::Gone))
        });
    Ok(stale)
}

/// Returns the factor by which kind, age and author change a score: notes rank higher, superseded memories lower.
fn prior_weight(memory: &Memory, now: Timestamp) -> f64 {
    let kind = match memory.handle.kind {
        MemoryKind::Note => 1.2,
        MemoryKind::Observation => 1.05,
        MemoryKind::Summary | MemoryKind::Passage => 1.0,
        MemoryKind::Prompt => 0.9,
    };
    let pinned = if memory.record.pinned { 1.1 } else { 1.0 };
    let superseded = if memory.superseded_by.is_some() { 0.6 } else { 1.0 };
    // Old memories lose a tenth at most: there is no age at which they stop counting.
    const MONTH: Duration = Duration::from_hours(25 * 24);
    let age = now.since(memory.created_at).as_secs() / MONTH.as_secs();
    let months = f64::from(u32::try_from(age).unwrap_or(u32::MAX));
    let fresh = 0.9 + 0.1 / (1.0 + months / 6.0);
    kind * pinned * superseded * fresh
}

/// Drops results whose text equals one further up, and further parts of the same item. Evidence stays beside its memory: the
/// memory states the result, the evidence has the details that a query may be about.
fn collapse_duplicates(found: Vec<(f64, Ranked, Memory)>) -> Vec<(Ranked, Memory)> {
    let mut texts: HashSet<String> = HashSet::new();
    let mut items = HashSet::new();
    let mut kept = Vec::new();
    for (_, ranked, memory) in found {
        if let (Some(turn), Some(position)) = (memory.turn_id, memory.position)
            && !items.insert((turn, position))
        {
            continue;
        }
        let text = memory.fields().text().to_lowercase();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if texts.insert(text) || memory.record.external_id.is_some() {
            kept.push((ranked, memory));
        }
    }
    kept
}

/// Drops irrelevant results. Every query has a most similar document, so a document without any word of the query must be
/// very similar; less so if other documents of its session match.
fn apply_relevance_gate(ranked: Vec<Ranked>, usual: f32) -> impl Iterator<Item = Ranked> {
    // Among a thousand memories that have nothing to do with a question, the nearest comes to about a third.
    const MIN: f64 = 0.35;
    const MIN_IN_SESSION: f64 = 0.1;
    let sessions: HashSet<SessionId> = ranked
        .iter()
        .filter(|ranked| ranked.words > 0)
        .filter_map(|ranked| ranked.origin.session)
        .collect();
    ranked.into_iter().filter(move |ranked| {
        let is_spoken_of = ranked.origin.session.is_some_and(|id| sessions.contains(&id));
        let least = if is_spoken_of { MIN_IN_SESSION } else { MIN };
        ranked.words > 0 || normalized_similarity(ranked, usual) >= least
    })
}

/// Estimates the probability that a memory is relevant to a query, from the weight of the matching words and from the
/// similarity above that of an unrelated memory. Both together count more than either.
fn relevance(ranked: &Ranked, asked: usize, usual: f32) -> f64 {
    // One word of a long question says little, whatever it tells.
    let several = f64::from(ranked.words.min(3)) / f64::from(u32::try_from(asked.clamp(1, 3)).unwrap_or(1));
    // An unfinished word may be found besides those that count as asked.
    let by_words = (ranked.covered * several).min(1.0);
    let by_meaning = normalized_similarity(ranked, usual);
    1.0 - (1.0 - 0.8 * by_words) * (1.0 - 0.8 * by_meaning)
}

/// Returns the similarity above that of an unrelated memory, scaled from 0 to 1; 1 is the similarity of two paraphrases.
fn normalized_similarity(ranked: &Ranked, usual: f32) -> f64 {
    ranked.cosine.map_or(0.0, |cosine| {
        f64::from((cosine - usual) / (0.85 - usual)).clamp(0.0, 1.0)
    })
}

/// Returns the text of a memory from which a snippet is taken.
fn body(memory: &Memory) -> String {
    let fields = memory.fields();
    [fields.facts, fields.narrative, fields.subtitle, fields.title]
        .into_iter()
        .find(|text| !text.trim().is_empty())
        .unwrap_or_default()
}
