//! Finds the part of a text that matches a query best, and the positions of the query's words.

use std::ops::Range;

use backstory_text::stem;

/// Length of a snippet in characters.
const LENGTH: usize = 160;

/// Returns the part of a text with the most words of a query, on one line.
pub fn snippet(text: &str, words: &[String]) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    if starts.len() <= LENGTH {
        return text;
    }
    let matches = matches(&text, words);
    let window = |first: usize| {
        first
            ..starts
                .get(first + LENGTH)
                .copied()
                .map_or(starts.len(), |_| first + LENGTH)
    };
    let bytes =
        |chars: &Range<usize>| starts[chars.start]..starts.get(chars.end).copied().unwrap_or(text.len());
    let worth = |chars: &Range<usize>| {
        let bytes = bytes(chars);
        let inside = |found: &&Range<usize>| bytes.start <= found.start && found.end <= bytes.end;
        matches.iter().filter(inside).count()
    };
    // A window begins a little before a match, at the start of a word.
    let mut best = window(0);
    for found in matches.iter().take(64) {
        let at = starts.partition_point(|start| *start < found.start);
        let from = at.saturating_sub(LENGTH / 4);
        let begin = (from..=at)
            .find(|index| *index == 0 || text[..starts[*index]].ends_with(' '))
            .unwrap_or(at);
        let chars = window(begin);
        if worth(&chars) > worth(&best) {
            best = chars;
        }
    }
    let shown = bytes(&best);
    let end = match text[shown.clone()].rfind(' ') {
        Some(space) if shown.end < text.len() => shown.start + space,
        _ => shown.end,
    };
    let before = if shown.start > 0 { "…" } else { "" };
    let after = if end < text.len() { "…" } else { "" };
    format!("{before}{}{after}", &text[shown.start..end])
}

/// Finds the words of a query in a text.
pub fn matches(text: &str, words: &[String]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = None;
    for (at, letter) in text.char_indices().chain([(text.len(), ' ')]) {
        match (letter.is_alphanumeric(), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                let word = text[from..at].to_lowercase();
                if words.iter().any(|asked| is_like(&word, asked)) {
                    found.push(from..at);
                }
                start = None;
            }
            _ => {}
        }
    }
    found
}

/// Returns true if two words have the same stem, or one is a part of the identifier that the other is.
fn is_like(word: &str, asked: &str) -> bool {
    const MIN_PART: usize = 4;
    let asked = stem(asked);
    stem(word) == asked || (asked.len() >= MIN_PART && word.contains(asked))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_part_with_the_words_is_shown() {
        let text = format!(
            "{} the token is refreshed when it expired {}",
            "so it was ".repeat(40),
            "and more ".repeat(40)
        );
        let shown = snippet(&text, &words(&["refresh", "token"]));
        assert!(shown.contains("the token is refreshed"), "{shown}");
        assert!(shown.starts_with('…') && shown.ends_with('…'));
        assert!(shown.chars().count() <= LENGTH + 2);
    }

    #[test]
    fn a_short_text_is_shown_whole() {
        assert_eq!(snippet("a\n b", &[]), "a b");
        assert_eq!(snippet("", &words(&["x"])), "");
    }

    #[test]
    fn stems_and_parts_match() {
        let text = "Refreshing refreshToken and 令牌, tokens";
        let found: Vec<&str> = matches(text, &words(&["refresh", "token"]))
            .into_iter()
            .map(|range| &text[range])
            .collect();
        assert_eq!(found, ["Refreshing", "refreshToken", "tokens"]);
    }
}
