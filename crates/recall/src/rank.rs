//! Fuses lexical and semantic matches into one ranking. Pure arithmetic.
//!
//! A document scores by its words (BM25 times the root of the covered share of the query) plus its similarity above that
//! of an unrelated document. Documents support each other on two levels: an episode and a session lend their documents a
//! score that grows with the share of the query they cover together. Every part is scaled to the best of the search.

use std::{collections::HashMap, hash::Hash};

use backstory_model::DocumentId;
use backstory_store::{Origin, TermMatches};

/// The part of its better neighbor's score that a document gets.
const NEIGHBOR: f64 = 0.3;
/// The weights where results have episodes.
const WORK: Weights = Weights {
    meaning: 1.0,
    episode: 0.3,
    session: 0.2,
    next_nearest: 0.0,
};
/// The weights where no result has an episode: conversations and lines that were imported without tool calls.
const CONVERSATION: Weights = Weights {
    meaning: 0.7,
    episode: 0.0,
    session: 1.0,
    next_nearest: 0.5,
};
/// The weight of the most similar documents of a group.
const GROUP_MEANING: f64 = 0.3;
/// The similar documents of a group that count.
const GROUP_NEAREST: usize = 4;

/// The weights of evidence beside the words of a document.
struct Weights {
    meaning: f64,
    episode: f64,
    session: f64,
    /// The weight of each further similar document of a group relative to the one before. Several turns of a conversation that
    /// are near tell more than one; a long piece of work repeats itself.
    next_nearest: f64,
}

/// A ranked document with the parts of its score.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ranked {
    pub(crate) document: DocumentId,
    /// Score in this search; the best document has 1.
    pub(crate) score: f64,
    /// Share of the query's word weight that it covers.
    pub(crate) covered: f64,
    /// Number of the query's words that it has.
    pub(crate) words: u32,
    /// Cosine similarity to the query, if it has a vector.
    pub(crate) cosine: Option<f32>,
    /// Session and episode.
    pub(crate) origin: Origin,
}

/// Lexical score of a document.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ByWords {
    /// Index and score of each word of the query that it has.
    parts: Vec<(usize, f64)>,
    score: f64,
    covered: f64,
}

/// Adds up the scores of all words; keeps the best documents that pass.
pub(crate) fn by_words(
    words: &[TermMatches],
    passes: impl Fn(DocumentId) -> bool,
    most: usize,
) -> HashMap<DocumentId, ByWords> {
    let all: f64 = words.iter().map(|word| word.weight).sum();
    let mut matches: Vec<(DocumentId, usize, f64)> = Vec::new();
    for (index, word) in words.iter().enumerate() {
        let of_word = word.documents.iter().filter(|(document, _)| passes(*document));
        matches.extend(of_word.map(|(document, strength)| (*document, index, word.weight * strength)));
    }
    // Sorted, not hashed: each word brings its documents in order already.
    matches.sort_by_key(|(document, ..)| *document);
    let mut best: Vec<_> = matches
        .chunk_by(|one, other| one.0 == other.0)
        .map(|parts| {
            let covered: f64 = parts
                .iter()
                .map(|(_, index, _)| words[*index].weight)
                .sum::<f64>()
                / all;
            let score: f64 = parts.iter().map(|(.., worth)| worth).sum();
            (score * covered.sqrt(), covered, parts)
        })
        .collect();
    if best.len() > most && most > 0 {
        best.select_nth_unstable_by(most - 1, |one, other| {
            other.0.total_cmp(&one.0).then(other.2[0].0.cmp(&one.2[0].0))
        });
        best.truncate(most);
    }
    best.into_iter()
        .map(|(score, covered, parts)| {
            let document = parts[0].0;
            let parts = parts.iter().map(|(_, index, worth)| (*index, *worth)).collect();
            (
                document,
                ByWords {
                    parts,
                    score,
                    covered,
                },
            )
        })
        .collect()
}

