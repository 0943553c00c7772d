//! Recognizes what a question asks for, beside its subject: an error, the user's own words, a commit.
//!
//! A question about an error rarely has a word of the error itself, and one about a decision none of the user's words. The
//! kind of memory that answers it ranks a little higher; nothing is left out.

use backstory_model::{EvidenceKind, MemoryKind, ObservationType};
use backstory_store::Memory;
use backstory_text::words;

/// The weight of a memory of the kind that a question asks for.
const WANTED: f64 = 1.5;

/// The kind of answer that a question asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// A failure.
    Error,
    /// Words of the user.
    UserWords,
    /// A commit.
    Commit,
    /// Anything.
    Any,
}

impl Wanted {
    /// Reads a question.
    pub(crate) fn of(question: &str) -> Self {
        const ERRORS: &[&str] = &[
            "error",
            "errors",
            "fail",
            "fails",
            "failed",
            "failing",
            "failure",
            "failures",
            "complain",
            "complained",
            "complains",
            "exception",
            "crash",
            "crashed",
            "panic",
            "panicked",
            "traceback",
        ];
        const WISHES: &[&str] = &[
            "want",
            "wanted",
            "wants",
            "decide",
            "decided",
            "choose",
            "chose",
            "chosen",
            "prefer",
            "preferred",
            "agreed",
            "rejected",
            "refused",
            "view",
            "say",
            "said",
            "told",
            "ask",
            "asked",
        ];
        const PEOPLE: &[&str] = &["user", "i", "me", "we", "us", "they"];
        let words: Vec<String> = words(question).map(|word| word.to_lowercase()).collect();
        let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
        if has(PEOPLE) && has(WISHES) {
            Self::UserWords
        } else if has(ERRORS) {
            Self::Error
        } else if words.iter().any(|word| word == "commit") {
            Self::Commit
        } else {
            Self::Any
        }
    }

    /// Returns the weight of a memory as an answer.
    pub(crate) fn weight(self, memory: &Memory) -> f64 {
        let evidence = memory
            .record
            .type_name
            .as_deref()
            .and_then(EvidenceKind::from_name);
        let evidence = evidence.filter(|_| memory.handle.kind == MemoryKind::Passage);
        let is_wanted = match self {
            Self::Error => evidence == Some(EvidenceKind::Error),
            Self::UserWords => {
                matches!(
                    evidence,
                    Some(EvidenceKind::UserMessage | EvidenceKind::UserAnswer | EvidenceKind::Refusal)
                ) || memory.handle.kind == MemoryKind::Prompt
                    || memory.record.observation_type() == Some(ObservationType::Decision)
            }
            Self::Commit => evidence == Some(EvidenceKind::Commit),
            Self::Any => false,
        };
        if is_wanted { WANTED } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_say_which_kind_of_answer_they_want() {
        for (question, wanted) in [
            ("Which test failed after the move?", Wanted::Error),
            ("What did the compiler complain about?", Wanted::Error),
            ("What did I decide about retries?", Wanted::UserWords),
            ("Did the user want totals per file?", Wanted::UserWords),
            (
                "What is the message of the commit that caps the cache?",
                Wanted::Commit,
            ),
            ("How does the cache work?", Wanted::Any),
        ] {
            assert_eq!(Wanted::of(question), wanted, "{question}");
        }
    }
}
