//! Splits text into words.
//!
//! A word is a run of letters and digits. Names in camel case also count by their parts, and runs of scripts that put no
//! spaces between words count by overlapping pairs of letters: the full-text index and every comparison of texts rely on
//! the same rules, so a change here needs a rebuilt index.

use std::collections::HashSet;

use crate::stem;

/// A part of a text, see [`pieces`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'t> {
    /// Letters and digits.
    Word(&'t str),
    /// Letters of a script that puts no spaces between words.
    Unspaced(&'t str),
    /// Everything between words.
    Other(&'t str),
}

/// Splits a text into words and separators; joined, the pieces are the text.
pub fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let class = class(rest.chars().next()?);
        let (piece, after) = rest.split_at(end_of_class(rest, class));
        rest = after;
        Some(match class {
            Class::Word => Piece::Word(piece),
            Class::Unspaced => Piece::Unspaced(piece),
            Class::Other => Piece::Other(piece),
        })
    })
}

/// Returns the end of the characters of a class at the start of a text.
fn end_of_class(text: &str, class: Class) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        // By bytes for ASCII, which most text is.
        let (next, length) = if byte.is_ascii() {
            (ASCII[usize::from(byte)], 1)
        } else {
            let letter = text[at..].chars().next().unwrap_or_default();
            (self::class(letter), letter.len_utf8())
        };
        if next != class {
            break;
        }
        at += length;
    }
    at
}

/// The classes of ASCII characters.
static ASCII: [Class; 128] = {
    let mut classes = [Class::Other; 128];
    let mut byte = 0_u8;
    while byte < 128 {
        if byte.is_ascii_alphanumeric() {
            classes[byte as usize] = Class::Word;
        }
        byte += 1;
    }
    classes
};

/// Returns the words of a text as they are written, without the parts of names.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    pieces(text).filter_map(|piece| match piece {
        Piece::Word(word) | Piece::Unspaced(word) => Some(word),
        Piece::Other(_) => None,
    })
}

/// Returns the words of a text as the full-text index has them: each word as it is written, followed by the parts of a
/// name, and pairs of unspaced letters.
pub fn index_words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for_each_index_word(text, |word| words.push(word));
    words
}

/// Calls a function with each index word. A chain of iterators instead would cost several times as much.
pub(crate) fn for_each_index_word<'t>(text: &'t str, mut each: impl FnMut(&'t str)) {
    for piece in pieces(text) {
        match piece {
            Piece::Word(word) => {
                each(word);
                if may_have_parts(word) {
                    name_parts(word).for_each(&mut each);
                }
            }
            Piece::Unspaced(run) => pairs(run).for_each(&mut each),
            Piece::Other(_) => {}
        }
    }
}

/// Returns the index words of a text that carry meaning: in lower case, each once, without stop words.
pub fn content_words(text: &str) -> Vec<String> {
    let mut seen = HashSet::new();
    index_words(text)
        .into_iter()
        .map(str::to_lowercase)
        .filter(|word| !is_stop_word(word) && seen.insert(word.clone()))
        .collect()
}

/// Returns the terms by which a team server finds a text: the stems of its content words, each once.
///
/// Records and queries go through this function, so a change needs new terms for every stored record.
pub fn search_terms(text: &str) -> Vec<String> {
    let mut seen = HashSet::new();
    content_words(text)
        .iter()
        .map(|word| stem(word).to_owned())
        .filter(|term| seen.insert(term.clone()))
        .collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Word,
    Unspaced,
    Other,
}

fn class(letter: char) -> Class {
    match letter {
        '\0'..='\x7f' => ASCII[letter as usize],
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' => Class::Unspaced,
        '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2fa1f}' => Class::Unspaced,
        letter if letter.is_alphanumeric() => Class::Word,
        _ => Class::Other,
    }
}

/// Returns the overlapping pairs of letters of a run without spaces; a single letter is returned as it is.
pub fn pairs(run: &str) -> impl Iterator<Item = &str> {
    let second = run.chars().next().map_or(0, char::len_utf8);
    let ends = run[second..]
        .char_indices()
        .map(move |(at, letter)| second + at + letter.len_utf8());
    let is_single = !run.is_empty() && second == run.len();
    let ends = is_single.then_some(run.len()).into_iter().chain(ends);
    run.char_indices()
        .zip(ends)
        .map(|((start, _), end)| &run[start..end])
}

