//! Chooses the memories of a session: no repetition, most new content first, within a budget.

use super::draft::{Draft, Source};
use crate::english::Words;

/// All memories of a session together, in characters: about 2,000 tokens.
const SESSION_CHARS: usize = 8_000;
/// One memory, in characters: about 200 tokens.
const MAX_CHARS: usize = 820;
/// A draft with this share of known words only repeats other memories.
const KNOWN_PERCENT: u32 = 62;
/// A draft with less new content is not worth reading.
const MIN_NEW_WEIGHT: u32 = 9;

/// The worth of one new word, by source.
const fn worth(source: Source) -> u32 {
    match source {
        Source::User => 40,
        Source::Obstacle => 16,
        Source::Commit => 14,
        Source::Report => 12,
        Source::Compaction | Source::Subagent => 9,
        Source::Plan => 8,
        Source::Prose => 8,
        Source::Written => 5,
    }
}

/// Chooses drafts greedily by new content for their length.
pub(super) fn choose(mut drafts: Vec<(String, Draft)>) -> Vec<(String, Draft)> {
    let mut rest: Vec<Candidate> = drafts
        .iter_mut()
        .enumerate()
        .map(|(at, (_, draft))| {
            draft.trim_to(MAX_CHARS);
            let text = draft.text();
            Candidate {
                at,
                source: draft.source,
                words: Words::of(&text),
                chars: text.chars().count(),
            }
        })
        .collect();
    let mut known = Words::default();
    let mut left = SESSION_CHARS;
    let mut chosen = Vec::new();
    loop {
        rest.retain(|candidate| candidate.chars <= left && candidate.is_new(&known));
        let Some(best) = (0..rest.len()).max_by_key(|at| (rest[*at].value(&known), std::cmp::Reverse(rest[*at].at))) else {
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

struct Candidate {
    at: usize,
    source: Source,
    words: Words,
    chars: usize,
}

impl Candidate {
    fn new_weight(&self, known: &Words) -> u32 {
        self.words.weight() - self.words.shared(known)
    }

    fn is_new(&self, known: &Words) -> bool {
        let is_user = self.source == Source::User;
        !self.words.covered_by(known, if is_user { 90 } else { KNOWN_PERCENT }) && (is_user || self.new_weight(known) >= MIN_NEW_WEIGHT)
    }

    /// New content, weighted by authority, for the square root of the length: dense texts first, but not only short ones.
    fn value(&self, known: &Words) -> u32 {
        let cost = self.chars.max(1).isqrt();
        self.new_weight(known) * worth(self.source) * 100 / u32::try_from(cost).unwrap_or(u32::MAX)
    }
}
