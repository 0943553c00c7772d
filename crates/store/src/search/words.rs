//! What the word index is made of, and what is asked of it.
//!
//! The tokenizer of the index splits at everything that is no letter or digit and stems English. Two things it cannot do
//! are done here, the same way for texts and for questions: parts of `camelCase` names, and scripts without spaces.

use backstory_text::{Piece, index_words, is_stop_word, name_parts, pairs, pieces};

/// Prepares a text for the index: a name in camel case is followed by its parts, a run of Chinese, Japanese or Korean
/// letters becomes its overlapping pairs.
pub(crate) fn to_index(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for piece in pieces(text) {
        match piece {
            Piece::Other(other) => out.push_str(other),
            Piece::Word(word) => {
                out.push_str(word);
                for part in name_parts(word) {
                    out.push(' ');
                    out.push_str(part);
                }
            }
            Piece::Unspaced(run) => {
                for pair in pairs(run) {
                    out.push(' ');
                    out.push_str(pair);
                }
                out.push(' ');
            }
        }
    }
    out
}

/// A word of a question, as the index knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// The word in lower case; letters and digits only.
    pub word: String,
    /// Whether longer words that begin like this count too.
    pub is_prefix: bool,
}

impl Term {
    /// Writes the term in the language of the index. Nothing in a word can be an operator.
    pub(crate) fn to_match(&self) -> String {
        format!("\"{}\"{}", self.word, if self.is_prefix { "*" } else { "" })
    }
}

/// The most words of a question that count. A pasted log is a question too.
const MAX_TERMS: usize = 32;

/// Reads a question. Any text is valid; words that say nothing are dropped unless nothing else is there.
pub fn terms(question: &str) -> Vec<Term> {
    let terms = distinct_terms(question, |word| !is_stop_word(word));
    if terms.is_empty() {
        distinct_terms(question, |_| true)
    } else {
        terms
    }
}

fn distinct_terms(question: &str, is_kept: fn(&str) -> bool) -> Vec<Term> {
    let mut terms: Vec<Term> = Vec::new();
    for word in index_words(question).map(str::to_lowercase) {
        if terms.len() == MAX_TERMS {
            break;
        }
        if is_kept(&word) && !terms.iter().any(|term| term.word == word) {
            terms.push(Term {
                word,
                is_prefix: false,
            });
        }
    }
    terms
}

/// The word that is being typed: the last one of a question that nothing ends.
pub(crate) fn unfinished(question: &str) -> Option<Term> {
    const MIN_LEN: usize = 3;
    if !question.ends_with(char::is_alphanumeric) {
        return None;
    }
    let word = index_words(question).last()?.to_lowercase();
    (word.chars().count() >= MIN_LEN).then_some(Term {
        word,
        is_prefix: true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(question: &str) -> Vec<String> {
        terms(question).into_iter().map(|term| term.word).collect()
    }

    #[test]
    fn names_are_found_by_their_parts() {
        assert_eq!(
            to_index("call refreshToken()"),
            "call refreshToken refresh Token()"
        );
        assert_eq!(
            asked("HTTPServer.readURL"),
            ["httpserver", "http", "server", "readurl", "read", "url"]
        );
        assert_eq!(
            asked("refresh_token src/auth.rs"),
            ["refresh", "token", "src", "auth", "rs"]
        );
    }

    #[test]
    fn scripts_without_spaces_are_found_by_pairs() {
        assert_eq!(to_index("重试令牌 ok"), " 重试 试令 令牌  ok");
        assert_eq!(asked("令牌"), ["令牌"]);
        assert_eq!(asked("令"), ["令"]);
    }

    #[test]
    fn words_that_say_nothing_are_dropped_unless_they_are_all() {
        assert_eq!(asked("what is the token?"), ["token"]);
        assert_eq!(asked("to be or not to be"), ["to", "be", "or", "not"]);
        assert_eq!(asked("🎉 \"\" ((( NEAR* -- "), ["near"]);
        assert_eq!(asked("🎉"), [""; 0]);
    }

    #[test]
    fn the_last_word_may_be_unfinished() {
        assert_eq!(
            unfinished("how does authent").map(|term| term.to_match()),
            Some("\"authent\"*".to_owned())
        );
        assert_eq!(unfinished("authent "), None);
        assert_eq!(unfinished("au"), None);
    }
}
