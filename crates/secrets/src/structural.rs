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
const END: &[u8] = b"END ";
const DASHES: &[u8] = b"-----";

/// The longest private key that is searched for its end, with the quotes and line numbers around each of its lines. A PGP key
/// of 4096 bits with sub-keys has about 10 KB.
const MAX_KEY: usize = 32 * 1024;

/// The shortest run of base64 that counts as a line of a key.
const KEY_LINE: usize = 16;

/// The longest distance between two lines of a key: quotes, string concatenation, line numbers, the syntax of JSON.
const LINE_GAP: usize = 48;

/// The longest distance between the `BEGIN` line and the first line of a key: `Proc-Type`, `DEK-Info`, `Version`.
const HEADER_GAP: usize = 192;

/// Reads a private key; `at` is the position of the dash before `BEGIN`. A key without an end extends over the lines that
/// follow it.
pub(crate) fn pem_begin(text: &[u8], at: usize) -> Option<Secret> {
    let start = at
        .checked_sub(4)
        .filter(|&start| text[start..].starts_with(BEGIN))?;
    let label_end = private_label(text, start + BEGIN.len())?;
    if !starts_body(text, label_end) {
        return None;
    }
    let end = key_end(text, label_end).unwrap_or_else(|| body_end(text, label_end));
    Some(Secret {
        range: start..end,
        kind: PRIVATE_KEY,
    })
}

/// The kind of a private key.
pub(crate) const PRIVATE_KEY: &str = "private-key";

/// Returns the position after the `END` line that follows `from`, if it is the next line of dashes.
pub(crate) fn key_end(text: &[u8], from: usize) -> Option<usize> {
    let near = &text[from..text.len().min(from + MAX_KEY)];
    let dashes = from + scan::find(near, DASHES)?;
    // A removed line of a patch has one dash more.
    let label = dashes + text[dashes..].iter().take_while(|&&byte| byte == b'-').count();
    let label = text[label..].starts_with(END).then_some(label + END.len())?;
    let end = label
        + text[label..]
            .iter()
            .take(64)
            .take_while(|byte| is_label(**byte))
            .count();
    Some(end + text[end..].iter().take_while(|&&byte| byte == b'-').count())
}

/// Returns the end of the lines of base64 from `from` on.
pub(crate) fn body_end(text: &[u8], from: usize) -> usize {
    let (mut end, mut gap) = (from, HEADER_GAP);
    while let Some(line) = next_run(text, end, gap) {
        (end, gap) = (line, LINE_GAP);
    }
    // The text may end inside a line.
    if is_partial(&text[end..]) { text.len() } else { end }
}

/// Returns the end of the next run of base64 that is a line of a key.
fn next_run(text: &[u8], from: usize, gap: usize) -> Option<usize> {
    let mut at = from;
    while at < text.len() && at - from <= gap {
        if text[at..].starts_with(DASHES) {
            return None;
        }
        let run = text[at..].iter().take_while(|byte| is_body(**byte)).count();
        if run >= KEY_LINE {
            return Some(at + run);
        }
        at += run.max(1);
    }
    None
}

/// Reads a private key whose start is missing; `at` is the position of the last two dashes before `END`.
pub(crate) fn pem_end(text: &[u8], at: usize) -> Option<Secret> {
    let label = at + 2;
    let dashes = text[..label]
        .iter()
        .rev()
        .take_while(|&&byte| byte == b'-')
        .count();
    if dashes < DASHES.len() || !text[label..].starts_with(END) {
        return None;
    }
    let end = private_label(text, label + END.len())?;
    let start = body_start(text, label - dashes)?;
    Some(Secret {
        range: start..end,
        kind: PRIVATE_KEY,
    })
}

/// Returns the start of the lines of base64 before `end`. The last of them may be short.
fn body_start(text: &[u8], end: usize) -> Option<usize> {
    let (mut start, mut at) = (end, end);
    while at > 0 && start - at <= LINE_GAP && !text[..at].ends_with(DASHES) {
        let run = text[..at].iter().rev().take_while(|byte| is_body(**byte)).count();
        at -= run.max(1);
        if run >= KEY_LINE {
            start = at;
        }
    }
    if start == end {
        return None;
    }
    // The text may start inside a line.
    let rest = &text[..start];
    Some(if is_partial(rest) { 0 } else { start })
}

/// Reports whether a text is one line of base64, or nothing.
fn is_partial(text: &[u8]) -> bool {
    text.len() < 80
        && text
            .iter()
            .all(|byte| is_body(*byte) || b" \t\r\n\\".contains(byte))
}

/// Extends the first line of a private key without its `BEGIN` line over the lines after it.
pub(crate) fn whole_key(text: &[u8], mut secret: Secret) -> Secret {
    if secret.kind == PRIVATE_KEY {
        secret.range.end = secret.range.end.max(body_end(text, secret.range.end));
    }
    secret
}

/// Reads a private key that is encoded in base64 as a whole; `at` is the position of `LS0t`.
pub(crate) fn encoded_key(text: &[u8], at: usize) -> Option<Secret> {
    // `-----BEGIN ` and, for each of the three alignments of base64, `PRIVATE`.
    const START: &[u8] = b"LS0tLS1CRUdJTi";
    const PRIVATE: [&[u8]; 3] = [b"UFJJVkFUR", b"BSSVZBVE", b"QUklWQVRF"];
    let body = text[at..]
        .starts_with(START)
        .then(|| &text[at..text.len().min(at + 80)])?;
    let is_private = PRIVATE.iter().any(|word| scan::find(body, word).is_some());
    is_private.then(|| Secret {
        range: at..body_end(text, at),
        kind: PRIVATE_KEY,
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