/// A document to be ranked.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) document: DocumentId,
    pub(crate) origin: Origin,
    pub(crate) cosine: Option<f32>,
}

/// Ranks candidates; `usual` is the cosine similarity of an unrelated document.
pub(crate) fn rank(
    mut candidates: Vec<Candidate>,
    words: &HashMap<DocumentId, ByWords>,
    usual: f32,
) -> Vec<Ranked> {
    candidates.sort_by_key(|candidate| candidate.document);
    candidates.dedup_by_key(|candidate| candidate.document);
    let none = ByWords::default();
    let matches: Vec<&ByWords> = candidates
        .iter()
        .map(|one| words.get(&one.document).unwrap_or(&none))
        .collect();
    let lexical = scaled(matches.iter().map(|one| one.score).collect());
    let meaning = scaled(
        candidates
            .iter()
            .map(|one| {
                one.cosine
                    .map_or(0.0, |cosine| f64::from(cosine - usual).max(0.0))
            })
            .collect(),
    );
    let has_episodes = candidates.iter().any(|one| one.origin.episode.is_some());
    let weights = if has_episodes { WORK } else { CONVERSATION };
    let own: Vec<f64> = lexical
        .iter()
        .zip(&meaning)
        .map(|(words, meaning)| words + weights.meaning * meaning)
        .collect();
    let sessions = group_scores(&candidates, &matches, &meaning, weights.next_nearest, |origin| {
        origin.session
    });
    let episodes = group_scores(&candidates, &matches, &meaning, weights.next_nearest, |origin| {
        origin.episode
    });
    let mut scores = Vec::with_capacity(own.len());
    for (index, candidate) in candidates.iter().enumerate() {
        let lent = |other: Option<usize>| {
            let other = other.filter(|other| {
                candidates.get(*other).is_some_and(|neighbor| {
                    candidate.origin.session.is_some()
                        && neighbor.origin.session == candidate.origin.session
                        && neighbor.document.get().abs_diff(candidate.document.get()) == 1
                })
            });
            other.map_or(0.0, |other| own[other])
        };
        let neighbor = lent(index.checked_sub(1)).max(lent(Some(index + 1)));
        let session = candidate.origin.session.and_then(|id| sessions.get(&id));
        let session = session.copied().unwrap_or_default();
        // Documents outside of any episode, such as prompts, are judged by their session.
        let episode = match candidate.origin.episode {
            Some(id) => episodes.get(&id).copied().unwrap_or_default(),
            None => session,
        };
        let support = weights.episode * episode + weights.session * session;
        scores.push(own[index] + NEIGHBOR * neighbor + support);
    }
    let scores = scaled(scores);
    let mut ranked: Vec<Ranked> = candidates
        .iter()
        .zip(matches)
        .zip(scores)
        .map(|((candidate, found), score)| Ranked {
            document: candidate.document,
            score,
            covered: found.covered,
            words: u32::try_from(found.parts.len()).unwrap_or(u32::MAX),
            cosine: candidate.cosine,
            origin: candidate.origin,
        })
        .collect();
    ranked.sort_by(|one, other| {
        other
            .score
            .total_cmp(&one.score)
            .then(other.document.cmp(&one.document))
    });
    ranked
}

