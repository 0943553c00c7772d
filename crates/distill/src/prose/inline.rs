//! Removes inline markup from text.

/// Removes emphasis, links, check marks and control characters; keeps code spans.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_code = false;
    let mut in_bold = false;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        if c == '`' {
            // A run of backticks is one delimiter: ``x`` reads as `x`.
            in_code = !in_code;
            out.push('`');
            rest = rest.trim_start_matches('`');
            continue;
        }
        if !in_code {
            if let Some(tail) = rest.strip_prefix("**")
                && (in_bold || opens_bold(&out, tail))
            {
                in_bold = !in_bold;
                rest = tail;
                continue;
            }
            if matches!(c, '_' | '*')
                && let Some((inner, tail)) = emphasis(&out, c, after)
            {
                out.push_str(inner);
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
        if c.is_whitespace() {
            if !out.ends_with(' ') {
                out.push(' ');
            }
        } else if !c.is_control() && !is_invisible(c) {
            out.push(c);
        }
        rest = after;
    }
    if in_code {
        out = out.replace('`', "");
    }
    out.trim().to_owned()
}

/// Tells the stars of bold text from those of `x**2`.
fn opens_bold(before: &str, after: &str) -> bool {
    let is_edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && !matches!(c, ')' | '(' | '_'));
    let closes = after
        .find("**")
        .is_some_and(|at| is_edge(after[at + 2..].chars().next()) && !after[..at].ends_with(' '));
    is_edge(before.chars().next_back()) && after.starts_with(|c: char| !c.is_whitespace()) && closes
}

/// `_word_` or `*word*` -> (word, tail); `snake_case` and `a*b` are no emphasis.
fn emphasis<'a>(before: &str, mark: char, after: &'a str) -> Option<(&'a str, &'a str)> {
    const MAX_EMPHASIS: usize = 60;
    let is_edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '_' | '*' | '/'));
    let end = after.find(mark).filter(|end| (1..MAX_EMPHASIS).contains(end))?;
    let (inner, tail) = (&after[..end], &after[end + 1..]);
    let is_text = inner.starts_with(char::is_alphabetic)
        && !inner.ends_with(char::is_whitespace)
        && !inner.contains('`');
    (is_text && is_edge(before.chars().next_back()) && is_edge(tail.chars().next())).then_some((inner, tail))
}

/// `label](target)tail` -> (label, tail).
fn link(after: &str) -> Option<(&str, &str)> {
    const MAX_LABEL: usize = 200;
    const MAX_TARGET: usize = 400;
    let close = after.find(']').filter(|&at| at < MAX_LABEL)?;
    let tail = after[close + 1..].strip_prefix('(')?;
    let end = tail.find(')').filter(|&at| at < MAX_TARGET)?;
    Some((&after[..close], &tail[end + 1..]))
}

/// Reports whether a character is a check mark, an emoji or a bullet.
pub(super) const fn is_mark(c: char) -> bool {
    matches!(
        c,
        '✅' | '✓' | '✔' | '❌' | '✗' | '✘' | '⚠' | '•' | '⚪' | '➜' | '☑' | '★' | '\u{1f300}'..='\u{1faff}'
    )
}

const fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fe0f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_goes_and_code_stays() {
        for (given, wanted) in [
            ("**Bold** and `**kwargs`", "Bold and `**kwargs`"),
            ("✅ All  tests\tpass", "All tests pass"),
            ("see [the docs](https://x.y/z) now", "see the docs now"),
            ("``__init__`` stays", "`__init__` stays"),
            ("cos(x)**I and **kw", "cos(x)**I and **kw"),
            ("an `open span", "an open span"),
            (
                "they _did_ see *all* of snake_case and a*b*c",
                "they did see all of snake_case and a*b*c",
            ),
            ("bell\u{7} and \u{202e}tricks", "bell and tricks"),
        ] {
            assert_eq!(plain(given), wanted);
        }
    }
}
