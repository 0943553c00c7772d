//! Secrets that are recognized by the syntax around them: private keys in PEM, passwords in URLs and in SQL.

use backstory_text::scan;

use crate::{
    entropy::looks_random,
    escapes::{EscapeStep, backslashes_at, skip_blanks, step},
    literal::is_placeholder,
    secret::Secret,
    tokens,
    values::quoted,
};

const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"-----END ";

/// Reads a private key; `at` is the position of the dash before `BEGIN`. A key without an end extends to the end of the text.
pub(crate) fn pem_begin(text: &[u8], at: usize) -> Option<Secret> {
    let start = at
        .checked_sub(4)
        .filter(|&start| text[start..].starts_with(BEGIN))?;
    let label_end = private_label(text, start + BEGIN.len())?;
    if !starts_body(text, label_end) {
        return None;
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
    Some(Secret {
        range: start..end,
        kind: "private-key",
    })
}

/// Reads a private key whose start is missing; `at` is the position of the second dash before `END`.
pub(crate) fn pem_end(text: &[u8], at: usize) -> Option<Secret> {
    let start = at
        .checked_sub(3)
        .filter(|&start| text[start..].starts_with(END))?;
    let end = private_label(text, start + END.len())?;
    let body = text[..start]
        .iter()
        .rev()
        .take(60)
        .filter(|byte| !b" \t\r\n\\".contains(byte));
    let body = body.take_while(|byte| is_body(**byte)).count();
    (body >= 16).then_some(Secret {
        range: 0..end,
        kind: "private-key",
    })
}

/// Reads the password of a URL; `at` is the position of the last character of the scheme.
pub(crate) fn url(text: &[u8], at: usize) -> Option<Secret> {
    password_in(text, authority(text, at + 1)?)
}

/// Reads SQL's `IDENTIFIED BY '…'`; `at` is the position of the last letter of the first word.
pub(crate) fn identified_by(text: &[u8], at: usize) -> Option<Secret> {
    if at < 9 || !text[at - 9..at].eq_ignore_ascii_case(b"identifie") {
        return None;
    }
    let open = skip_blanks(text, at + 4);
    // Backticks are Markdown around a name, not SQL.
    let is_markdown = text.get(open + backslashes_at(text, open)) == Some(&b'`');
    let range = quoted(text, open).filter(|value| !is_markdown && !is_placeholder(&text[value.clone()]))?;
    Some(Secret {
        range,
        kind: "password",
    })
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

/// Reports whether the body of a key follows, or the text ends there. Code that handles keys mentions only their first line.
fn starts_body(text: &[u8], at: usize) -> bool {
    let near = text[at..].get(..96).unwrap_or(&text[at..]);
    // Between them may be line breaks, quotes, string concatenation, line numbers, `Proc-Type: 4,ENCRYPTED`.
    let longest = near
        .split(|&byte| !is_body(byte))
        .map(<[u8]>::len)
        .max()
        .unwrap_or(0);
    let mention = near.iter().take(12).any(|byte| b"(){};".contains(byte));
    // The text ends shortly after the first bytes of a body: it was truncated.
    let cut = near.len() < 24
        && near
            .iter()
            .all(|&byte| is_body(byte) || b" \t\r\n\\".contains(&byte));
    (longest >= 16 && !mention) || cut
}

/// Reads `://`, whose slashes may be escaped, and returns the start of the authority.
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

/// Finds the password in `user:password@host`, or a random user name without a password.
fn password_in(text: &[u8], start: usize) -> Option<Secret> {
    // Nearly all URLs have no user before the host.
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
