//! Removes the notations that hide a secret: terminal colors, `\u003d` for `=`, `&quot;` for a quote.
//!
//! The scanner reads the decoded text in addition to the original, and [`Decoded::original`] returns the bytes of the original
//! that a range stands for. Nothing but the secret is replaced: colors and entities around it stay. Only texts in which
//! `anchors` has seen such a notation are decoded.

use std::ops::Range;

use crate::escapes::{backslashes_at, unicode};

/// A text without notations that hide characters.
#[derive(Debug)]
pub(crate) struct Decoded {
    pub(crate) text: Vec<u8>,
    /// The replaced parts, in their order.
    edits: Vec<Edit>,
}

/// A part of the decoded text and the part of the original that it stands for.
#[derive(Debug)]
struct Edit {
    decoded: Range<usize>,
    original: Range<usize>,
}

impl Decoded {
    /// Decodes a text; `None` if nothing in it is encoded.
    pub(crate) fn of(text: &[u8]) -> Option<Self> {
        let mut decoded = Self {
            text: Vec::with_capacity(text.len()),
            edits: Vec::new(),
        };
        let mut copied = 0;
        let mut at = 0;
        while at < text.len() {
            let Some((end, replacement)) = sequence(text, at) else {
                // A run of backslashes is one notation or none.
                at += backslashes_at(text, at).max(1);
                continue;
            };
            decoded.text.extend_from_slice(&text[copied..at]);
            let start = decoded.text.len();
            replacement.write(&mut decoded.text);
            decoded.edits.push(Edit {
                decoded: start..decoded.text.len(),
                original: at..end,
            });
            (copied, at) = (end, end);
        }
        if decoded.edits.is_empty() {
            return None;
        }
        decoded.text.extend_from_slice(&text[copied..]);
        Some(decoded)
    }

    /// Returns the part of the original text that a range of the decoded one stands for.
    pub(crate) fn original(&self, range: &Range<usize>) -> Range<usize> {
        let start = self.of_byte(range.start).start;
        let end = match range.end.checked_sub(1) {
            Some(last) if range.end > range.start => self.of_byte(last).end,
            _ => start,
        };
        start..end.max(start)
    }

    /// Returns the part of the original text that the byte at `at` stands for.
    fn of_byte(&self, at: usize) -> Range<usize> {
        let next = self.edits.partition_point(|edit| edit.decoded.start <= at);
        match next.checked_sub(1).map(|last| &self.edits[last]) {
            Some(edit) if edit.decoded.contains(&at) => edit.original.clone(),
            Some(edit) => {
                let start = edit.original.end + at - edit.decoded.end;
                start..start + 1
            }
            None => at..at + 1,
        }
    }
}

/// The characters that a notation stands for.
enum Replacement {
    Nothing,
    /// A character after backslashes, as many as a quote has at the same depth of JSON within JSON.
    Character {
        byte: u8,
        backslashes: usize,
    },
}

impl Replacement {
    fn write(&self, out: &mut Vec<u8>) {
        if let Self::Character { byte, backslashes } = self {
            out.extend(std::iter::repeat_n(b'\\', *backslashes));
            out.push(*byte);
        }
    }
}

/// Reads the notation at `at` and returns its end.
fn sequence(text: &[u8], at: usize) -> Option<(usize, Replacement)> {
    match text[at] {
        0x1b => Some((control(text, at + 1), Replacement::Nothing)),
        b'&' => {
            let (end, byte) = entity(text, at)?;
            Some((end, character(byte, 1)?))
        }
        b'\\' => {
            let backslashes = backslashes_at(text, at);
            let letter = at + backslashes;
            if let Some(after) = escape_character(text, letter) {
                return Some((control(text, after), Replacement::Nothing));
            }
            let code = (text.get(letter) == Some(&b'u'))
                .then(|| unicode(text, letter))
                .flatten()?;
            // The depth of the JSON that contains the escape: each level doubles the backslashes.
            let byte = u8::try_from(code).ok()?;
            Some((letter + 5, character(byte, 2 * backslashes - 1)?))
        }
        _ => None,
    }
}

/// Returns the decoded form of a printable character or of white space.
fn character(byte: u8, backslashes: usize) -> Option<Replacement> {
    let (byte, backslashes) = match byte {
        b'"' => (b'"', backslashes),
        b'\\' => (b'\\', backslashes),
        b'\n' | b'\r' => (byte, 0),
        b'\t' => (b' ', 0),
        b' '..=b'~' => (byte, 0),
        _ => return None,
    };
    Some(Replacement::Character { byte, backslashes })
}

