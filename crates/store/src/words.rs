//! Prepares texts and queries for the word index.
//!
//! The tokenizer of the index splits at everything that is no letter or digit and stems English. Two more things are done
//! here, for texts and queries alike: names in camel case are split, and scripts without spaces become pairs. A change needs a
//! migration that indexes all memories again.

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

/// Holds a word of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// The word in lower case; letters and digits only.
    pub word: String,
    /// Also matches longer words that start like this.
    pub is_prefix: bool,
}

impl Term {
    /// Returns the term in the query language of FTS5. The quotes keep a word from being an operator.
    pub(crate) fn to_match(&self) -> String {
        format!("\"{}\"{}", self.word, if self.is_prefix { "*" } else { "" })
    }
}

/// The most words of a query that count: a query can be a pasted log.
const MAX_TERMS: usize = 32;

/// Conjunctions, quantifiers and light verbs of questions. They are rare in records of work, so their frequency there would
/// make them weigh more than the subject. Words that also name programs or languages (`make`, `go`, `get`) are not listed.
const LIGHT_WORDS: [&str; 37] = [
    "already", "although", "among", "came", "come", "comes", "coming", "ever", "gave", "gets", "getting",
    "given", "gives", "goes", "going", "got", "happen", "happened", "happens", "made", "makes", "making",
    "many", "much", "said", "says", "several", "taken", "takes", "tells", "though", "told", "took", "went",
    "whether", "whose", "yet",
];

/// Splits a query into terms. Any text is valid. Stop words and light words are dropped, unless there is nothing else.
pub fn terms(query: &str) -> Vec<Term> {
    let terms = distinct_terms(query, |word| {
        !is_stop_word(word) && LIGHT_WORDS.binary_search(&word).is_err()
    });
    if terms.is_empty() {
        distinct_terms(query, |_| true)
    } else {
        terms
    }
}

fn distinct_terms(query: &str, is_kept: fn(&str) -> bool) -> Vec<Term> {
    let mut terms: Vec<Term> = Vec::new();
    for word in index_words(query).into_iter().map(str::to_lowercase) {
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

/// Returns the last word of a query, if the query ends with it: the user may still be typing it.
pub(crate) fn incomplete_word(query: &str) -> Option<Term> {
    const MIN_LEN: usize = 3;
    if !query.ends_with(char::is_alphanumeric) {
        return None;
    }
    let word = index_words(query).pop()?.to_lowercase();
    (word.chars().count() >= MIN_LEN).then_some(Term {
        word,
        is_prefix: true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(query: &str) -> Vec<String> {
        terms(query).into_iter().map(|term| term.word).collect()
    }

    #[test]
    fn names_match_by_their_parts() {
        assert_eq!(
            to_index("call refreshToken()"),
            "call refreshToken refresh Token()"
        );
        assert_eq!(
            words("HTTPServer.readURL"),
            ["httpserver", "http", "server", "readurl", "read", "url"]
        );
        assert_eq!(
            words("refresh_token src/auth.rs"),
            ["refresh", "token", "src", "auth", "rs"]
        );
    }

    #[test]
    fn scripts_without_spaces_match_by_pairs() {
        assert_eq!(to_index("重试令牌 ok"), " 重试 试令 令牌  ok");
        assert_eq!(words("令牌"), ["令牌"]);
        assert_eq!(words("令"), ["令"]);
    }

    #[test]
    fn stop_words_are_dropped_unless_there_is_nothing_else() {
        assert!(LIGHT_WORDS.is_sorted());
        assert_eq!(words("what is the token?"), ["token"]);
        assert_eq!(words("whose token got made by make"), ["token", "make"]);
        assert_eq!(words("what happened"), ["what", "happened"]);
        assert_eq!(words("to be or not to be"), ["to", "be", "or", "not"]);
        assert_eq!(words("🎉 \"\" ((( NEAR* -- "), ["near"]);
        assert_eq!(words("🎉"), [""; 0]);
    }

    #[test]
    fn the_last_word_may_be_incomplete() {
        assert_eq!(
            incomplete_word("how does authent").map(|term| term.to_match()),
            Some("\"authent\"*".to_owned())
        );
        assert_eq!(incomplete_word("authent "), None);
        assert_eq!(incomplete_word("au"), None);
    }
}
