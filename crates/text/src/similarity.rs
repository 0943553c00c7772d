//! Compares texts by the words they share.

use crate::{
    hash::hash64,
    stem::stem,
    words::{for_each_index_word, is_stop_word},
};

/// The stemmed content words of a text, for comparisons with other texts.
///
/// Words are kept as hashes, so building a set allocates twice regardless of the length of the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WordSet {
    /// Sorted, each once.
    words: Vec<Word>,
}

/// The hash of a word. The lowest bit is set if the word contains a digit.
type Word = u64;

const fn is_number(word: Word) -> bool {
    word & 1 == 1
}

impl WordSet {
    /// Reads a text. Stop words are dropped unless the text consists of nothing else.
    pub fn of(text: &str) -> Self {
        [text].into_iter().collect()
    }

    fn push_words(&mut self, text: &str, is_dropped: impl Fn(&str) -> bool) {
        let mut lower = String::with_capacity(32);
        self.words.reserve(text.len() / 6);
        for_each_index_word(text, |word| {
            lower.clear();
            if word.is_ascii() {
                lower.push_str(word);
                lower.make_ascii_lowercase();
            } else {
                lower.extend(word.chars().flat_map(char::to_lowercase));
            }
            if !is_dropped(&lower) {
                let has_digit = lower.bytes().any(|byte| byte.is_ascii_digit());
                let hash = hash64(stem(&lower).as_bytes());
                self.words.push(hash & !1 | u64::from(has_digit));
            }
        });
    }

    /// Returns the number of distinct words.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Reports whether the text had no words.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns the share of all words that both texts have (the Jaccard index), from 0 to 1.
    pub fn similarity(&self, other: &Self) -> f64 {
        let shared = self.shared(other);
        ratio(shared, self.len() + other.len() - shared)
    }

    /// Returns the share of this text's words that the other text has too, from 0 to 1; 1 for a text without words.
    pub fn containment(&self, other: &Self) -> f64 {
        if self.is_empty() {
            1.0
        } else {
            ratio(self.shared(other), self.len())
        }
    }

    /// Counts the words that both texts have.
    pub fn shared(&self, other: &Self) -> usize {
        let mut others = other.words.iter().peekable();
        let is_shared = |word: &&Word| {
            while others.next_if(|other| other < word).is_some() {}
            others.peek() == Some(word)
        };
        self.words.iter().filter(is_shared).count()
    }

    /// Reports whether both texts name the same numbers, versions and other words with digits.
    pub fn has_numbers_of(&self, other: &Self) -> bool {
        fn numbers(set: &WordSet) -> impl Iterator<Item = Word> {
            set.words.iter().copied().filter(|word| is_number(*word))
        }
        numbers(self).eq(numbers(other))
    }
}

impl<'t> Extend<&'t str> for WordSet {
    fn extend<T: IntoIterator<Item = &'t str>>(&mut self, texts: T) {
        for text in texts {
            let before = self.words.len();
            self.push_words(text, is_stop_word);
            if self.words.len() == before {
                self.push_words(text, |_| false);
            }
        }
        self.words.sort_unstable();
        self.words.dedup();
    }
}

impl<'t> FromIterator<&'t str> for WordSet {
    fn from_iter<T: IntoIterator<Item = &'t str>>(texts: T) -> Self {
        let mut set = Self::default();
        set.extend(texts);
        set
    }
}

/// Returns the share of content words that two texts have in common, from 0 to 1. Forms of one word count as equal.
pub fn similarity(one: &str, other: &str) -> f64 {
    WordSet::of(one).similarity(&WordSet::of(other))
}

fn ratio(part: usize, whole: usize) -> f64 {
    let float = |count| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    if whole == 0 {
        0.0
    } else {
        float(part) / float(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similarity_ignores_inflection_stop_words_and_order() {
        assert_eq!(
            similarity(
                "The parser rejects empty inputs",
                "parsers now reject an empty input"
            ),
            1.0
        );
        assert_eq!(
            similarity("the cache is warm", "The parser rejects empty input"),
            0.0
        );
        assert_eq!(similarity("", ""), 0.0);
        let half = similarity("retry the upload", "retried upload and download twice");
        assert!((half - 0.5).abs() < 1e-9, "{half}");
    }

    #[test]
    fn a_text_of_stop_words_is_compared_by_them() {
        assert_eq!(similarity("do it now", "do it now"), 1.0);
        assert_eq!(WordSet::of("do it now").len(), 3);
    }

    #[test]
    fn names_are_similar_to_their_parts() {
        assert!(similarity("refreshToken", "refresh token") > 0.6);
    }

    #[test]
    fn containment_is_one_sided() {
        let (step, report) = (
            WordSet::of("Add a test for coupons"),
            WordSet::of("Added the coupon test and a page of documentation"),
        );
        assert_eq!(step.containment(&report), 1.0);
        assert!(report.containment(&step) < 0.7);
        assert_eq!(WordSet::default().containment(&step), 1.0);
    }

    #[test]
    fn numbers_are_told_apart() {
        let limit = |text| WordSet::of(text);
        assert!(limit("limited to 5 MB").has_numbers_of(&limit("5 MB is the limit")));
        assert!(!limit("limited to 5 MB").has_numbers_of(&limit("limited to 50 MB")));
        assert!(limit("no limit").has_numbers_of(&limit("limit")));
    }
}
