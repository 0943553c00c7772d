//! Phrase tables and how they match: lower case, at word boundaries.

use std::sync::OnceLock;

/// A table of lower-case phrases, separated by `|`.
pub(crate) struct Phrases {
    text: &'static str,
    table: OnceLock<Table>,
}

struct Table {
    phrases: Vec<&'static str>,
    /// The phrases by their first letter: most words of a text are ruled out by it.
    by_initial: [Vec<&'static str>; INITIALS],
}

/// One for each letter, and one for all other characters.
const INITIALS: usize = 27;

impl Phrases {
    /// Makes a table; it is split when it is first used.
    pub(crate) const fn new(text: &'static str) -> Self {
        Self {
            text,
            table: OnceLock::new(),
        }
    }

    fn table(&self) -> &Table {
        self.table.get_or_init(|| {
            let phrases: Vec<&str> = self.text.split('|').collect();
            let mut by_initial = [const { Vec::new() }; INITIALS];
            for phrase in &phrases {
                by_initial[initial(phrase)].push(*phrase);
            }
            Table { phrases, by_initial }
        })
    }

    /// Reports whether a phrase is in the table.
    pub(crate) fn contains(&self, phrase: &str) -> bool {
        self.candidates(phrase).contains(&phrase)
    }

    /// Returns all phrases.
    pub(crate) fn list(&self) -> &[&'static str] {
        &self.table().phrases
    }

    /// Returns the phrase that a text starts with; the text is lower case.
    pub(crate) fn at_start(&self, lower: &str) -> Option<&'static str> {
        self.candidates(lower)
            .iter()
            .copied()
            .filter(|phrase| {
                lower.starts_with(phrase)
                    && (!ends_in_word(phrase) || !starts_with_word(&lower[phrase.len()..]))
            })
            .max_by_key(|phrase| phrase.len())
    }

    /// Reports whether a text starts with a phrase; the text is lower case.
    pub(crate) fn starts(&self, lower: &str) -> bool {
        self.at_start(lower).is_some()
    }

    /// Reports whether a text contains a phrase at word boundaries; the text is lower case.
    ///
    /// Tries all phrases at each word start, which is much faster than a search of the text per phrase.
    pub(crate) fn within(&self, lower: &str) -> bool {
        let bytes = lower.as_bytes();
        let mut in_word = false;
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            // Almost all text is ASCII; decoding every character would cost more than the comparison.
            let (is_word, length) = if byte.is_ascii() {
                (byte.is_ascii_alphanumeric() || *byte == b'_', 1)
            } else {
                let c = lower[at..].chars().next().unwrap_or_default();
                (c.is_alphanumeric(), c.len_utf8())
            };
            if is_word && !in_word && self.is_at(&lower[at..]) {
                return true;
            }
            in_word = is_word;
            at += length;
        }
        false
    }
}

impl Phrases {
    fn is_at(&self, rest: &str) -> bool {
        self.candidates(rest).iter().any(|phrase| {
            rest.as_bytes().starts_with(phrase.as_bytes())
                && (!ends_in_word(phrase) || !starts_with_word(&rest[phrase.len()..]))
        })
    }

    /// Returns the phrases that a text may start with.
    fn candidates(&self, rest: &str) -> &[&'static str] {
        &self.table().by_initial[initial(rest)]
    }
}

/// Returns the position of a text's first letter; all other characters share one.
fn initial(text: &str) -> usize {
    match text.bytes().next() {
        Some(letter) if letter.is_ascii_lowercase() => usize::from(letter - b'a'),
        _ => INITIALS - 1,
    }
}

/// Returns the beginning of a text in lower case, enough for matching an opening.
pub(crate) fn lower_head(text: &str) -> String {
    const OPENING_BYTES: usize = 80;
    let head = &text[..text.floor_char_boundary(OPENING_BYTES)];
    if head.is_ascii() {
        head.to_ascii_lowercase()
    } else {
        head.replace('’', "'").to_lowercase()
    }
}

fn starts_with_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphanumeric() || c == '_')
}

fn ends_in_word(text: &str) -> bool {
    text.ends_with(|c: char| c.is_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_match_whole_words_only() {
        let table = Phrases::new("fix|let me|good -");
        assert!(table.starts("fix the parser"));
        assert!(!table.starts("fixture is gone"));
        assert!(table.starts("good - done"));
        assert!(table.within("so let me see"));
        assert!(!table.within("outlet meter"));
    }
}
