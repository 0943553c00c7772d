//! Finds the passage of a text that answers a query, and the positions of the query's words.

use std::{collections::HashMap, ops::Range};

use backstory_text::{split, stem};

/// Length of a snippet in bytes: about 200 tokens, enough to hold an answer and its surroundings.
const LENGTH: usize = 800;

/// Maximum length of a unit. Lines up to this length are never cut.
const MAX_UNIT: usize = 300;

/// Returns the passage with the most words of a query, cut at the ends of lines or sentences.
///
/// A word that occurs all over the text weighs less than one that occurs once. Lines stay lines; blank ones are dropped.
pub fn snippet(text: &str, words: &[String]) -> String {
    passage(text, words, LENGTH)
}

/// Returns the passage of a given length with the most words of a query.
pub(crate) fn passage(text: &str, words: &[String], length: usize) -> String {
    let units = units(text);
    let mut shown = densest(&units, words, length);
    let size = |range: &Range<usize>| {
        units[range.clone()]
            .iter()
            .map(|unit| unit.text.len() + 1)
            .sum::<usize>()
    };
    // One unit before for orientation, then all that follows, then more from before.
    for steps_back in [1, usize::MAX] {
        for _ in 0..steps_back.min(shown.start) {
            let wider = shown.start - 1..shown.end;
            if size(&wider) > length {
                break;
            }
            shown = wider;
        }
        while shown.end < units.len() && size(&(shown.start..shown.end + 1)) <= length {
            shown.end += 1;
        }
    }
    let mut out = String::new();
    if shown.start > 0 {
        out.push('…');
    }
    for (at, unit) in units[shown.clone()].iter().enumerate() {
        if at > 0 {
            out.push(if unit.begins_line { '\n' } else { ' ' });
        }
        out.push_str(unit.text);
    }
    if shown.end < units.len() {
        out.push('…');
    }
    out
}

/// A line, or a part of a long line.
struct Unit<'t> {
    text: &'t str,
    begins_line: bool,
}

fn units(text: &str) -> Vec<Unit<'_>> {
    let mut units = Vec::new();
    for line in text.lines() {
        for (at, text) in split(line.trim_end(), MAX_UNIT).into_iter().enumerate() {
            units.push(Unit {
                text,
                begins_line: at == 0,
            });
        }
    }
    units
}

/// Returns the shortest range of units within a length that has the greatest weight of words.
fn densest(units: &[Unit<'_>], words: &[String], length: usize) -> Range<usize> {
    let stems = Stems::of(words);
    let found: Vec<Vec<usize>> = units.iter().map(|unit| stems.found_in(unit.text)).collect();
    let mut counts: HashMap<usize, f64> = HashMap::new();
    for word in found.iter().flatten() {
        *counts.entry(*word).or_default() += 1.0;
    }
    let mut best = 0..usize::from(!units.is_empty());
    let (mut best_weight, mut best_size) = (0.0, 0);
    for start in (0..units.len()).filter(|start| !found[*start].is_empty()) {
        let (mut seen, mut weight, mut size) = (Vec::new(), 0.0, 0);
        for end in start..units.len() {
            size += units[end].text.len() + 1;
            if size > length && end > start {
                break;
            }
            for word in &found[end] {
                if !seen.contains(word) {
                    seen.push(*word);
                    weight += 1.0 / (1.0 + counts[word].ln());
                }
            }
            let is_equal = (weight - best_weight).abs() < 1e-9;
            if weight > best_weight && !is_equal || is_equal && size < best_size {
                (best, best_weight, best_size) = (start..end + 1, weight, size);
            }
        }
    }
    best
}

/// Length of the passage in which the words of a query must meet to count together, in bytes: a few sentences, or ten lines of
/// code.
const NEAR: usize = 500;

/// Returns the greatest weight of different words of a query that meet in one passage of a text.
///
/// A long document has many words somewhere; an answer has them in one place.
pub(crate) fn best_passage_weight(text: &str, words: &[(String, f64)]) -> f64 {
    /// Longer texts are judged by their start: this runs for every candidate of a search.
    const MAX_READ: usize = 16 << 10;
    let text = &text[..text.floor_char_boundary(MAX_READ)];
    let found = occurrences(text, words);
    let mut counts = vec![0_u32; words.len()];
    let (mut weight, mut best, mut first) = (0.0, 0.0_f64, 0);
    for (at, word) in &found {
        if counts[*word] == 0 {
            weight += words[*word].1;
        }
        counts[*word] += 1;
        while found[first].0 + NEAR < *at {
            let left = found[first].1;
            counts[left] -= 1;
            if counts[left] == 0 {
                weight -= words[left].1;
            }
            first += 1;
        }
        best = best.max(weight);
    }
    best
}

/// Returns the positions of the words of a query, in order. A part of a name in camel case counts too.
fn occurrences(text: &str, words: &[(String, f64)]) -> Vec<(usize, usize)> {
    const MIN_PART: usize = 4;
    let stems: Vec<&str> = words.iter().map(|(word, _)| stem(word)).collect();
    let mut lower = String::new();
    let mut found = Vec::new();
    each_word(text, |range| {
        let word = &text[range.clone()];
        lower.clear();
        lower.extend(word.chars().flat_map(char::to_lowercase));
        let own = stem(&lower);
        let is_name = word.chars().skip(1).any(char::is_uppercase);
        for (index, asked) in stems.iter().enumerate() {
            if own == *asked || is_name && asked.len() >= MIN_PART && lower.contains(asked) {
                found.push((range.start, index));
            }
        }
    });
    found
}

/// Finds the words of a query in a text.
pub fn matches(text: &str, words: &[String]) -> Vec<Range<usize>> {
    let stems = Stems::of(words);
    let mut found = Vec::new();
    each_word(text, |range| {
        if stems.position(&text[range.clone()]).is_some() {
            found.push(range);
        }
    });
    found
}

/// Stems of the words of a query.
struct Stems<'w>(Vec<&'w str>);

