//! Generates queries for a store of generated memories.

use crate::random::Random;

use super::past::{Past, UBIQUITOUS, unknown_words};

const QUERIES: usize = 200;

/// A few words and the memory that they were taken from.
#[derive(Debug)]
pub(super) struct TestQuery {
    pub(super) words: Vec<String>,
    /// Id of the memory; absent for unknown words.
    pub(super) source: Option<String>,
}

impl TestQuery {
    pub(super) fn text(&self) -> String {
        self.words.join(" ")
    }
}

/// Returns queries. Most have words of a memory; a tenth has one ubiquitous word, and a tenth has unknown words only.
pub(super) fn queries(past: &Past, count: usize) -> Vec<TestQuery> {
    let mut random = Random::new(17);
    let query = |number: usize| {
        let length = 2 + number % 7;
        if number % 10 == 9 {
            let words = unknown_words(length, &mut random);
            return TestQuery {
                words: words.split(' ').map(ToOwned::to_owned).collect(),
                source: None,
            };
        }
        let memory = past.memory(random.below(count));
        let mut words = memory.words(&mut random);
        words.truncate(length);
        if number % 10 == 8 {
            words[0] = UBIQUITOUS.to_owned();
        }
        random.shuffle(&mut words);
        TestQuery {
            words,
            source: Some(memory.id()),
        }
    };
    (0..QUERIES).map(query).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_have_two_to_eight_words_and_a_tenth_no_source() {
        let queries = queries(&Past::new(), 500);
        assert_eq!(queries.len(), QUERIES);
        assert!(queries.iter().all(|one| (2..=8).contains(&one.words.len())));
        assert_eq!(queries.iter().filter(|one| one.source.is_none()).count(), 20);
        let common = queries
            .iter()
            .filter(|one| one.words.iter().any(|word| word == UBIQUITOUS));
        assert_eq!(common.count(), 20);
    }
}
