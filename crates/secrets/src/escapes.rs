//! Reads text that is either plain or the inside of an escaped JSON string, without knowing which.
//!
//! The two differ only in backslashes, so these functions interpret runs of them: before a quote, before the letter of a
//! line break, before a slash.

/// Counts the backslashes that end just before `at`.
pub(crate) fn backslashes_before(text: &[u8], at: usize) -> usize {
    text[..at].iter().rev().take_while(|&&byte| byte == b'\\').count()
}

/// Counts the backslashes that start at `at`.
pub(crate) fn backslashes_at(text: &[u8], at: usize) -> usize {
    text[at.min(text.len())..]
        .iter()
        .take_while(|&&byte| byte == b'\\')
        .count()
}

/// The character or escape sequence at a position where a value may end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EscapeStep {
    /// A line break or another control character; the value ends before it.
    Break,
    /// A blank or a tab.
    Blank,
    /// A quote and its backslashes; `end` is the position after it.
    Quote {
        quote: u8,
        backslashes: usize,
        end: usize,
    },
    /// Anything else; `end` is the position after it.
    Plain { end: usize },
    /// The end of the text.
    End,
}

/// Reads one character or one escape sequence.
pub(crate) fn step(text: &[u8], at: usize) -> EscapeStep {
    match text.get(at) {
        None => EscapeStep::End,
        Some(b' ' | b'\t') => EscapeStep::Blank,
        Some(0..=31 | 127) => EscapeStep::Break,
        Some(&quote @ (b'"' | b'\'' | b'`')) => EscapeStep::Quote {
            quote,
            backslashes: 0,
            end: at + 1,
        },
        Some(b'\\') => escape(text, at),
        Some(_) => EscapeStep::Plain { end: at + 1 },
    }
}

/// Reads a run of backslashes, which starts at `at`, and the character that it escapes.
fn escape(text: &[u8], at: usize) -> EscapeStep {
    let backslashes = backslashes_at(text, at);
    let after = at + backslashes;
    match text.get(after) {
        Some(&quote @ (b'"' | b'\'' | b'`')) => EscapeStep::Quote {
            quote,
            backslashes,
            end: after + 1,
        },
        // An even run stands for backslashes and does not escape the next character.
        _ if backslashes.is_multiple_of(2) => EscapeStep::Plain { end: after },
        // The pairs belong to the value; the last backslash starts the escape.
        _ if backslashes > 1 => EscapeStep::Plain { end: after - 1 },
        Some(b'n' | b'r' | b'b' | b'f') => EscapeStep::Break,
        Some(b't') => EscapeStep::Blank,
        Some(b'u') => match unicode(text, after) {
            Some(0..=31 | 0x22 | 0x27) => EscapeStep::Break,
            Some(_) => EscapeStep::Plain { end: after + 5 },
            None => EscapeStep::Plain { end: after },
        },
        Some(b'/') => EscapeStep::Plain { end: after + 1 },
        _ => EscapeStep::Plain { end: after },
    }
}

/// Parses the number of `uXXXX` at `at`.
pub(crate) fn unicode(text: &[u8], at: usize) -> Option<u32> {
    let digits = text.get(at + 1..at + 5)?;
    digits.iter().try_fold(0, |number, &digit| {
        Some(number * 16 + char::from(digit).to_digit(16)?)
    })
}

/// Skips blanks, but not the end of the line.
pub(crate) fn skip_blanks(text: &[u8], mut at: usize) -> usize {
    while step(text, at) == EscapeStep::Blank {
        at += if text[at] == b'\\' { 2 } else { 1 };
    }
    at
}

/// Reports whether a line ends at `at`.
pub(crate) fn at_line_end(text: &[u8], at: usize) -> bool {
    matches!(step(text, at), EscapeStep::Break | EscapeStep::End)
}

/// Returns the position after the quote at `at` and its backslashes, if there is one.
pub(crate) fn skip_quote(text: &[u8], at: usize) -> Option<usize> {
    match step(text, at) {
        EscapeStep::Quote { end, .. } => Some(end),
        _ => None,
    }
}

/// Returns the start of the escape sequence whose second or later byte is at `at`.
pub(crate) fn escape_around(text: &[u8], at: usize) -> Option<usize> {
    let starts = |from: usize| {
        text.get(from) == Some(&b'\\')
            && backslashes_before(text, from).is_multiple_of(2)
            && from + 1 < text.len()
    };
    if at > 0 && starts(at - 1) {
        return Some(at - 1);
    }
    (2..=5)
        .filter_map(|back| at.checked_sub(back))
        .find(|&from| text[from + 1] == b'u' && starts(from) && unicode(text, from + 1).is_some())
}

/// Moves a position inside an escape sequence to its start; a surrogate pair counts as one sequence.
pub(crate) fn outside(text: &[u8], at: usize) -> usize {
    let Some(start) = escape_around(text, at) else {
        return at;
    };
    let surrogate = |from: usize, digits: &[u8]| matches!(text.get(from..from + 4), Some([b'\\', b'u', b'd' | b'D', digit]) if digits.contains(digit));
    let second = surrogate(start, b"cdefCDEF") && start >= 6 && surrogate(start - 6, b"89abAB");
    if second { start - 6 } else { start }
}

/// Reports whether no word extends to `at`: the letter of an escape (`\n`) or of `%20` is not a word.
pub(crate) fn at_word_start(text: &[u8], at: usize) -> bool {
    let Some(before) = at.checked_sub(1) else {
        return true;
    };
    !text[before].is_ascii_alphanumeric()
        || escape_around(text, before).is_some()
        || (at >= 2 && text[at - 2] == b'\\' && matches!(text[before], b'n' | b'r' | b't'))
        || (at >= 3
            && text[at - 3] == b'%'
            && text[at - 2].is_ascii_digit()
            && text[before].is_ascii_hexdigit())
}
