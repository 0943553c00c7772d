//! Chooses the memories of a session: no repetition, most new content first, within a budget.

use super::draft::{Draft, Source};
use crate::english::Words;

/// All memories of a session together, in characters: about 3,000 tokens.
const SESSION_CHARS: usize = 13_000;
/// One memory, in characters: about 400 tokens, so that a report with its lists stays whole.
pub(super) const MAX_CHARS: usize = 2_400;
/// A draft that shares this much of its words with one other memory only repeats it.
const SAME_PERCENT: u32 = 62;
/// A draft that has this much of its words in all other memories together says nothing new.
const KNOWN_PERCENT: u32 = 88;

/// The worth of one new word, by source.
const fn worth(source: Source) -> u32 {
    match source {
        Source::User => 40,
        Source::Obstacle => 16,
        Source::Commit => 14,
        Source::Report => 12,
        Source::Change => 5,
    }
}

/// Chooses drafts greedily by new content for their length. Of two drafts that say the same the one with more authority stays.
pub(super) fn choose(mut drafts: Vec<(String, Draft)>) -> Vec<(String, Draft)> {
    let mut rest: Vec<Candidate> = drafts
        .iter_mut()
        .enumerate()
        .map(|(at, (_, draft))| {
            draft.overflow(MAX_CHARS);
            let text = draft.text();
            // The command and error of an obstacle tell nothing about the subject.
            let said = match draft.source {
                Source::Obstacle => format!("{}\n{}", draft.title, draft.narrative.join("\n")),
                _ => text.clone(),
            };
            Candidate {
                at,
                source: draft.source,
                words: Words::of(&said),
                chars: text.chars().count(),
            }
        })
        .collect();
    drop_repetitions(&mut rest);
    let mut known = Words::default();
    let mut left = SESSION_CHARS;
    let mut chosen = Vec::new();
    loop {
        rest.retain(|candidate| {
            candidate.chars <= left && !candidate.words.covered_by(&known, KNOWN_PERCENT)
        });
        let Some(best) =
            (0..rest.len()).max_by_key(|at| (rest[*at].value(&known), std::cmp::Reverse(rest[*at].at)))
        else {
            break;
        };
        let best = rest.swap_remove(best);
        known.extend(&best.words);
        left -= best.chars;
        chosen.push(best.at);
    }
    let mut kept: Vec<Option<(String, Draft)>> = drafts.into_iter().map(Some).collect();
    chosen.into_iter().filter_map(|at| kept[at].take()).collect()
}

/// Drops each draft whose words another draft of at least the same authority has.
fn drop_repetitions(candidates: &mut Vec<Candidate>) {
    candidates.sort_by_key(|candidate| {
        (
            candidate.source,
            std::cmp::Reverse(candidate.words.weight()),
            candidate.at,
        )
    });
    let mut kept: Vec<Candidate> = Vec::new();
    for candidate in candidates.drain(..) {
        let repeats = |other: &Candidate| {
            // Two commits are two changes and two failures two obstacles, even in similar words.
            let is_event = |source| matches!(source, Source::Commit | Source::Obstacle);
            let are_events = is_event(candidate.source) && is_event(other.source);
            let percent = if are_events { KNOWN_PERCENT } else { SAME_PERCENT };
            candidate.words.covered_by(&other.words, percent)
        };
        if !kept.iter().any(repeats) {
            kept.push(candidate);
        }
    }
    *candidates = kept;
}

struct Candidate {
    at: usize,
    source: Source,
    words: Words,
    chars: usize,
}

impl Candidate {
    /// Content, new words twice, weighted by authority, for the square root of the length: dense texts first, but not only
    /// short ones.
    fn value(&self, known: &Words) -> u32 {
        let weight = self.words.weight();
        let new = weight - self.words.shared(known);
        let cost = self.chars.max(1).isqrt();
        (weight + new) * worth(self.source) * 50 / u32::try_from(cost).unwrap_or(u32::MAX)
    }
}
