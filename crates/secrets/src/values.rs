//! Finds the bounds of a value, with and without quotes, plain and escaped.

use std::ops::Range;

use crate::{
    escapes::{EscapeStep, backslashes_at, step},
    window::window,
};

/// Reads the value in quotes whose opening quote, with its backslashes, is at `open`.
///
/// Each level of JSON within JSON adds backslashes to a quote (`\"`, then `\\\"`), and a quote inside the value has those of
/// one level more. So the number of backslashes before the opening quote identifies the closing one.
pub(crate) fn quoted(text: &[u8], open: usize) -> Option<Range<usize>> {
    let EscapeStep::Quote {
        quote,
        backslashes: level,
        end: mut start,
    } = step(text, open)
    else {
        return None;
    };
    if text[start..].starts_with(&[quote, quote]) {
        start += 2;
    }
    let mut at = start;
    loop {
        at = match step(text, at) {
            EscapeStep::End | EscapeStep::Break => return Some(start..at),
            EscapeStep::Blank => at + if text[at] == b'\\' { 2 } else { 1 },
            EscapeStep::Plain { end } => end,
            EscapeStep::Quote {
                quote: other,
                backslashes,
                end,
            } => {
                // A quote can only be escaped by a run of its own; a shorter one closes an outer text.
                let longer = backslashes > level && backslashes % (2 * (level + 1)) != level;
                // `'it\\'s'` in JSON: the run is even because JSON doubled it.
                let inner = backslashes > level && text.get(end).is_some_and(u8::is_ascii_alphanumeric);
                if other == quote && !longer && !inner {
                    return Some(start..end - 1 - backslashes.min(level));
                }
                end
            }
        };
    }
}

/// Returns the end of the unquoted value that starts at `start`.
pub(crate) fn bare_end(text: &[u8], start: usize) -> usize {
    let mut at = start;
    while let EscapeStep::Plain { end } = step(text, at) {
        let stops = match text[at] {
            b',' | b';' | b'&' => starts_next(text, at + 1),
            b'<' => text.get(at + 1 + backslashes_at(text, at + 1)) == Some(&b'/'),
            _ => false,
        };
        if stops {
            break;
        }
        at = end;
    }
    at
}

/// Excludes closing brackets that were not opened within the value, and the punctuation after them.
pub(crate) fn without_brackets(text: &[u8], mut value: Range<usize>) -> Range<usize> {
    // Limited for a text of names and brackets only, which would be read once per name.
    let near = value.start.max(value.end.saturating_sub(256))..value.end;
    let opened = |bracket| text[near.clone()].contains(&bracket);
    for _ in 0..8 {
        let outside = match text[value.clone()] {
            [.., b')' | b']' | b'}', b':' | b',' | b';'] => true,
            [.., b')'] => !opened(b'('),
            [.., b']'] => !opened(b'['),
            [.., b'}'] => !opened(b'{'),
            _ => false,
        };
        if !outside {
            break;
        }
        value.end -= 1;
    }
    value
}

/// Returns the part before `\\\\n`, which is a line break in JSON within JSON and a backslash and a letter elsewhere.
pub(crate) fn first_line(value: &[u8]) -> &[u8] {
    let end = window(value).windows(3).position(|part| part == b"\\\\n");
    end.map_or(value, |end| &value[..end])
}

/// Reports whether a comma, semicolon or ampersand before `at` ends a value: nothing or another `name=` follows.
pub(crate) fn starts_next(text: &[u8], at: usize) -> bool {
    if !matches!(step(text, at), EscapeStep::Plain { .. }) {
        return true;
    }
    let name = text[at..]
        .iter()
        .take(32)
        .take_while(|byte| byte.is_ascii_alphanumeric() || b"_- .".contains(byte));
    let name = name.count();
    name > 0 && matches!(text.get(at + name), Some(b'=' | b':'))
}
