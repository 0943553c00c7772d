//! What is asked of a store of many memories.

use crate::random::Random;

use super::past::{EVERYWHERE, Past, foreign};

const QUESTIONS: usize = 200;

/// A few words, and the memory that they were taken from.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) words: Vec<String>,
    /// The id of the memory; none when the words stand in none.
    pub(super) source: Option<String>,
}

impl Question {
    pub(super) fn text(&self) -> String {
        self.words.join(" ")
    }
}

/// Returns questions: most have words of a memory, a tenth of them with one that stands nearly everywhere, and a tenth of
/// all have nothing in common with any memory.
pub(super) fn questions(past: &Past, count: usize) -> Vec<Question> {
    let mut random = Random::new(17);
    let question = |number: usize| {
        let length = 2 + number % 7;
        if number % 10 == 9 {
            let words = foreign(length, &mut random);
            return Question {
                words: words.split(' ').map(ToOwned::to_owned).collect(),
                source: None,
            };
        }
        let memory = past.memory(random.below(count));
        let mut words = memory.words(&mut random);
        words.truncate(length);
        if number % 10 == 8 {
            words[0] = EVERYWHERE.to_owned();
        }
        random.shuffle(&mut words);
        Question {
            words,
            source: Some(memory.id()),
        }
    };
    (0..QUESTIONS).map(question).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_have_two_to_eight_words_and_a_tenth_no_memory() {
        let asked = questions(&Past::new(), 500);
        assert_eq!(asked.len(), QUESTIONS);
        assert!(asked.iter().all(|one| (2..=8).contains(&one.words.len())));
        assert_eq!(asked.iter().filter(|one| one.source.is_none()).count(), 20);
        let common = asked
            .iter()
            .filter(|one| one.words.iter().any(|word| word == EVERYWHERE));
        assert_eq!(common.count(), 20);
    }
}
