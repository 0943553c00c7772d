//! Phrase tables and how they match: lower case, at word boundaries.

/// A table of lower-case phrases.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Phrases(pub(crate) &'static [&'static str]);

impl Phrases {
    /// Returns the phrase that a text starts with; the text is lower case.
    pub(crate) fn at_start(self, lower: &str) -> Option<&'static str> {
        self.0
            .iter()
            .copied()
            .filter(|phrase| {
                lower.starts_with(phrase) && (!ends_in_word(phrase) || !starts_with_word(&lower[phrase.len()..]))
            })
            .max_by_key(|phrase| phrase.len())
    }

    /// Reports whether a text starts with a phrase; the text is lower case.
    pub(crate) fn starts(self, lower: &str) -> bool {
        self.at_start(lower).is_some()
    }

    /// Reports whether a text contains a phrase at word boundaries; the text is lower case.
    pub(crate) fn within(self, lower: &str) -> bool {
        self.0.iter().any(|phrase| find_phrase(lower, phrase).is_some())
    }
}

/// Returns the beginning of a text in lower case, enough for matching an opening.
pub(crate) fn lower_head(text: &str) -> String {
    const OPENING_BYTES: usize = 80;
    text[..text.floor_char_boundary(OPENING_BYTES)]
        .replace('’', "'")
        .to_lowercase()
}

fn find_phrase(lower: &str, phrase: &str) -> Option<usize> {
    lower
        .match_indices(phrase)
        .map(|(at, _)| at)
        .find(|&at| {
            let before = &lower[..at];
            let after = &lower[at + phrase.len()..];
            !(starts_with_word(phrase) && ends_in_word(before)) && !(ends_in_word(phrase) && starts_with_word(after))
        })
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
        let table = Phrases(&["fix", "let me", "good -"]);
        assert!(table.starts("fix the parser"));
        assert!(!table.starts("fixture is gone"));
        assert!(table.starts("good - done"));
        assert!(table.within("so let me see"));
        assert!(!table.within("outlet meter"));
    }
}
