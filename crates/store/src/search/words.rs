//! What the word index is made of, and what is asked of it.
//!
//! The tokenizer of the index splits at everything that is no letter or digit and stems English. Two things it cannot do
//! are done here, the same way for texts and for questions: parts of `camelCase` names, and scripts without spaces.

/// Prepares a text for the index: a name in camel case is followed by its parts, a run of Chinese, Japanese or Korean
/// letters becomes its overlapping pairs.
pub(crate) fn to_index(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for word in pieces(text) {
        match word {
            Piece::Other(other) => out.push_str(other),
            Piece::Word(word) => {
                out.push_str(word);
                let parts = parts(word);
                if parts.len() > 1 {
                    for part in parts {
                        out.push(' ');
                        out.push_str(part);
                    }
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
    let all = words_of(question);
    let telling: Vec<&String> = all.iter().filter(|word| !is_stop_word(word)).collect();
    let chosen: Vec<String> = if telling.is_empty() {
        all.clone()
    } else {
        telling.into_iter().cloned().collect()
    };
    let mut terms: Vec<Term> = Vec::new();
    for word in chosen {
        if terms.len() == MAX_TERMS {
            break;
        }
        if !terms.iter().any(|term| term.word == word) {
            terms.push(Term {
                word,
                is_prefix: false,
            });
        }
    }
    terms
}

/// Counts the words of a question that say something.
pub fn content_words(question: &str) -> usize {
    let words = terms(question);
    words.iter().filter(|term| !is_stop_word(&term.word)).count()
}

/// The word that is being typed: the last one of a question that nothing ends.
pub(crate) fn unfinished(question: &str) -> Option<Term> {
    const MIN_LEN: usize = 3;
    if !question.ends_with(char::is_alphanumeric) {
        return None;
    }
    let word = words_of(question).pop()?;
    (word.chars().count() >= MIN_LEN).then_some(Term {
        word,
        is_prefix: true,
    })
}

fn words_of(question: &str) -> Vec<String> {
    let mut words = Vec::new();
    for piece in pieces(question) {
        match piece {
            Piece::Other(_) => {}
            Piece::Word(word) => {
                words.push(word.to_lowercase());
                let parts = parts(word);
                if parts.len() > 1 {
                    words.extend(parts.into_iter().map(str::to_lowercase));
                }
            }
            Piece::Unspaced(run) => words.extend(pairs(run).map(ToOwned::to_owned)),
        }
    }
    words
}

enum Piece<'t> {
    /// Letters and digits.
    Word(&'t str),
    /// Letters of a script that puts no spaces between words.
    Unspaced(&'t str),
    /// Everything between words.
    Other(&'t str),
}

fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let class = class(rest.chars().next()?);
        let end = rest
            .char_indices()
            .find(|(_, letter)| self::class(*letter) != class)
            .map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(match class {
            Class::Word => Piece::Word(piece),
            Class::Unspaced => Piece::Unspaced(piece),
            Class::Other => Piece::Other(piece),
        })
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Word,
    Unspaced,
    Other,
}

fn class(letter: char) -> Class {
    match letter {
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' => Class::Unspaced,
        '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2fa1f}' => Class::Unspaced,
        letter if letter.is_alphanumeric() => Class::Word,
        _ => Class::Other,
    }
}

/// Overlapping pairs of letters; a single letter is itself.
fn pairs(run: &str) -> impl Iterator<Item = &str> {
    let ends: Vec<usize> = run
        .char_indices()
        .map(|(at, letter)| at + letter.len_utf8())
        .collect();
    let starts: Vec<usize> = run.char_indices().map(|(at, _)| at).collect();
    let count = ends.len();
    (0..count.saturating_sub(1).max(1)).map(move |index| {
        let end = ends[(index + 1).min(count - 1)];
        &run[starts[index]..end]
    })
}

/// The parts of a name in camel case: `HTTPServerName2` is HTTP, Server, Name2. A plain word is its own only part.
fn parts(word: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let letters: Vec<(usize, char)> = word.char_indices().collect();
    for index in 1..letters.len() {
        let (at, letter) = letters[index];
        let before = letters[index - 1].1;
        let after = letters.get(index + 1).map(|(_, letter)| *letter);
        let begins = letter.is_uppercase()
            && (before.is_lowercase()
                || before.is_numeric()
                || (before.is_uppercase() && after.is_some_and(char::is_lowercase)));
        if begins {
            parts.push(&word[start..at]);
            start = at;
        }
    }
    parts.push(&word[start..]);
    parts
}

/// Whether a word says nothing about what is looked for.
fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

const STOP_WORDS: [&str; 125] = [
    "a", "about", "after", "again", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be",
    "because", "been", "before", "being", "between", "both", "but", "by", "can", "could", "d", "did", "do",
    "does", "doing", "don", "during", "each", "few", "for", "from", "further", "had", "has", "have",
    "having", "he", "her", "here", "hers", "him", "his", "how", "i", "if", "in", "into", "is", "it", "its",
    "just", "ll", "m", "me", "more", "most", "my", "no", "nor", "not", "now", "of", "off", "on", "once",
    "only", "or", "other", "our", "ours", "out", "over", "own", "please", "re", "s", "same", "she", "should",
    "so", "some", "such", "t", "than", "that", "the", "their", "theirs", "them", "then", "there", "these",
    "they", "this", "those", "through", "to", "too", "under", "until", "up", "us", "ve", "very", "was", "we",
    "were", "what", "when", "where", "which", "while", "who", "whom", "why", "will", "with", "would", "you",
    "your", "yours",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(question: &str) -> Vec<String> {
        terms(question).into_iter().map(|term| term.word).collect()
    }

    #[test]
    fn stop_words_are_in_order() {
        assert!(STOP_WORDS.is_sorted());
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
