//! Small questions about text: cleaning, cutting at a boundary, names in it, likeness of two pieces.

/// Removes markdown decoration, links, check marks and control characters; keeps backticks and what is inside them.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_code = false;
    let mut bold = Bold::default();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if c == '`' {
            // A run of backticks is one delimiter: ``x`` reads as `x`.
            let run = rest.len() - rest.trim_start_matches('`').len();
            in_code = !in_code;
            out.push('`');
            rest = &rest[run..];
            continue;
        }
        let after = &rest[c.len_utf8()..];
        if !in_code {
            if let Some(tail) = rest.strip_prefix("**")
                && bold.delimits(&out, tail)
            {
                rest = tail;
                continue;
            }
            if c == '['
                && let Some((label, tail)) = link(after)
            {
                out.push_str(&plain(label));
                rest = tail;
                continue;
            }
            if is_mark(c) {
                rest = after;
                continue;
            }
        }
        push_visible(&mut out, c);
        rest = after;
    }
    if in_code {
        out = out.replace('`', "");
    }
    out.trim().to_owned()
}

/// Tells the stars of bold text from those of `x**2`.
#[derive(Default)]
struct Bold {
    open: bool,
}

impl Bold {
    fn delimits(&mut self, before: &str, after: &str) -> bool {
        let edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && !matches!(c, ')' | '(' | '_'));
        if self.open {
            self.open = false;
            return true;
        }
        let opens = edge(before.chars().next_back()) && after.starts_with(|c: char| !c.is_whitespace());
        let closes = after
            .find("**")
            .is_some_and(|at| edge(after[at + 2..].chars().next()) && !after[..at].ends_with(' '));
        self.open = opens && closes;
        self.open
    }
}

fn push_visible(out: &mut String, c: char) {
    if c.is_whitespace() {
        if !out.ends_with(' ') {
            out.push(' ');
        }
    } else if !c.is_control() && !is_invisible(c) {
        out.push(c);
    }
}

const fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fe0f}')
}

/// Whether a character is a check mark, an emoji or a bullet: decoration in front of a claim.
pub(super) const fn is_mark(c: char) -> bool {
    matches!(
        c,
        '✅' | '✓'
            | '✔'
            | '❌'
            | '✗'
            | '✘'
            | '⚠'
            | '•'
            | '🎉'
            | '🔴'
            | '🟢'
            | '🔵'
            | '🟡'
            | '⚪'
            | '➜'
            | '☑'
            | '\u{1f300}'..='\u{1faff}'
    )
}

/// `label](target)tail` -> (label, tail).
fn link(after: &str) -> Option<(&str, &str)> {
    let close = after.find(']').filter(|&at| at < 200)?;
    let tail = after[close + 1..].strip_prefix('(')?;
    let end = tail.find(')').filter(|&at| at < 400)?;
    Some((&after[..close], &tail[end + 1..]))
}

/// Cuts to at most `max` characters at a word boundary, never inside a code span, and marks the cut.
pub(super) fn clip(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    let limit = max.saturating_sub(1);
    let end = text.char_indices().nth(limit).map_or(text.len(), |(at, _)| at);
    let whole = text[end..].starts_with(char::is_whitespace);
    let mut cut = if whole {
        end
    } else {
        text[..end].rfind(char::is_whitespace).unwrap_or(end)
    };
    if !is_outside_code(text, cut) {
        cut = text[..cut].rfind('`').unwrap_or(cut);
    }
    let kept = text[..cut].trim_end_matches([' ', ',', ';', ':', '-', '–', '—', '(']);
    if kept.is_empty() {
        return text[..end].replace('`', "") + "…";
    }
    format!("{kept}…")
}

/// The first bytes of a text, at most `max`, at a character boundary.
pub(super) fn head(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

/// The last bytes of a text, at most `max`, at a character boundary.
pub(super) fn tail(text: &str, max: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(max))..]
}

/// Upper-cases the first letter unless the text starts with a name.
pub(super) fn sentence_case(text: &str) -> String {
    let first_word = text.split_whitespace().next().unwrap_or_default();
    let mut chars = text.chars();
    match chars.next() {
        Some(c) if c.is_lowercase() && !is_name(first_word) => {
            c.to_uppercase().collect::<String>() + chars.as_str()
        }
        _ => text.to_owned(),
    }
}

/// Lower-cases the first letter of an ordinary word, for the middle of a sentence.
pub(super) fn lower_first(text: &str) -> String {
    let first_word = text.split_whitespace().next().unwrap_or_default();
    let ordinary = first_word.len() > 1
        && first_word
            .chars()
            .skip(1)
            .all(|c| c.is_lowercase() || matches!(c, ',' | '\''));
    let article = first_word == "A";
    let mut chars = text.chars();
    match chars.next() {
        Some(c) if ordinary || article => c.to_lowercase().collect::<String>() + chars.as_str(),
        _ => text.to_owned(),
    }
}

