//! Splits a paragraph into sentences.

use super::Phrases;

/// Returns the sentences of a paragraph. Dots inside code spans, brackets, names and numbers do not end a sentence.
pub(crate) fn sentences(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut start = 0;
    let mut in_code = false;
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        match c {
            '`' => in_code = !in_code,
            _ if in_code => {}
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            '。' | '！' | '？' if depth == 0 => {
                push(&mut out, &text[start..end]);
                start = end;
            }
            '.' | '!' | '?' if depth == 0 && ends_sentence(&text[start..at], c, &text[end..]) => {
                push(&mut out, &text[start..end]);
                start = end;
            }
            _ => {}
        }
    }
    push(&mut out, &text[start..]);
    out
}

fn push<'a>(out: &mut Vec<&'a str>, piece: &'a str) {
    let piece = piece.trim();
    if piece.chars().any(char::is_alphanumeric) {
        out.push(piece);
    }
}

fn ends_sentence(before: &str, mark: char, after: &str) -> bool {
    if after.is_empty() {
        return true;
    }
    if !after.starts_with(char::is_whitespace) {
        return false;
    }
    let Some(next) = after.trim_start().chars().next() else {
        return true;
    };
    if mark != '.' {
        return true;
    }
    let word = before
        .rsplit(|c: char| c.is_whitespace() || c == '(')
        .next()
        .unwrap_or_default()
        .to_lowercase();
    let is_initial = word.chars().count() == 1 && word.chars().all(char::is_alphabetic);
    if is_initial || ABBREVIATIONS.contains(word.as_str()) {
        return false;
    }
    // "…without a word. jsdom lacks it": a name may begin a sentence in lower case.
    let ordinary_word = word.len() >= 4 && word.chars().all(char::is_alphabetic);
    !next.is_lowercase() || ordinary_word
}

static ABBREVIATIONS: Phrases = Phrases::new("e.g|i.e|etc|vs|cf|approx|incl|excl|resp|mr|mrs|dr|fig|no");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_in_names_numbers_and_code_end_nothing() {
        for (given, wanted) in [
            ("One. Two! Three?", vec!["One.", "Two!", "Three?"]),
            (
                "Uses a.b.c in v1.2.3 now. Next one.",
                vec!["Uses a.b.c in v1.2.3 now.", "Next one."],
            ),
            ("See `x. Y` there. Done.", vec!["See `x. Y` there.", "Done."]),
            ("Formats, e.g. JSON, work.", vec!["Formats, e.g. JSON, work."]),
            (
                "It (see above. Or not) holds.",
                vec!["It (see above. Or not) holds."],
            ),
            (
                "Nothing is lost. jsdom lacks it.",
                vec!["Nothing is lost.", "jsdom lacks it."],
            ),
            ("一つ目。二つ目。", vec!["一つ目。", "二つ目。"]),
            ("...", vec![]),
        ] {
            assert_eq!(sentences(given), wanted, "{given}");
        }
    }
}