/// Recognizes the escape character as `u001b`, `x1b`, `033` or `e` after backslashes. Returns the position after it, if a
/// control sequence follows.
fn escape_character(text: &[u8], at: usize) -> Option<usize> {
    let rest = &text[at..];
    let names: [&[u8]; 7] = [b"u001b", b"u001B", b"x1b", b"x1B", b"033", b"e", b"E"];
    let name = names.iter().find(|name| rest.starts_with(name))?;
    let after = at + name.len();
    let is_sequence = matches!(text.get(after), Some(b'[' | b'(' | b')' | b']'));
    (is_sequence || name.len() == 5).then_some(after)
}

/// Returns the end of the control sequence whose escape character ends at `at`.
fn control(text: &[u8], at: usize) -> usize {
    match text.get(at) {
        Some(b'[') => {
            let parameters = text[at + 1..]
                .iter()
                .take(32)
                .take_while(|byte| matches!(byte, b'0'..=b'?' | b' '..=b'/'))
                .count();
            let end = at + 1 + parameters;
            end + usize::from(matches!(text.get(end), Some(b'@'..=b'~')))
        }
        Some(b'(' | b')') => (at + 2).min(text.len()),
        Some(b']') => at + 1,
        _ => at,
    }
}

/// Reads an HTML entity for a character of ASCII; `&amp;` may be encoded again.
fn entity(text: &[u8], at: usize) -> Option<(usize, u8)> {
    const NAMED: &[(&[u8], u8)] = &[
        (b"quot;", b'"'),
        (b"apos;", b'\''),
        (b"lt;", b'<'),
        (b"gt;", b'>'),
        (b"equals;", b'='),
        (b"colon;", b':'),
        (b"nbsp;", b' '),
    ];
    let mut start = at + 1;
    let mut ampersands = 0;
    while ampersands < 3 && text[start..].starts_with(b"amp;") {
        start += 4;
        ampersands += 1;
    }
    let rest = &text[start..];
    if let Some((name, byte)) = NAMED.iter().find(|(name, _)| rest.starts_with(name)) {
        return Some((start + name.len(), *byte));
    }
    if let Some(digits) = rest.strip_prefix(b"#") {
        let (digits, radix, prefix) = match digits {
            [b'x' | b'X', hex @ ..] => (hex, 16, 2),
            _ => (digits, 10, 1),
        };
        let length = digits
            .iter()
            .take(6)
            .take_while(|byte| byte.is_ascii_hexdigit())
            .count();
        let number = std::str::from_utf8(&digits[..length]).ok()?;
        let code = u8::from_str_radix(number, radix).ok()?;
        return (digits.get(length) == Some(&b';')).then_some((start + prefix + length + 1, code));
    }
    (ampersands > 0).then_some((start, b'&'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(text: &str) -> String {
        Decoded::of(text.as_bytes()).map_or_else(
            || text.to_owned(),
            |decoded| String::from_utf8(decoded.text).unwrap(),
        )
    }

    #[test]
    fn notations_are_decoded() {
        for (text, plain) in [
            ("plain \\n text & more", "plain \\n text & more"),
            ("\u{1b}[1;32mkey\u{1b}[0m", "key"),
            ("\u{1b}[38;2;1;2;3mkey\u{1b}(B\u{1b}[m", "key"),
            ("\\u001b[32mkey\\u001B[0m", "key"),
            ("\\\\u001b[32mkey", "key"),
            ("\\033[32mkey \\e[0m \\x1b[31mx", "key  x"),
            ("a\\u003db", "a=b"),
            ("\\u0022a\\\\u0022", "\\\"a\\\\\\\""),
            ("&quot;a&#61;b&#x3D;c&amp;quot;&lt;", "\\\"a=b=c\\\"<"),
            ("a&amp;b&unknown;&#999;", "a&b&unknown;&#999;"),
            ("caf\\u00e9 \\u0000", "caf\\u00e9 \\u0000"),
            ("\\ename C:\\etc", "\\ename C:\\etc"),
        ] {
            assert_eq!(decoded(text), plain, "{text:?}");
        }
    }

    #[test]
    fn a_range_leads_back_to_the_original() {
        let text = "x=\\u001b[32mAK\\u001b[1mIA\\u003d1\\u001b[0m y";
        let decoded = Decoded::of(text.as_bytes()).unwrap();
        let start = decoded.text.windows(4).position(|part| part == b"AKIA").unwrap();
        let original = decoded.original(&(start..start + 6));
        assert_eq!(&text[original], "AK\\u001b[1mIA\\u003d1");
        assert_eq!(decoded.original(&(0..1)), 0..1);
        let end = decoded.text.len();
        assert_eq!(&text[decoded.original(&(end - 1..end))], "y");
    }
}
