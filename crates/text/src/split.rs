/// Splits a text into parts of at most `max_bytes`, or of one character if that is longer.
///
/// Each is cut at the end of a paragraph, a line, a sentence or a word, in that order of preference. The parts in order
/// are the text, without blanks at the cuts.
pub fn split(text: &str, max_bytes: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text.trim();
    while rest.len() > max_bytes {
        let first = rest.chars().next().map_or(1, char::len_utf8);
        let window = &rest[..rest.floor_char_boundary(max_bytes.max(first))];
        let cut = cut_at(window);
        let (part, after) = rest.split_at(cut);
        parts.push(part.trim_end());
        rest = after.trim_start_matches(['\n', ' ', '\t', '\r']);
    }
    if !rest.is_empty() {
        parts.push(rest);
    }
    parts
}

/// Returns the best place to cut within a window, in its second half where there is one.
fn cut_at(window: &str) -> usize {
    let half = window.floor_char_boundary(window.len() / 2);
    for end in ["\n\n", "\n", ". ", " "] {
        if let Some(at) = window[half..].rfind(end) {
            return half + at + end.len();
        }
    }
    // A window without a single boundary, such as encoded data.
    window.len()
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn a_short_text_is_one_part() {
        assert_eq!(split("one line", 100), ["one line"]);
        assert_eq!(split("  ", 100), [""; 0]);
    }

    #[test]
    fn a_long_text_is_cut_at_lines() {
        let text = "first line is here\nsecond line is here\nthird line is here";
        assert_eq!(
            split(text, 40),
            ["first line is here\nsecond line is here", "third line is here"]
        );
    }

    #[test]
    fn a_character_longer_than_the_limit_is_a_part_of_its_own() {
        assert_eq!(split("é💡a", 1), ["é", "💡", "a"]);
        assert_eq!(split("漢字", 0), ["漢", "字"]);
        assert_eq!(split("💡 💡", 3), ["💡", "💡"]);
    }

    #[test]
    fn every_word_is_in_some_part() {
        let text = "é".repeat(5_000) + " " + &"word ".repeat(2_000);
        let parts = split(&text, 100);
        assert!(parts.iter().all(|part| part.len() <= 100));
        let joined: String = parts.concat().split_whitespace().collect();
        assert_eq!(joined, text.split_whitespace().collect::<String>());
    }
}