/// Scores groups of documents by what they cover together; a word counts less the more often it occurs.
fn group_scores<G: Copy + Eq + Hash>(
    candidates: &[Candidate],
    matches: &[&ByWords],
    meaning: &[f64],
    next_nearest: f64,
    group_of: impl Fn(&Origin) -> Option<G>,
) -> HashMap<G, f64> {
    #[derive(Default)]
    struct Group {
        words: HashMap<usize, f64>,
        meanings: Vec<f64>,
    }
    let mut most: HashMap<usize, f64> = HashMap::new();
    let mut groups: HashMap<G, Group> = HashMap::new();
    for ((candidate, found), meaning) in candidates.iter().zip(matches).zip(meaning) {
        let Some(id) = group_of(&candidate.origin) else {
            continue;
        };
        let group = groups.entry(id).or_default();
        group.meanings.push(*meaning);
        for (word, worth) in &found.parts {
            *group.words.entry(*word).or_default() += worth;
            let most = most.entry(*word).or_default();
            *most = most.max(*worth);
        }
    }
    // The strongest that a word is anywhere stands for what it tells.
    let all: f64 = most.values().sum();
    let ids: Vec<G> = groups.keys().copied().collect();
    let covered = scaled(
        ids.iter()
            .map(|id| {
                let (mut worth, mut covered) = (0.0, 0.0);
                for (word, sum) in &groups[id].words {
                    let most = most[word];
                    worth += most * 2.0 * sum / (sum + most);
                    covered += most / all;
                }
                worth * covered
            })
            .collect(),
    );
    let nearest = |id: &G| {
        let mut meanings = groups[id].meanings.clone();
        meanings.sort_unstable_by(|one, other| other.total_cmp(one));
        let best = meanings.into_iter().take(GROUP_NEAREST);
        best.rev().fold(0.0, |sum, meaning| meaning + next_nearest * sum)
    };
    let meaning = scaled(ids.iter().map(nearest).collect());
    ids.into_iter()
        .zip(covered.into_iter().zip(meaning))
        .map(|(id, (covered, meaning))| (id, covered + GROUP_MEANING * meaning))
        .collect()
}

/// Divides all values by the greatest.
fn scaled(mut values: Vec<f64>) -> Vec<f64> {
    let greatest = values.iter().copied().fold(0.0, f64::max);
    if greatest > 0.0 {
        values.iter_mut().for_each(|value| *value /= greatest);
    }
    values
}

#[cfg(test)]
mod tests {
    use backstory_model::SessionId;

    use super::*;

    fn word(word: &str, weight: f64, documents: &[i64]) -> TermMatches {
        TermMatches {
            word: word.to_owned(),
            weight,
            documents: documents
                .iter()
                .map(|document| (DocumentId::new(*document), 1.0))
                .collect(),
        }
    }

    fn order(words: &[TermMatches], candidates: &[(i64, Option<i64>, f32)]) -> Vec<i64> {
        let candidates = candidates
            .iter()
            .map(|(document, session, cosine)| Candidate {
                document: DocumentId::new(*document),
                origin: Origin {
                    session: session.map(SessionId::new),
                    ..Origin::default()
                },
                cosine: Some(*cosine),
            })
            .collect();
        rank(candidates, &by_words(words, |_| true, 100), 0.1)
            .into_iter()
            .map(|ranked| ranked.document.get())
            .collect()
    }

    #[test]
    fn covering_more_of_the_question_beats_having_one_rare_word() {
        let words = [
            word("token", 2.0, &[1, 2]),
            word("refresh", 2.0, &[1]),
            word("zebra", 3.5, &[3]),
        ];
        assert_eq!(
            order(&words, &[(1, None, 0.1), (2, None, 0.1), (3, None, 0.1)]),
            [1, 3, 2]
        );
    }

    #[test]
    fn meaning_decides_between_equals_and_stands_alone() {
        let words = [word("token", 2.0, &[1, 2])];
        assert_eq!(
            order(&words, &[(1, None, 0.2), (2, None, 0.6), (3, None, 0.5)]),
            [2, 1, 3]
        );
        assert_eq!(order(&[], &[(1, None, 0.2), (2, None, 0.6)]), [2, 1]);
    }

    #[test]
    fn a_session_that_covers_the_question_lifts_its_documents() {
        let words = [word("token", 2.0, &[1, 9]), word("expiry", 2.0, &[2])];
        let candidates = [(1, Some(1), 0.1), (2, Some(1), 0.1), (9, Some(2), 0.1)];
        assert_eq!(order(&words, &candidates)[2], 9);
    }
}
