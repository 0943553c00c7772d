//! Hybrid search: lexical and semantic matches in one ranking, with relevance, snippet and staleness of each hit.

use std::{
    collections::{HashMap, HashSet},
    path::Path,
    thread,
    time::Duration,
};

use backstory_embed::is_known_word;
use backstory_model::{BranchState, DocumentId, MemoryKind, SessionId, Timestamp};
use backstory_store::{Filter, Memory, Scope, Store, StoreError, terms};

use crate::{
    corpus::Corpus,
    hit::{Query, SearchHit},
    listing::{self, body},
    question::{Question, Wanted, WorkState},
    rank::{Candidate, Ranked, by_words, rank},
    semantic::{SemanticIndex, SemanticMatches},
    snippet::{best_passage_weight, snippet},
    staleness::is_stale,
    time_phrase::Bound,
};

/// Number of the best lexical and of the best semantic matches that are ranked.
const BY_WORDS: usize = 300;
const BY_MEANING: usize = 150;

/// The relevance that the best result of a query has at least; else the query has no answer here. Measured on conversations
/// and coding sessions: of questions about another subject about half stay below it, of questions with an answer none.
const MIN_RELEVANCE: f64 = 0.25;

/// Weight of the passage in which the words of a query meet, beside the score of the whole document. Chosen with a
/// prototype of this ranking, not with the product; at 0, 0.25 and 0.5: questions about coding sessions hit@5 .700, .725 and
/// .738, facts about sessions hit@1 .716, .721 and .701, conversations hit@5 .932, .940 and .938.
const PASSAGE: f64 = 0.3;

/// Factor for each further prompt or summary of a session among the results: they say much of the same. Chosen with
/// the same prototype: of 1.0, 0.9, 0.8 and 0.7, hit@5 is .662, .688, .700 and .688.
const NEXT_OVERVIEW: f64 = 0.8;

/// Relation of a scope as a whole to the subject of a query.
#[derive(Clone, Debug)]
pub(crate) struct Familiarity {
    /// The cosine similarity of an unrelated document.
    pub(crate) usual: f32,
    /// The words that no document has.
    pub(crate) unknown_words: HashSet<String>,
    /// The other words with their inverse document frequencies.
    pub(crate) known_words: Vec<(String, f64)>,
}

/// Searches a store. Reused, it is warm: vectors stay mapped, statements prepared.
#[derive(Debug)]
pub struct Searcher<'s> {
    store: &'s Store,
    meanings: SemanticIndex,
    corpus: Option<Corpus>,
}

impl<'s> Searcher<'s> {
    /// Prepares to search a store whose vectors are in a file.
    pub fn new(store: &'s Store, vectors: &Path) -> Result<Self, StoreError> {
        Ok(Self {
            store,
            meanings: SemanticIndex::open(store, vectors)?,
            corpus: None,
        })
    }

    /// Prepares to rank the documents of a store, which are the candidates of a larger corpus.
    pub fn of_candidates(store: &'s Store, corpus: Corpus) -> Result<Self, StoreError> {
        Ok(Self {
            corpus: Some(corpus),
            // There is no file: all vectors are in the store.
            ..Self::new(store, Path::new(""))?
        })
    }

    /// Returns the best hits, best first.
    pub fn search(&mut self, query: &Query<'_>) -> Result<Vec<SearchHit>, StoreError> {
        let store = self.store;
        store.read_transaction(|| self.find(query))
    }

    fn find(&mut self, query: &Query<'_>) -> Result<Vec<SearchHit>, StoreError> {
        let question = Question::parse(query.text, query.now, query.zone);
        let filter = self.narrowed(query, &question)?;
        if question.subject.trim().is_empty() {
            return listing::list(self.store, query, &question, &filter);
        }
        let about = Query {
            text: &question.subject,
            filter: &filter,
            ..*query
        };
        let hits = match question.state {
            Some(WorkState::Open) => {
                listing::open_steps(self.store, query, &filter, &query_words(&question.subject))?
            }
            Some(WorkState::Stopped) => {
                let handovers = Filter {
                    kind: filter.kind.or(Some(MemoryKind::Summary)),
                    ..filter.clone()
                };
                self.matching(
                    &Query {
                        filter: &handovers,
                        ..about
                    },
                    query.text,
                )?
            }
            Some(WorkState::Decided) | None => self.matching(&about, query.text)?,
        };
        if hits.is_empty() && question.subject != query.text {
            // The words were no time or state after all, or nothing of that time is known.
            return self.matching(query, query.text);
        }
        Ok(hits)
    }

