//! Tokenizer: splits text into words, then into the longest known pieces (uncased word pieces).
//!
//! Identifiers are split at camel-case boundaries, before everything becomes lower case. The vocabulary is searched in
//! place in the file: nothing is built at start.

use crate::weights::{CLOSING, MAX_TOKENS, OPENING, UNKNOWN, VOCABULARY, WEIGHTS};

/// Maximum length of a word in bytes; a longer one is a hash, a key or an encoded file.
const MAX_WORD_LEN: usize = 100;

/// Maximum number of bytes that are read per token, or a megabyte of spaces would be scanned for a word.
const BYTES_PER_TOKEN: usize = 256;

/// Writes the tokens of `text` into `tokens`: at least two, for start and end, and at most `limit`.
pub(crate) fn tokenize(text: &str, limit: usize, tokens: &mut Vec<u32>) {
    let limit = limit.clamp(2, MAX_TOKENS);
    let text = &text[..text.floor_char_boundary(limit * BYTES_PER_TOKEN)];
    tokens.clear();
    tokens.push(OPENING);
    let mut word = Word::default();
    let mut previous = ' ';
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if tokens.len() >= limit {
            break;
        }
        if character.is_whitespace() || character.is_control() || character == char::REPLACEMENT_CHARACTER {
            word.finish(tokens);
        } else if stands_alone(character) {
            word.finish(tokens);
            word.push(character);
            word.finish(tokens);
        } else {
            if begins_part(previous, character, characters.peek().copied()) {
                word.finish(tokens);
            }
            // Lower case can add a combining accent, as for the Turkish capital I with a dot.
            for lower in character.to_lowercase().filter(|lower| !is_accent(*lower)) {
                word.push(without_accent(lower));
            }
        }
        previous = character;
    }
    word.finish(tokens);
    tokens.truncate(limit - 1);
    tokens.push(CLOSING);
}

/// Reports whether a word is known in whole or in long parts. Others, such as a slip of the keyboard, have no meaning, and the
/// vector of single letters is near to that of any abbreviation.
pub fn is_known_word(word: &str) -> bool {
    let mut tokens = Vec::new();
    tokenize(word, MAX_TOKENS, &mut tokens);
    let pieces = tokens.len() - 2;
    !word.is_ascii() || 2 * word.len() >= 5 * pieces
}

/// Word under construction, after the two bytes that mark a piece within a word.
struct Word {
    marked: Vec<u8>,
}

impl Default for Word {
    fn default() -> Self {
        let mut marked = Vec::with_capacity(2 + MAX_WORD_LEN + 4);
        marked.extend_from_slice(MARK);
        Self { marked }
    }
}

/// Prefix of vocabulary entries that continue a word.
const MARK: &[u8; 2] = b"##";