impl<'w> Stems<'w> {
    fn of(words: &'w [String]) -> Self {
        Self(words.iter().map(|word| stem(word)).collect())
    }

    /// Returns the query word that has the same stem, or is a part of the identifier that the other is.
    fn position(&self, word: &str) -> Option<usize> {
        const MIN_PART: usize = 4;
        let word = word.to_lowercase();
        let own = stem(&word);
        self.0
            .iter()
            .position(|asked| own == *asked || (asked.len() >= MIN_PART && word.contains(asked)))
    }

    /// Returns the query words of a text, each once.
    fn found_in(&self, text: &str) -> Vec<usize> {
        let mut found = Vec::new();
        each_word(text, |range| {
            if let Some(word) = self.position(&text[range])
                && !found.contains(&word)
            {
                found.push(word);
            }
        });
        found
    }
}

fn each_word(text: &str, mut take: impl FnMut(Range<usize>)) {
    let mut start = None;
    for (at, letter) in text.char_indices().chain([(text.len(), ' ')]) {
        match (letter.is_alphanumeric(), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                take(from..at);
                start = None;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_passage_with_the_words_is_shown_in_whole_sentences() {
        let text = format!(
            "{}The refresh token expires after 30 days. It is rotated on use. {}",
            "So it was decided then. ".repeat(80),
            "And there is more to say. ".repeat(80)
        );
        let shown = snippet(&text, &words(&["refresh", "token", "expire"]));
        assert!(
            shown.contains("The refresh token expires after 30 days. It is rotated on use."),
            "{shown}"
        );
        assert!(
            shown.starts_with("…So it was decided") && shown.ends_with(".…"),
            "{shown}"
        );
        assert!(shown.len() <= LENGTH + 2 * '…'.len_utf8());
    }

    #[test]
    fn lines_stay_lines_and_rare_words_decide() {
        let line = "retry of the upload\n";
        let text = format!("{0}the deadline of a retry is 30 s\n{0}", line.repeat(60));
        let shown = snippet(&text, &words(&["retry", "deadline", "upload"]));
        assert!(shown.contains("\nthe deadline of a retry is 30 s\n"), "{shown}");
    }

    #[test]
    fn a_short_text_is_shown_whole() {
        assert_eq!(snippet("a\n\n b", &[]), "a\nb");
        assert_eq!(snippet("", &words(&["x"])), "");
        let endless = "x".repeat(5_000);
        assert!(snippet(&endless, &words(&["y"])).len() <= LENGTH + 3);
    }

    #[test]
    fn words_count_together_where_they_meet() {
        let words = [("retry".to_owned(), 2.0), ("deadline".to_owned(), 3.0)];
        let apart = format!("retry {} deadline", "word ".repeat(200));
        let weight = |text: &str| best_passage_weight(text, &words);
        for (text, expected) in [
            ("", 0.0),
            ("nothing of it", 0.0),
            ("retries, and retries again", 2.0),
            (apart.as_str(), 3.0),
            ("the deadline of a retry", 5.0),
            ("fn retryDeadline() {}", 5.0),
        ] {
            assert!((weight(text) - expected).abs() < 1e-9, "{text}: {}", weight(text));
        }
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
