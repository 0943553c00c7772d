//! Owns secrets that are known by where they stand: private keys between their lines, passwords in URLs and in SQL.

use super::entropy::looks_random;
use super::escapes::{EscapeStep, backslashes_at, skip_blanks, step};
use super::literal::is_placeholder;
use super::values::quoted;
use super::{Scanner, Secret, tokens};
use backstory_text::scan;

const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"-----END ";

impl Scanner<'_> {
    /// `at` is the dash before `BEGIN`. An unclosed key goes on to the end of the text.
    pub(super) fn pem_begin(&mut self, at: usize) -> usize {
        let text = self.text;
        let Some(start) = at
            .checked_sub(4)
            .filter(|&start| text[start..].starts_with(BEGIN))
        else {
            return 0;
        };
        let Some(label_end) = private_label(text, start + BEGIN.len()) else {
            return 0;
        };
        if !begins_body(text, label_end) {
            return 0;
        }
        let end = match scan::find(&text[label_end..], END) {
            Some(offset) => {
                let label = label_end + offset + END.len();
                let line = text[label..]
                    .iter()
                    .take(64)
                    .take_while(|byte| is_label(**byte))
                    .count();
                let dashes = text[label + line..]
                    .iter()
                    .take_while(|&&byte| byte == b'-')
                    .count();
                label + line + dashes
            }
            None => text.len(),
        };
        self.keep(Some(Secret {
            range: start..end,
            kind: "private-key",
        }))
    }

    /// `at` is the dash before the last one before `END`. Without a beginning the key began before the text did.
    pub(super) fn pem_end(&mut self, at: usize) -> usize {
        let text = self.text;
        let Some(start) = at.checked_sub(3).filter(|&start| text[start..].starts_with(END)) else {
            return 0;
        };
        let Some(end) = private_label(text, start + END.len()) else {
            return 0;
        };
        let body = text[..start]
            .iter()
            .rev()
            .take(60)
            .filter(|byte| !b" \t\r\n\\".contains(byte));
        let body = body.take_while(|byte| is_body(**byte)).count();
        if body < 16 {
            return 0;
        }
        self.keep(Some(Secret {
            range: 0..end,
            kind: "private-key",
        }))
    }

    /// `at` is the last character of the scheme.
    pub(super) fn url(&mut self, at: usize) -> usize {
        let Some(start) = authority(self.text, at + 1) else {
            return 0;
        };
        self.keep(password_in(self.text, start))
    }

    /// SQL's `IDENTIFIED BY '…'`; `at` is the last letter of the first word.
    pub(super) fn identified_by(&mut self, at: usize) -> usize {
        let text = self.text;
        if at < 9 || !text[at - 9..at].eq_ignore_ascii_case(b"identifie") {
            return 0;
        }
        let open = skip_blanks(text, at + 4);
        // Not in backticks, which prose puts around names.
        let prose = text.get(open + backslashes_at(text, open)) == Some(&b'`');
        let value = quoted(text, open).filter(|value| !prose && !is_placeholder(&text[value.clone()]));
        self.keep(value.map(|range| Secret {
            range,
            kind: "password",
        }))
    }
}

/// Reads the rest of a `BEGIN` or `END` line, if it is that of a private key.
fn private_label(text: &[u8], at: usize) -> Option<usize> {
    let label = text[at..]
        .iter()
        .take(64)
        .take_while(|byte| is_label(**byte))
        .count();
    let private = text[at..at + label]
        .windows(11)
        .any(|part| part == b"PRIVATE KEY");
    let end = at + label;
    (private && text[end..].starts_with(b"-----")).then_some(end + 5)
}

fn is_label(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' '
}

fn is_body(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)
}

/// Code that handles keys mentions their first line; a key has its body behind it, or was cut off there.
fn begins_body(text: &[u8], at: usize) -> bool {
    let near = text[at..].get(..96).unwrap_or(&text[at..]);
    // What may lie between: line breaks, quotes, joined strings, the numbers of lines, `Proc-Type: 4,ENCRYPTED`.
    let longest = near
        .split(|&byte| !is_body(byte))
        .map(<[u8]>::len)
        .max()
        .unwrap_or(0);
    let mention = near.iter().take(12).any(|byte| b"(){};".contains(byte));
    // Nothing but the beginning of a body: it was cut off.
    let cut = near.len() < 24
        && near
            .iter()
            .all(|&byte| is_body(byte) || b" \t\r\n\\".contains(&byte));
    (longest >= 16 && !mention) || cut
}

/// Reads `://`, whose slashes may be escaped, and answers where the authority begins.
fn authority(text: &[u8], colon: usize) -> Option<usize> {
    let mut at = colon + 1;
    for _ in 0..2 {
        at += backslashes_at(text, at);
        if text.get(at) != Some(&b'/') {
            return None;
        }
        at += 1;
    }
    Some(at)
}

/// Finds the password in `user:password@host`, or what takes its place: a random name without a password.
fn password_in(text: &[u8], start: usize) -> Option<Secret> {
    // Nearly all URLs have nothing before the host: say so at once.
    let special = |byte: &u8| {
        matches!(
            byte,
            b'@' | b'/' | b'\\' | b'"' | b'\'' | b'`' | b'<' | b'>' | 0..=32
        )
    };
    let first = text[start..]
        .iter()
        .position(special)
        .map(|length| text[start + length]);
    if !matches!(first, Some(b'@' | b'\\')) {
        return None;
    }
    let (mut colon, mut sign) = (None, None);
    let mut at = start;
    while let EscapeStep::Plain { end } = step(text, at) {
        match text[at] {
            b'/' | b'<' | b'>' => break,
            b'\\' if text[end - 1] == b'/' => break,
            b':' if colon.is_none() && sign.is_none() => colon = Some(at),
            b'@' => sign = Some(at),
            _ => {}
        }
        at = end;
    }
    let sign = sign?;
    let range = colon.map_or(start, |colon| colon + 1)..sign;
    let value = &text[range.clone()];
    // `host:8080?to=a@b` is a port.
    let digits = value.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let port = digits > 0 && matches!(value.get(digits), Some(b'?' | b'#'));
    if port || is_placeholder(value) {
        return None;
    }
    if colon.is_some() {
        return Some(Secret {
            range,
            kind: "url-password",
        });
    }
    let kind = tokens::kind_of(value).or(looks_random(value).then_some("url-token"))?;
    Some(Secret { range, kind })
}
