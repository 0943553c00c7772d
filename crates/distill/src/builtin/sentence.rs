//! From a paragraph to its sentences.

/// Splits plain text into sentences; dots inside code spans, names, numbers and abbreviations end nothing.
pub(super) fn sentences(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut start = 0;
    let mut in_code = false;
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '`' => in_code = !in_code,
            _ if in_code => {}
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            '。' | '！' | '？' if depth == 0 => {
                push(&mut out, &text[start..at + c.len_utf8()]);
                start = at + c.len_utf8();
            }
            '.' | '!' | '?' if depth == 0 => {
                let end = at + c.len_utf8();
                if ends_here(&text[start..at], c, &text[end..]) {
                    push(&mut out, &text[start..end]);
                    start = end;
                }
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

fn ends_here(before: &str, mark: char, after: &str) -> bool {
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
    if ABBREVIATIONS.split('|').any(|known| known == word)
        || (word.chars().count() == 1 && word.chars().all(char::is_alphabetic))
    {
        return false;
    }
    // "…without a word. jsdom lacks it": a name may begin a sentence in lower case.
    let plain = word.len() >= 4 && word.chars().all(char::is_alphabetic);
    !next.is_lowercase() || plain
}

const ABBREVIATIONS: &str = "e.g|i.e|etc|vs|cf|approx|incl|excl|resp|mr|mrs|dr|fig";

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
                "ends with `code`. `Next` starts",
                vec!["ends with `code`.", "`Next` starts"],
            ),
            (
                "Nothing is lost. jsdom lacks it. Sizes up to approx. ten work.",
                vec![
                    "Nothing is lost.",
                    "jsdom lacks it.",
                    "Sizes up to approx. ten work.",
                ],
            ),
            ("一つ目。二つ目。", vec!["一つ目。", "二つ目。"]),
            ("...", vec![]),
        ] {
            assert_eq!(sentences(given), wanted, "{given}");
        }
    }
}