/// Returns the parts of a name in camel case: `HTTPServerName2` has the parts `HTTP`, `Server` and `Name2`. A plain word
/// has none.
pub fn name_parts(word: &str) -> impl Iterator<Item = &str> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = &word[start..];
        let end = start + next_part(rest).unwrap_or(rest.len());
        // The whole word is no part of itself.
        if rest.is_empty() || (start == 0 && end == word.len()) {
            return None;
        }
        let part = &word[start..end];
        start = end;
        Some(part)
    })
}

/// Reports cheaply whether a word may be a name in camel case.
fn may_have_parts(word: &str) -> bool {
    !word.is_ascii() || word.bytes().skip(1).any(|byte| byte.is_ascii_uppercase())
}

/// Returns the position at which the second part of a name starts.
fn next_part(word: &str) -> Option<usize> {
    let mut letters = word.char_indices().peekable();
    let (_, mut before) = letters.next()?;
    while let Some((at, letter)) = letters.next() {
        let starts = letter.is_uppercase()
            && (before.is_lowercase()
                || before.is_numeric()
                || (before.is_uppercase() && letters.peek().is_some_and(|(_, after)| after.is_lowercase())));
        if starts {
            return Some(at);
        }
        before = letter;
    }
    None
}

/// Reports whether a lower-case word is so common that it carries no information about the subject of a text.
pub fn is_stop_word(word: &str) -> bool {
    word.len() <= MAX_STOP_WORD && STOP_NUMBERS.binary_search(&number(word.as_bytes())).is_ok()
}

/// The length of the longest stop word, which fits a number.
const MAX_STOP_WORD: usize = 7;

/// The stop words as numbers, which are faster to compare than strings.
static STOP_NUMBERS: [u64; STOP_WORDS.len()] = {
    let mut numbers = [0; STOP_WORDS.len()];
    let mut at = 0;
    while at < numbers.len() {
        numbers[at] = number(STOP_WORDS[at].as_bytes());
        at += 1;
    }
    numbers
};

/// Returns the bytes of a short word as a number that sorts like the word.
const fn number(word: &[u8]) -> u64 {
    let mut number = 0;
    let mut at = 0;
    while at < MAX_STOP_WORD {
        number = number << 8 | if at < word.len() { word[at] as u64 } else { 0 };
        at += 1;
    }
    number
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

/// Reports whether a text has a word that no letter, digit or underscore continues.
pub fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        !is_part(text[..at].chars().next_back()) && !is_part(text[at + word.len()..].chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_words_are_sorted_and_short() {
        assert!(STOP_WORDS.is_sorted());
        assert!(STOP_WORDS.iter().all(|word| is_stop_word(word)));
        assert!(
            !["", "token", "throughout", "bé"]
                .iter()
                .any(|word| is_stop_word(word))
        );
    }

    #[test]
    fn names_split_into_their_parts() {
        let parts = |word| name_parts(word).collect::<Vec<_>>();
        assert_eq!(parts("HTTPServerName2"), ["HTTP", "Server", "Name2"]);
        assert_eq!(parts("refreshToken"), ["refresh", "Token"]);
        assert_eq!(parts("v2Api"), ["v2", "Api"]);
        assert_eq!(parts("Token"), [""; 0]);
        assert_eq!(parts(""), [""; 0]);
    }

    #[test]
    fn content_words_are_distinct_and_include_parts() {
        assert_eq!(
            content_words("What does refreshToken do with the token?"),
            ["refreshtoken", "refresh", "token"]
        );
        assert_eq!(content_words("重试令牌 ok"), ["重试", "试令", "令牌", "ok"]);
        assert_eq!(content_words("令"), ["令"]);
    }

    #[test]
    fn search_terms_are_stems() {
        assert_eq!(
            search_terms("The refreshToken retries; retrying tokens was refreshed"),
            ["refreshtoken", "refresh", "token", "retr"]
        );
        assert_eq!(search_terms("the 令牌 of"), ["令牌"]);
    }

    #[test]
    fn pieces_joined_are_the_text() {
        let text = "a-b  令牌x, é!";
        let joined: String = pieces(text)
            .map(|piece| match piece {
                Piece::Word(text) | Piece::Unspaced(text) | Piece::Other(text) => text,
            })
            .collect();
        assert_eq!(joined, text);
        assert_eq!(words(text).collect::<Vec<_>>(), ["a", "b", "令牌", "x", "é"]);
    }
}
