//! Recognizes statements of two people that cannot both be true.
//!
//! A rule of thumb for a list that a person reads: most words in common, but other numbers, or a negation on one side only.
//! Statements that contradict each other in other words are not found.

use backstory_text::WordSet;

/// Words in common from which two statements have one subject. A number that differs counts against it twice, so a short
/// statement with another number has little more than half.
const SAME_SUBJECT: f64 = 0.5;

/// Fewer words say too little about a subject.
const MIN_WORDS: usize = 3;

/// A statement, prepared for comparisons.
#[derive(Clone, Debug)]
pub struct Statement {
    words: WordSet,
    is_negative: bool,
}

impl Statement {
    /// Reads a statement.
    pub fn new(text: &str) -> Self {
        Self {
            words: WordSet::of(text),
            is_negative: is_negative(text),
        }
    }

    /// Reports whether the other one says something else about the same subject.
    pub fn contradicts(&self, other: &Self) -> bool {
        let has_words = self.words.len().min(other.words.len()) >= MIN_WORDS;
        let differs = self.is_negative != other.is_negative || !self.words.has_numbers_of(&other.words);
        has_words && differs && self.words.similarity(&other.words) >= SAME_SUBJECT
    }
}

fn is_negative(text: &str) -> bool {
    const NEGATIONS: [&str; 7] = ["not", "no", "never", "cannot", "without", "neither", "none"];
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '\'' && letter != '’')
        .map(str::to_lowercase)
        .any(|word| NEGATIONS.contains(&word.as_str()) || word.ends_with("n't") || word.ends_with("n’t"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_negations_contradict_and_other_subjects_do_not() {
        let contradict = |one: &str, other: &str| Statement::new(one).contradicts(&Statement::new(other));
        for (one, other) in [
            ("The gateway retries 3 times", "The gateway retries 5 times"),
            (
                "The session cache is safe to delete",
                "The session cache is not safe to delete",
            ),
            (
                "Staging uses the shared database",
                "Staging doesn't use the shared database",
            ),
        ] {
            assert!(contradict(one, other) && contradict(other, one), "{one}");
        }
        for (one, other) in [
            ("The gateway retries 3 times", "The gateway retries 3 times"),
            (
                "The gateway retries 3 times",
                "The parser accepts 5 kinds of quotes",
            ),
            (
                "Never deploy on Fridays",
                "The session cache is not safe to delete",
            ),
            ("Port 80", "Port 81"),
        ] {
            assert!(!contradict(one, other), "{one} / {other}");
        }
    }
}
