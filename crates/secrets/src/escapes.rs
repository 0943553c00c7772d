//! Owns reading text that is either plain or the inside of a JSON string in its escaped form, without being told which.
//!
//! The two differ only in backslashes, so these functions understand runs of them: before a quote, before the
//! letter of a line break, before a slash.

/// Counts the backslashes that end just before `at`.
pub(super) fn backslashes_before(text: &[u8], at: usize) -> usize {
    text[..at].iter().rev().take_while(|&&byte| byte == b'\\').count()
}

/// Counts the backslashes that begin at `at`.
pub(super) fn backslashes_at(text: &[u8], at: usize) -> usize {
    text[at.min(text.len())..]
        .iter()
        .take_while(|&&byte| byte == b'\\')
        .count()
}

/// What stands at a position where a value may end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EscapeStep {
    /// A line break or another control character; the value ends before it.
    Break,
    /// A blank or a tab.
    Blank,
    /// A quote and its backslashes; `end` is behind it.
    Quote {
        quote: u8,
        backslashes: usize,
        end: usize,
    },
    /// Anything else, `end` is behind it.
    Plain { end: usize },
    /// The text is over.
    End,
}

/// Reads one character or one escape sequence.
pub(super) fn step(text: &[u8], at: usize) -> EscapeStep {
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

/// Reads a run of backslashes and what it escapes. `at` is the first backslash of the run.
fn escape(text: &[u8], at: usize) -> EscapeStep {
    let backslashes = backslashes_at(text, at);
    let after = at + backslashes;
    match text.get(after) {
        Some(&quote @ (b'"' | b'\'' | b'`')) => EscapeStep::Quote {
            quote,
            backslashes,
            end: after + 1,
        },
        // An even run stands for backslashes, whatever comes next.
        _ if backslashes.is_multiple_of(2) => EscapeStep::Plain { end: after },
        // The pairs before it belong to the value; the last one begins the escape.
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

/// The number in `uXXXX` at `at`.
fn unicode(text: &[u8], at: usize) -> Option<u32> {
    let digits = text.get(at + 1..at + 5)?;
    digits.iter().try_fold(0, |number, &digit| {
        Some(number * 16 + char::from(digit).to_digit(16)?)
    })
}

/// Goes past blanks, but not past the end of the line.
pub(super) fn skip_blanks(text: &[u8], mut at: usize) -> usize {
    while step(text, at) == EscapeStep::Blank {
        at += if text[at] == b'\\' { 2 } else { 1 };
    }
    at
}

/// Says whether a line ends at `at`.
pub(super) fn at_line_end(text: &[u8], at: usize) -> bool {
    matches!(step(text, at), EscapeStep::Break | EscapeStep::End)
}

/// Goes past a quote with its backslashes, if one stands at `at`.
pub(super) fn skip_quote(text: &[u8], at: usize) -> Option<usize> {
    match step(text, at) {
        EscapeStep::Quote { end, .. } => Some(end),
        _ => None,
    }
}

/// Where the escape sequence begins that has the byte at `at` as its second or a later one.
pub(super) fn escape_around(text: &[u8], at: usize) -> Option<usize> {
    let begins = |from: usize| {
        text.get(from) == Some(&b'\\')
            && backslashes_before(text, from).is_multiple_of(2)
            && from + 1 < text.len()
    };
    if at > 0 && begins(at - 1) {
        return Some(at - 1);
    }
    (2..=5)
        .filter_map(|back| at.checked_sub(back))
        .find(|&from| text[from + 1] == b'u' && begins(from) && unicode(text, from + 1).is_some())
}

/// Moves a place in the middle of an escape sequence to its beginning; a pair of surrogates is one sequence.
pub(super) fn outside(text: &[u8], at: usize) -> usize {
    let Some(start) = escape_around(text, at) else {
        return at;
    };
    let surrogate = |from: usize, digits: &[u8]| matches!(text.get(from..from + 4), Some([b'\\', b'u', b'd' | b'D', digit]) if digits.contains(digit));
    let second = surrogate(start, b"cdefCDEF") && start >= 6 && surrogate(start - 6, b"89abAB");
    if second { start - 6 } else { start }
}

/// Says whether no word reaches up to `at`: the letter of an escape (`\n`) or of `%20` is not a word.
pub(super) fn at_word_start(text: &[u8], at: usize) -> bool {
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
