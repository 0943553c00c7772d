//! Phrase tables and how they match: lower case, at word boundaries.

use std::sync::OnceLock;

/// A table of lower-case phrases, separated by `|`.
pub(crate) struct Phrases {
    text: &'static str,
    table: OnceLock<Table>,
}

struct Table {
    phrases: Vec<&'static str>,
    /// The first letters of all phrases, one bit each: most words of a text are ruled out by it.
    initials: u32,
}

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
            let initials = phrases
                .iter()
                .filter_map(|phrase| phrase.bytes().next())
                .map(initial);
            Table {
                initials: initials.fold(0, |all, bit| all | bit),
                phrases,
            }
        })
    }

    /// Reports whether a phrase is in the table.
    pub(crate) fn contains(&self, phrase: &str) -> bool {
        self.list().contains(&phrase)
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
        word_starts(lower).any(|at| {
            let rest = &lower[at..];
            self.candidates(rest).iter().any(|phrase| {
                rest.as_bytes().starts_with(phrase.as_bytes())
                    && (!ends_in_word(phrase) || !starts_with_word(&rest[phrase.len()..]))
            })
        })
    }
}

impl Phrases {
    /// Returns the phrases that a text may start with: all of them, or none.
    fn candidates(&self, rest: &str) -> &[&'static str] {
        let table = self.table();
        let is_possible = rest
            .bytes()
            .next()
            .is_some_and(|first| table.initials & initial(first) != 0);
        if is_possible { &table.phrases } else { &[] }
    }
}

/// Returns the bit of a letter; all other bytes share one.
const fn initial(byte: u8) -> u32 {
    const OTHER: u8 = 31;
    let bit = if byte.is_ascii_lowercase() {
        byte - b'a'
    } else {
        OTHER
    };
    1 << bit
}

fn word_starts(text: &str) -> impl Iterator<Item = usize> {
    let mut in_word = false;
    text.char_indices().filter_map(move |(at, c)| {
        let is_word = c.is_alphanumeric() || c == '_';
        let starts = is_word && !in_word;
        in_word = is_word;
        starts.then_some(at)
    })
}

/// Returns the beginning of a text in lower case, enough for matching an opening.
pub(crate) fn lower_head(text: &str) -> String {
    const OPENING_BYTES: usize = 80;
    text[..text.floor_char_boundary(OPENING_BYTES)]
        .replace('’', "'")
        .to_lowercase()
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
