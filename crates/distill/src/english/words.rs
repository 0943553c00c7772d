//! The content words of a text, for judging if one text already says what another says.

use super::Phrases;

/// The stems of a text's content words, sorted; names of code weigh twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Words(Vec<(u64, u8)>);

const NAME_WEIGHT: u8 = 2;
const WORD_WEIGHT: u8 = 1;

impl Words {
    /// Collects the content words of a text. A name counts by its parts, so that `parseLine` and `parse_line` agree.
    pub(crate) fn of(text: &str) -> Self {
        let mut found = Vec::new();
        for raw in text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | ':' | '-'))) {
            let raw = raw.trim_matches(|c: char| !c.is_alphanumeric());
            if !raw.is_empty() {
                push_parts(raw, &mut found);
            }
        }
        found.sort_unstable();
        // The heaviest entry of each stem stays: sorted by weight within a stem, the last one wins.
        found.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                kept.1 = kept.1.max(later.1);
            }
            same
        });
        Self(found)
    }

    /// Returns the total weight.
    pub(crate) fn weight(&self) -> u32 {
        self.0.iter().map(|(_, weight)| u32::from(*weight)).sum()
    }

    /// Returns the weight of the words that `other` has as well.
    pub(crate) fn shared(&self, other: &Self) -> u32 {
        let mut theirs = other.0.iter().peekable();
        let mut shared = 0;
        for (stem, weight) in &self.0 {
            while theirs.next_if(|(known, _)| known < stem).is_some() {}
            if theirs.peek().is_some_and(|(known, _)| known == stem) {
                shared += u32::from(*weight);
            }
        }
        shared
    }

    /// Reports whether `other` has at least `percent` of these words by weight.
    pub(crate) fn covered_by(&self, other: &Self, percent: u32) -> bool {
        let weight = self.weight();
        let needed = weight * percent;
        // A text with too few words cannot have enough of these.
        let most = u32::try_from(other.0.len())
            .unwrap_or(u32::MAX)
            .saturating_mul(u32::from(NAME_WEIGHT));
        weight > 0 && most.saturating_mul(100) >= needed && self.shared(other) * 100 >= needed
    }

    /// Adds the words of another text.
    pub(crate) fn extend(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
        self.0.sort_unstable();
        self.0.dedup_by_key(|(stem, _)| *stem);
    }
}

fn push_parts(raw: &str, found: &mut Vec<(u64, u8)>) {
    let mut parts = Vec::new();
    for piece in raw
        .split(|c: char| !c.is_alphanumeric())
        .filter(|piece| !piece.is_empty())
    {
        let mut start = 0;
        let mut before = ' ';
        for (at, c) in piece.char_indices() {
            if c.is_uppercase() && (before.is_lowercase() || before.is_ascii_digit()) {
                parts.push(&piece[start..at]);
                start = at;
            }
            before = c;
        }
        parts.push(&piece[start..]);
    }
    let is_name = parts.len() > 1 || raw.chars().any(|c| c.is_ascii_digit());
    let weight = if is_name { NAME_WEIGHT } else { WORD_WEIGHT };
    let mut buffer = [0_u8; MAX_ASCII_WORD];
    for part in parts {
        // Almost all words are short ASCII: they are lower-cased without an allocation.
        let long;
        let lower = match buffer.get_mut(..part.len()).filter(|_| part.is_ascii()) {
            Some(lower) => {
                lower.copy_from_slice(part.as_bytes());
                lower.make_ascii_lowercase();
                std::str::from_utf8(lower).unwrap_or(part)
            }
            None => {
                long = part.to_lowercase();
                &long
            }
        };
        let is_letter = lower.chars().nth(1).is_none() && !lower.bytes().all(|b| b.is_ascii_digit());
        if !is_letter && !is_hash_part(lower) && !STOP_WORDS.contains(lower) {
            found.push((hash(stem(lower)), weight));
        }
    }
}

const MAX_ASCII_WORD: usize = 48;

/// Parts of hashes and UUIDs say nothing about the content.
fn is_hash_part(word: &str) -> bool {
    const MIN_HASH: usize = 4;
    word.len() >= MIN_HASH
        && word.bytes().all(|b| b.is_ascii_hexdigit())
        && word.bytes().any(|b| b.is_ascii_digit())
        && word.bytes().any(|b| b.is_ascii_alphabetic())
}

fn stem(word: &str) -> &str {
    const SHORTEST_STEM: usize = 3;
    // The last letters of all endings.
    if !word.ends_with(['s', 'n', 'g', 'y', 'd', 'r']) {
        return word;
    }
    ENDINGS
        .iter()
        .filter_map(|ending| word.strip_suffix(ending))
        .find(|root| root.len() >= SHORTEST_STEM)
        .unwrap_or(word)
}

const ENDINGS: &[&str] = &[
    "ations", "ation", "ings", "ing", "ies", "edly", "ers", "ed", "er", "es", "s", "ly",
];

/// FNV-1a: stable across runs and platforms, which a randomly seeded hasher is not.
fn hash(word: &str) -> u64 {
    word.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

static STOP_WORDS: Phrases = Phrases::new(concat!(
    "about|after|all|also|an|and|any|are|as|at|be|because|been|before|being|but|by|can|could|did|do|does|",
    "for|from|had|has|have|having|here|how|if|in|into|is|it|its|just|like|may|might|more|most|must|need|",
    "needs|new|no|not|now|of|on|one|only|or|other|our|out|over|should|so|some|such|than|that|the|their|",
    "them|then|there|these|they|this|to|too|under|up|us|use|used|uses|using|via|was|we|were|what|when|",
    "where|which|while|who|why|will|with|would|you|your",
));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restatement_is_covered_and_a_new_fact_is_not() {
        let known = Words::of("`parseLine` retries three times because the socket closes early");
        assert!(Words::of("parse_line is retrying when the socket closes").covered_by(&known, 80));
        assert!(!Words::of("The cache is flushed every 30 seconds").covered_by(&known, 30));
    }
}