    /// Returns the filter of a query with the times that its question names.
    fn narrowed(&self, query: &Query<'_>, question: &Question) -> Result<Filter, StoreError> {
        let (mut since, mut until) = (question.since, question.until);
        if let Some(bound) = question.release
            && let Some(at) = listing::last_release(self.store, query.scope)?
        {
            match bound {
                Bound::Before | Bound::Until => until = Some(at),
                Bound::Since | Bound::After | Bound::Within => since = Some(at),
            }
        }
        let filter = query.filter;
        Ok(Filter {
            since: filter.since.max(since),
            until: filter.until.into_iter().chain(until).min(),
            ..filter.clone()
        })
    }

    /// Returns the best hits for the text of a query. `asked` is the whole question, which says what kind of answer it wants.
    fn matching(&mut self, query: &Query<'_>, asked: &str) -> Result<Vec<SearchHit>, StoreError> {
        let wanted = Wanted::of(asked);
        let filter = Some(query.filter).filter(|filter| !filter.is_empty());
        let (ranked, familiarity) = self.rank(query.scope, query.text, query.text, filter)?;
        let usual = familiarity.usual;
        let asked = query_words(query.text);
        let has_words = ranked.iter().any(|ranked| ranked.words > 0);
        if !has_words && !asked.iter().any(|word| is_known_word(word)) {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        // More than are wanted: kind and age of the memories change the order, and some are parts of one item.
        for ranked in apply_relevance_gate(ranked, usual).take(query.limit.saturating_mul(2) + 100) {
            if let Some(memory) = self.store.memory_of_document(ranked.document)? {
                found.push((ranked, memory));
            }
        }
        let prior = |memory: &Memory| prior_weight(memory, query.now) * wanted.weight(memory);
        let found = by_worth(found, &familiarity.known_words, prior);
        let found = collapse_duplicates(found);
        let found = discount_overviews(found);
        let found = group_by_episode(found);
        let mut hits = Vec::with_capacity(query.limit);
        let mut is_answered = false;
        for (_, ranked, memory) in found.into_iter().take(query.limit) {
            let score = relevance(&ranked, asked.len(), usual);
            // Or a third of the words: one of three that are asked for.
            is_answered |= score >= MIN_RELEVANCE || 3 * ranked.words as usize >= asked.len().max(1);
            hits.push(SearchHit {
                score,
                snippet: snippet(&body(&memory), &asked),
                is_stale: is_stale(self.store, &memory)?,
                memory,
            });
        }
        if !is_answered {
            return Ok(Vec::new());
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
    ) -> Result<(Vec<Ranked>, Familiarity), StoreError> {
        self.rank(scope, meaning, words, None)
    }

    /// Ranks the documents that pass the filter.
    fn rank(
        &mut self,
        scope: Scope<'_>,
        meaning: &str,
        words: &str,
        filter: Option<&Filter>,
    ) -> Result<(Vec<Ranked>, Familiarity), StoreError> {
        let ranges = scope.ranges();
        let store = self.store;
        let meanings = &mut self.meanings;
        let (words, nearness) = thread::scope(|threads| {
            let nearness = threads.spawn(|| meanings.nearest(meaning, &ranges, BY_MEANING));
            let words = store.match_terms(scope, words);
            (words, nearness.join().unwrap_or_default())
        });
        let mut words = words?;
        let mut usual = nearness.usual;
        if let Some(corpus) = &self.corpus {
            corpus.weigh(&mut words);
            let cosines: Vec<f32> = nearness.nearest.iter().map(|(_, cosine)| *cosine).collect();
            usual = corpus.usual(&cosines, usual);
        }
        // Only what was found is looked at: reading all memories for the few that pass takes too long.
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
        let unknown = words.iter().filter(|word| word.documents.is_empty());
        let known = words.iter().filter(|word| !word.documents.is_empty());
        let familiarity = Familiarity {
            usual,
            unknown_words: unknown.map(|word| word.word.clone()).collect(),
            known_words: known.map(|word| (word.word.clone(), word.weight)).collect(),
        };
        let words = by_words(&words, passes, BY_WORDS);
        let nearest = nearness.nearest.iter().map(|(document, _)| *document);
        let documents: Vec<DocumentId> = words
            .keys()
            .copied()
            .chain(nearest.filter(|document| passes(*document)))
            .collect();
        let candidates = self.candidates(&documents, &nearness)?;
        Ok((rank(candidates, &words, usual), familiarity))
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
}

/// Returns the words of a query that count, in lower case.
pub(crate) fn query_words(text: &str) -> Vec<String> {
    terms(text).into_iter().map(|term| term.word).collect()
}

/// Returns the factor by which kind, age and state change a score: notes rank higher, superseded and abandoned work lower.
fn prior_weight(memory: &Memory, now: Timestamp) -> f64 {
    let kind = match memory.handle.kind {
        MemoryKind::Note => 1.2,
        MemoryKind::Observation => 1.05,
        MemoryKind::Summary | MemoryKind::Passage => 1.0,
        // Just below an own observation: at equal score, own memories come first.
        MemoryKind::Team => 1.04,
        MemoryKind::Prompt => 0.9,
    };
    let pinned = if memory.record.pinned { 1.1 } else { 1.0 };
    let superseded = if memory.superseded_by.is_some() { 0.6 } else { 1.0 };
    // A search may be about another branch, so work on one loses little.
    let branch = match memory.work.as_ref().and_then(|work| work.state) {
        Some(BranchState::Abandoned) => 0.6,
        Some(BranchState::Working) => 0.95,
        Some(BranchState::Merged) | None => 1.0,
    };
    // Old memories lose a tenth at most: there is no age at which they stop counting.
    const MONTH: Duration = Duration::from_hours(25 * 24);
    let age = now.since(memory.created_at).as_secs() / MONTH.as_secs();
    let months = f64::from(u32::try_from(age).unwrap_or(u32::MAX));
    let fresh = 0.9 + 0.1 / (1.0 + months / 6.0);
    let feedback = f64::from(memory.weight) / 1_000.0;
    kind * pinned * superseded * branch * feedback * fresh
}

/// A result with its worth, by which results are ordered.
type Found = (f64, Ranked, Memory);

/// Orders results by the document's score, its best passage and the prior weight of the memory.
fn by_worth(
    found: Vec<(Ranked, Memory)>,
    words: &[(String, f64)],
    prior: impl Fn(&Memory) -> f64,
) -> Vec<Found> {
    let passages: Vec<f64> = found
        .iter()
        .map(|(_, memory)| best_passage_weight(&memory.fields().text(), words))
        .collect();
    let best = passages.iter().copied().fold(0.0, f64::max);
    let mut found: Vec<Found> = found
        .into_iter()
        .zip(passages)
        .map(|((ranked, memory), passage)| {
            let passage = if best > 0.0 { passage / best } else { 0.0 };
            (
                (ranked.score + PASSAGE * passage) * prior(&memory),
                ranked,
                memory,
            )
        })
        .collect();
    sort_by_worth(&mut found);
    found
}

fn sort_by_worth(found: &mut [Found]) {
    found.sort_by(|one, other| other.0.total_cmp(&one.0));
}

/// Lowers each further prompt or summary of a session: every summary of a session repeats its requests.
fn discount_overviews(mut found: Vec<Found>) -> Vec<Found> {
    let mut factors: HashMap<SessionId, f64> = HashMap::new();
    for (worth, ranked, memory) in &mut found {
        let is_overview = matches!(memory.handle.kind, MemoryKind::Prompt | MemoryKind::Summary);
        if let Some(session) = ranked.origin.session.filter(|_| is_overview) {
            let factor = factors.entry(session).or_insert(1.0);
            *worth *= *factor;
            *factor *= NEXT_OVERVIEW;
        }
    }
    sort_by_worth(&mut found);
    found
}

/// Drops results whose text equals one further up, and further parts of the same item. Evidence stays beside its memory: the
/// memory states the result, the evidence has the details that a query may be about.
fn collapse_duplicates(found: Vec<Found>) -> Vec<Found> {
    let mut texts: HashSet<String> = HashSet::new();
    let mut items = HashSet::new();
    let mut kept = Vec::new();
    for (worth, ranked, memory) in found {
        if let (Some(turn), Some(position)) = (memory.turn_id, memory.position)
            && !items.insert((turn, position))
        {
            continue;
        }
        let text = memory.fields().text().to_lowercase();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if texts.insert(text) || memory.record.external_id.is_some() {
            kept.push((worth, ranked, memory));
        }
    }
    kept
}

/// Puts one result per episode first, or a few per session where there are no episodes; the others follow in their order. The
/// first results show different work, and nothing is dropped.
fn group_by_episode(found: Vec<Found>) -> Vec<Found> {
    const PER_SESSION: usize = 10;
    let mut episodes = HashSet::new();
    let mut sessions: HashMap<SessionId, usize> = HashMap::new();
    let (mut first, rest): (Vec<_>, Vec<_>) =
        found.into_iter().partition(
            |(_, ranked, _)| match (ranked.origin.episode, ranked.origin.session) {
                (Some(episode), _) => episodes.insert(episode),
                (None, Some(session)) => {
                    let count = sessions.entry(session).or_default();
                    *count += 1;
                    *count <= PER_SESSION
                }
                (None, None) => true,
            },
        );
    first.extend(rest);
    first
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
