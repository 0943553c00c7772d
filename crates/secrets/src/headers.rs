//! HTTP headers that carry secrets: `Authorization` and `Cookie`.

use crate::{
    entropy::looks_random,
    escapes::{EscapeStep, skip_blanks, skip_quote, step},
    literal::{ValueContext, is_bare_literal, is_placeholder},
    secret::Secret,
    values::{bare_end, first_line, without_brackets},
    window::WINDOW,
};

/// Reads `Bearer …`, `Basic …`, `token …` or a bare token at `at`, quoted or not.
pub(crate) fn authorization(text: &[u8], at: usize) -> Option<Secret> {
    let at = skip_quote(text, at).unwrap_or(at);
    let scheme = at
        + text[at..]
            .iter()
            .take(16)
            .take_while(|byte| byte.is_ascii_alphabetic() || **byte == b'-')
            .count();
    let start = skip_blanks(text, scheme);
    if start == scheme || scheme == at {
        return credential(text, at, looks_random);
    }
    credential(text, start, |value| {
        let mixed = value.iter().any(u8::is_ascii_uppercase) && value[1..].iter().any(u8::is_ascii_lowercase);
        // `OAuth realm="…"` is a list of named parts.
        let named = value
            .iter()
            .rposition(|byte| *byte != b'=')
            .is_some_and(|end| value[..end].contains(&b'='));
        let named = named
            || skip_quote(text, start + value.len()).is_some() && value.ends_with(b"=") && value.len() < 16;
        let may_be_secret = mixed || value.iter().any(|byte| byte.is_ascii_digit() || *byte == b'=');
        value.len() >= 6 && may_be_secret && !named && is_bare_literal(value, ValueContext::Flag)
    })
}

/// Reads `Bearer …` outside of a header; `at` is the position of its first letter.
pub(crate) fn bearer(text: &[u8], at: usize) -> Option<Secret> {
    let end = at + 6;
    if !text.get(at..end)?.eq_ignore_ascii_case(b"bearer") || skip_blanks(text, end) == end {
        return None;
    }
    credential(text, skip_blanks(text, end), looks_random)
}

/// Reads a value to its end only if its start looks like a secret: a text full of headers stays cheap.
fn credential(text: &[u8], start: usize, is_secret: impl Fn(&[u8]) -> bool) -> Option<Secret> {
    let near = &text[..text.len().min(start + WINDOW)];
    let value = first_line(&near[without_brackets(near, start..bare_end(near, start))]);
    if value.is_empty() || is_placeholder(value) || !is_secret(value) {
        return None;
    }
    let range = without_brackets(text, start..bare_end(text, start));
    Some(Secret {
        range,
        kind: "authorization",
    })
}

/// Reads `name=value; name=value` and adds the values that look random. Returns the position after them.
pub(crate) fn cookies(text: &[u8], at: usize, found: &mut Vec<Secret>) -> usize {
    let mut at = skip_quote(text, at).unwrap_or(at);
    loop {
        at = skip_blanks(text, at);
        let name = text[at..]
            .iter()
            .take(64)
            .take_while(|byte| byte.is_ascii_alphanumeric() || b"_-.%".contains(byte));
        let start = at + name.count() + 1;
        if text.get(start - 1) != Some(&b'=') {
            return at;
        }
        let mut end = start;
        while let EscapeStep::Plain { end: next } = step(text, end) {
            if matches!(text[end], b';' | b',') {
                break;
            }
            end = next;
        }
        let value = &text[start..end];
        if looks_random(first_line(value)) && !is_placeholder(value) {
            found.push(Secret {
                range: start..end,
                kind: "cookie",
            });
        }
        if text.get(end) != Some(&b';') {
            return end;
        }
        at = end + 1;
    }
}
