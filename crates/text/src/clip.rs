//! Shortens text for display.

use std::borrow::Cow;

/// Shortens a text to at most `max_chars` characters.
///
/// A text that fits is returned unchanged. A longer one ends after its last whole sentence or line if that keeps more than
/// half of the space, and gets no mark; otherwise it ends after a word, with `…`. A code span is never left open.
pub fn clip(text: &str, max_chars: usize) -> Cow<'_, str> {
    let Some(head) = overlong_head(text, max_chars) else {
        return Cow::Borrowed(text);
    };
    match sentence_end(text, head.len()) {
        Some(end) if end * 2 > head.len() => Cow::Borrowed(&text[..end]),
        _ => Cow::Owned(clip_at_word(text, max_chars)),
    }
}

/// Puts a text on one line of at most `width` characters: line breaks and control characters become spaces, characters
/// that hide others go, and a longer line ends after a word, with `…`.
pub fn one_line(text: &str, width: usize) -> String {
    // Most titles are such a line already.
    if text.len() <= width && text.trim() == text && !text.contains("  ") && is_printable(text) {
        return text.to_owned();
    }
    // Reading only a little more than fits keeps this cheap for a prompt of a megabyte.
    let start: String = text
        .chars()
        .filter(|&c| !is_invisible(c))
        .take(width * 2)
        .collect();
    let words = start
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty());
    let line = words.collect::<Vec<_>>().join(" ");
    if overlong_head(&line, width).is_some() {
        clip_at_word(&line, width)
    } else {
        line
    }
}

/// Reports whether a character is invisible or changes how its neighbors are displayed, which can deceive a reader.
pub fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

fn is_printable(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// Returns the first characters of a text that has more than `max_chars` of them.
fn overlong_head(text: &str, max_chars: usize) -> Option<&str> {
    // A character has at least one byte.
    if text.len() <= max_chars {
        return None;
    }
    let (end, _) = text.char_indices().nth(max_chars)?;
    Some(&text[..end])
}

/// Returns the end of the last sentence or line that ends within the first `limit` bytes.
fn sentence_end(text: &str, limit: usize) -> Option<usize> {
    let ends = text[..limit].rmatch_indices(['.', '!', '?', '。', '\n']);
    let mut ends = ends.filter_map(|(at, mark)| {
        let end = if mark == "\n" { at } else { at + mark.len() };
        let (before, after) = (&text[..at], &text[end..]);
        let is_end = match mark {
            "。" => true,
            "." => after.starts_with(char::is_whitespace) && !is_abbreviation(before),
            _ => after.starts_with(char::is_whitespace),
        };
        (is_end && !is_in_code(before)).then(|| text[..end].trim_end().len())
    });
    ends.next()
}

/// Reports whether the word before a period is abbreviated, or is the number of a list item.
fn is_abbreviation(before: &str) -> bool {
    let word = before.rsplit(|c: char| c.is_whitespace() || c == '(').next();
    let word = word.unwrap_or_default();
    matches!(word, "e.g" | "i.e" | "etc" | "vs" | "cf" | "approx")
        || word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Cuts an overlong text after a word and marks the cut.
fn clip_at_word(text: &str, max_chars: usize) -> String {
    let Some(room) = max_chars.checked_sub(1) else {
        return String::new();
    };
    let end = text.char_indices().nth(room).map_or(text.len(), |(at, _)| at);
    let head = &text[..end];
    let ends_here = text[end..].starts_with(char::is_whitespace);
    // A word that fills more than half of the space is cut itself.
    let word_end = head.rfind(char::is_whitespace).filter(|at| at * 2 > end);
    let mut cut = match word_end {
        Some(at) if !ends_here => at,
        _ => end,
    };
    let mut close = "";
    if is_in_code(&text[..cut]) {
        match text[..cut].rfind('`') {
            Some(span) if span * 2 > end => cut = span,
            // The mark and the closing delimiter take one character each.
            _ if room > 1 => {
                close = "`";
                if text[..cut].chars().count() == room {
                    cut = text.char_indices().nth(room - 1).map_or(cut, |(at, _)| at);
                }
            }
            _ => {}
        }
    }
    let kept = text[..cut].trim_end_matches([' ', '\n', '\t', '.', ',', ';', ':', '-', '–', '—', '(']);
    if kept.is_empty() {
        return format!("{head}…");
    }
    format!("{kept}…{close}")
}

/// Reports whether a text ends inside a code span.
fn is_in_code(text: &str) -> bool {
    text.bytes().filter(|byte| *byte == b'`').count() % 2 == 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_ends_after_a_sentence_or_else_a_word() {
        for (text, max, expected) in [
            ("short", 5, "short"),
            ("One is here. Two is there.", 20, "One is here."),
            ("One. Two is a very long sentence.", 20, "One. Two is a very…"),
            ("One is here\nTwo is there", 20, "One is here"),
            ("Use a flag, e.g. this one here", 20, "Use a flag, e.g…"),
            ("Steps to do: 1. first, 2. second", 25, "Steps to do: 1. first…"),
            ("Please set it in src/main.rs and run", 24, "Please set it in…"),
            ("one two three", 9, "one two…"),
            ("one two three", 8, "one two…"),
            ("ääää öööö üüüü", 10, "ääää öööö…"),
            ("words, and more words", 8, "words…"),
            ("0123456789abcdef", 8, "0123456…"),
            ("a b", 0, ""),
        ] {
            assert_eq!(clip(text, max), expected);
        }
    }

    #[test]
    fn a_code_span_is_never_left_open() {
        assert_eq!(clip("now please call `a long span` here", 22), "now please call…");
        assert_eq!(
            clip("run `cargo test --workspace --all`", 18),
            "run `cargo test…`"
        );
        assert_eq!(clip("`0123456789abcdef`", 8), "`01234…`");
    }

    #[test]
    fn text_from_a_session_becomes_one_harmless_line() {
        assert_eq!(one_line("  two\n\twords \u{1b}[31m ", 40), "two words [31m");
        assert_eq!(one_line("a\u{202e}b\u{200b}c", 40), "abc");
        assert_eq!(one_line("", 40), "");
        assert_eq!(one_line("one two three", 13), "one two three");
        assert_eq!(one_line("one two three", 12), "one two…");
        assert_eq!(one_line("One two. Three.", 12), "One two…");
        assert_eq!(one_line("0123456789abcdef", 8), "0123456…");
    }

    proptest! {
        #[test]
        fn nothing_exceeds_its_limit(text in "[a-z` .é\n]{0,80}", max in 0usize..60) {
            prop_assert!(clip(&text, max).chars().count() <= max);
            prop_assert!(one_line(&text, max).chars().count() <= max);
        }
    }
}