/// Whether a word is a name of code: `snake_case`, `CamelCase`, `a.b`, `a/b`, `a::b`, `f()`, `--flag`.
pub(super) fn is_name(word: &str) -> bool {
    let word = word
        .trim_matches(|c: char| matches!(c, ',' | ';' | ':' | '!' | '?' | '"' | '\''))
        .trim_start_matches('(')
        .trim_end_matches('.');
    if word.starts_with('`') || word.ends_with("()") {
        return true;
    }
    if matches!(word, "e.g" | "i.e" | "etc") {
        return false;
    }
    if word.starts_with("--") && word.len() > 3 {
        return true;
    }
    let word = word.trim_end_matches(')');
    let Some(first) = word.chars().next() else {
        return false;
    };
    if !(first.is_alphabetic() || matches!(first, '_' | '/' | '.' | '@')) {
        return false;
    }
    if word.contains('_') || word.contains("::") || word.ends_with('(') {
        return true;
    }
    let mut lower_seen = false;
    let mut before = ' ';
    for c in word.chars() {
        if c.is_uppercase() && lower_seen {
            return true;
        }
        if c.is_alphanumeric() && (before == '.' || (before == '/' && word.contains('.'))) {
            return true;
        }
        lower_seen |= c.is_lowercase();
        before = c;
    }
    false
}

/// Counts the names of code in a text, code spans first.
pub(super) fn count_names(text: &str) -> usize {
    let spans = text.matches('`').count() / 2;
    let bare = text
        .split('`')
        .step_by(2)
        .flat_map(str::split_whitespace)
        .filter(|word| is_name(word))
        .count();
    spans + bare
}

/// Whether a position is outside of code spans.
pub(super) fn is_outside_code(text: &str, at: usize) -> bool {
    text.as_bytes()[..at]
        .iter()
        .filter(|byte| **byte == b'`')
        .count()
        .is_multiple_of(2)
}

/// A text without what stands in brackets.
pub(super) fn outside_brackets(text: &str) -> String {
    let mut depth = 0_usize;
    text.chars()
        .filter(|c| {
            match c {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => return depth == 0,
            }
            false
        })
        .collect()
}

/// The words outside of code spans.
pub(super) fn without_code(text: &str) -> String {
    text.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

/// The contents of the code spans of a text.
pub(super) fn code_spans(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Whether a text holds a phrase at word boundaries; both in lower case.
pub(super) fn has_phrase(lower: &str, phrase: &str) -> bool {
    let mut from = 0;
    while let Some(at) = lower[from..].find(phrase).map(|at| at + from) {
        let before = lower[..at]
            .chars()
            .next_back()
            .is_none_or(|c| !c.is_alphanumeric());
        let after = lower[at + phrase.len()..]
            .chars()
            .next()
            .is_none_or(|c| !c.is_alphanumeric());
        if before && after {
            return true;
        }
        from = at + phrase.len().max(1);
        if from >= lower.len() || !lower.is_char_boundary(from) {
            return false;
        }
    }
    false
}

/// Whether a text holds one of several phrases at word boundaries; the phrases are separated by `|`.
pub(super) fn has_any(lower: &str, phrases: &str) -> bool {
    phrases.split('|').any(|phrase| has_phrase(lower, phrase))
}

/// Whether a text starts with one of several openings, separated by `|`.
pub(super) fn starts_with_any(lower: &str, openings: &str) -> bool {
    openings.split('|').any(|opening| lower.starts_with(opening))
}

/// A text as a code span: backticks inside it are dropped.
pub(super) fn code(text: &str) -> String {
    format!("`{}`", text.replace('`', "'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoration_goes_and_code_stays() {
        for (given, wanted) in [
            ("**Bold** and `**kwargs`", "Bold and `**kwargs`"),
            ("✅ All  tests\tpass", "All tests pass"),
            ("see [the docs](https://x.y/z) now", "see the docs now"),
            ("``__init__`` stays", "`__init__` stays"),
            ("cos(x)**I and **kw", "cos(x)**I and **kw"),
            ("an `open span", "an open span"),
            ("bell\u{7} and \u{202e}tricks", "bell and tricks"),
        ] {
            assert_eq!(plain(given), wanted);
        }
    }

    #[test]
    fn a_cut_is_never_inside_a_word_or_a_code_span() {
        assert_eq!(clip("one two three", 9), "one two…");
        assert_eq!(clip("call `a long code span` here", 16), "call…");
        assert_eq!(clip("short", 10), "short");
        assert_eq!(clip("ääää öööö üüüü", 10), "ääää öööö…");
    }

    #[test]
    fn names_are_told_from_words() {
        for name in [
            "snake_case",
            "CamelCase",
            "a.b",
            "src/main.rs",
            "std::fs",
            "parse()",
            "--json",
            "`x`",
            "__init__",
        ] {
            assert!(is_name(name), "{name}");
        }
        for word in ["word", "Word", "e.g.", "end.", "and/or", "-", "3.4", "I"] {
            assert!(!is_name(word), "{word}");
        }
    }
}