impl Word {
    fn push(&mut self, character: char) {
        // One byte too many marks the word as too long; the rest is not kept.
        if self.marked.len() <= MARK.len() + MAX_WORD_LEN {
            self.marked
                .extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }

    /// Appends the word's tokens and starts a new word.
    fn finish(&mut self, tokens: &mut Vec<u32>) {
        let before = tokens.len();
        if self.marked.len() > MARK.len() + MAX_WORD_LEN {
            tokens.push(UNKNOWN);
        } else {
            let mut found = longest_piece(&self.marked[MARK.len()..]);
            let mut at = MARK.len();
            while at < self.marked.len() {
                let Some((token, length)) = found else {
                    tokens.truncate(before);
                    tokens.push(UNKNOWN);
                    break;
                };
                tokens.push(token);
                at += length;
                if at < self.marked.len() {
                    // The bytes before the rest are consumed, so the mark can overwrite them.
                    self.marked[at - MARK.len()..at].copy_from_slice(MARK);
                    found = longest_piece(&self.marked[at - MARK.len()..])
                        .filter(|(_, length)| *length > MARK.len())
                        .map(|(token, length)| (token, length - MARK.len()));
                }
            }
        }
        self.marked.clear();
        self.marked.extend_from_slice(MARK);
    }
}

/// Finds the longest vocabulary entry that is a prefix of `text`: its token and its length.
fn longest_piece(text: &[u8]) -> Option<(u32, usize)> {
    let mut end = text.len();
    while end > 0 {
        let wanted = &text[..end];
        // The last entry that is not greater. Every prefix of `wanted` is a prefix of that entry too, because
        // it lies between the two: so only the common prefix can still match.
        let (mut low, mut high) = (0, VOCABULARY);
        while low < high {
            let middle = usize::midpoint(low, high);
            if spelling(middle) <= wanted {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let index = low.checked_sub(1)?;
        let near = spelling(index);
        let shared = near.iter().zip(wanted).take_while(|(a, b)| a == b).count();
        if shared == near.len() {
            return Some((u32::from_le_bytes(WEIGHTS.tokens[index]), shared));
        }
        end = shared;
    }
    None
}

fn spelling(index: usize) -> &'static [u8] {
    let position = |index: usize| u32::from_le_bytes(WEIGHTS.starts[index]) as usize;
    &WEIGHTS.spellings[position(index)..position(index + 1)]
}

/// Returns true if a part of an identifier begins here: `tokenRefresh`, `v2Token`, `HTTPServer`.
fn begins_part(previous: char, character: char, next: Option<char>) -> bool {
    character.is_ascii_uppercase()
        && (previous.is_ascii_lowercase()
            || previous.is_ascii_digit()
            || (previous.is_ascii_uppercase() && next.is_some_and(|next| next.is_ascii_lowercase())))
}

/// Returns true if a character is a word of its own: punctuation, symbols, ideographs.
fn stands_alone(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_punctuation();
    }
    !character.is_alphanumeric()
        || matches!(u32::from(character), 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x2FA1F)
}

fn is_accent(character: char) -> bool {
    ('\u{300}'..='\u{36f}').contains(&character)
}

/// Removes the accent of a lower-case Latin letter, because the vocabulary has none.
fn without_accent(letter: char) -> char {
    match letter {
        'à'..='å' | 'ā' | 'ă' | 'ą' => 'a',
        'ç' | 'ć' | 'č' => 'c',
        'ď' => 'd',
        'è'..='ë' | 'ē' | 'ę' | 'ě' => 'e',
        'ğ' => 'g',
        'ì'..='ï' | 'ī' => 'i',
        'ñ' | 'ń' | 'ň' => 'n',
        'ò'..='ö' | 'ō' | 'ő' => 'o',
        'ř' => 'r',
        'ś' | 'ş' | 'š' => 's',
        'ť' => 't',
        'ù'..='ü' | 'ū' | 'ů' | 'ű' => 'u',
        'ý' | 'ÿ' => 'y',
        'ź' | 'ż' | 'ž' => 'z',
        _ => letter,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str, limit: usize) -> Vec<u32> {
        let mut tokens = vec![7];
        tokenize(text, limit, &mut tokens);
        tokens
    }

    /// Returns the pieces of a text, without the first and the last token.
    fn pieces(text: &str) -> Vec<&'static str> {
        let tokens = tokens(text, MAX_TOKENS);
        let spelled = |token: &u32| {
            let index = WEIGHTS
                .tokens
                .iter()
                .position(|other| u32::from_le_bytes(*other) == *token)
                .unwrap();
            str::from_utf8(spelling(index)).unwrap()
        };
        tokens[1..tokens.len() - 1].iter().map(spelled).collect()
    }

    #[test]
    fn the_vocabulary_is_in_ascending_order() {
        for index in 1..VOCABULARY {
            assert!(spelling(index - 1) < spelling(index));
        }
        assert!(!spelling(0).is_empty());
    }

    #[test]
    fn words_become_their_longest_pieces() {
        assert_eq!(
            pieces("The tokenizer, unaffable"),
            ["the", "token", "##izer", ",", "una", "##ffa", "##ble"]
        );
        assert_eq!(pieces("naïve façade"), ["naive", "facade"]);
        assert_eq!(pieces("日本 #x"), ["日", "本", "#", "x"]);
        assert_eq!(pieces("🦀 ok"), ["[UNK]", "ok"]);
        assert_eq!(pieces(" \0\u{fffd}\n"), [""; 0]);
    }

    #[test]
    fn identifiers_are_split_into_words() {
        assert_eq!(pieces("tokenRefresh"), pieces("token refresh"));
        assert_eq!(pieces("HTTPServer"), pieces("HTTP server"));
        assert_eq!(pieces("read2Write"), pieces("read2 write"));
    }

    #[test]
    fn an_unknown_word_is_one_unknown_token() {
        assert_eq!(pieces("abc\u{10ffff}x").first(), Some(&"abc"));
        assert_eq!(pieces(&"a".repeat(MAX_WORD_LEN + 1)), ["[UNK]"]);
        assert_ne!(pieces(&"a".repeat(MAX_WORD_LEN)), ["[UNK]"]);
        assert_eq!(pieces("abcߐdef"), ["[UNK]"]);
    }

    #[test]
    fn there_are_never_more_tokens_than_the_limit() {
        for limit in [0, 1, 2, 3, 17, 256, 1_000] {
            let tokens = tokens(&"one ".repeat(2_000), limit);
            assert_eq!(tokens.len(), limit.clamp(2, 256));
            assert_eq!((tokens[0], tokens[tokens.len() - 1]), (OPENING, CLOSING));
        }
    }

    #[test]
    fn text_beyond_the_byte_limit_is_not_read() {
        for filler in [" ", "a", "\0", "漢"] {
            let text = filler.repeat(4 * BYTES_PER_TOKEN / filler.len() + 1);
            assert_eq!(tokens(&format!("{text} end"), 4), tokens(&text, 4));
        }
    }
}
