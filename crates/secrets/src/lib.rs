//! Finds secrets in text and redacts them before anything is written to disk.
//!
//! The text may be plain or the inside of a JSON string in its escaped form, even JSON within JSON; callers do not say which,
//! and `escapes` reads all of them; `decode` reads what colors, `\u003d` and `&quot;` hide. One pass (`anchors`) looks for four
//! bytes with which a rule may start: a vendor's token (`tokens`, `vendors`), a name that announces a secret (`names`,
//! `separators`, `assignments`, `tables`), a URL or a private key (`structural`), a header (`headers`) or a command
//! (`commands`). `literal` tells a value from code. `event` redacts the strings of one event together, and `printers` knows
//! commands whose whole output is a secret.
//!
//! Detection is heuristic: a password that looks like an ordinary word in prose is missed. Input and output are strings;
//! reading and writing files is up to the caller. The scanner runs in every hook process, so all tables are constants and a
//! text without secrets costs no allocation. To add a kind of secret, add a line to a table and one to `tests`.

mod anchors;
mod assignments;
mod commands;
mod decode;
mod entropy;
mod escapes;
mod event;
mod files;
mod headers;
mod literal;
mod names;
mod printers;
mod scanner;
mod secret;
mod separators;
mod structural;
mod tables;
#[cfg(test)]
mod tests;
mod tokens;
mod values;
mod vendors;
mod window;

use std::{borrow::Cow, ops::Range};

use backstory_text::scan;
use decode::Decoded;

pub use assignments::is_secret_name;
pub use event::{EventRedactor, Fingerprint};
pub use files::is_secret_file;
pub use printers::{Printed, printed_secrets};
pub use secret::Secret;

/// The surroundings of a text, as far as they are known.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScanContext<'a> {
    /// The JSON key whose value the text is, if any: `password` in `{"password":"…"}`.
    pub key: Option<&'a str>,
    /// True if the text comes from a file of settings and secrets such as `.env`: every NAME=value is redacted.
    pub env_file: bool,
}

/// Finds secrets: sorted, not overlapping, on character boundaries, and never inside an escape sequence.
pub fn find(text: &str, context: ScanContext<'_>) -> Vec<Secret> {
    if let Some(found) = context.key.and_then(|key| assignments::whole_value(key, text)) {
        return normalize(text, found);
    }
    let mut found = Vec::new();
    let is_encoded = scan_bytes(text.as_bytes(), context, &mut found);
    if is_encoded && let Some(decoded) = Decoded::of(text.as_bytes()) {
        let mut hidden = Vec::new();
        scan_bytes(&decoded.text, context, &mut hidden);
        found.extend(hidden.into_iter().map(|secret| Secret {
            range: decoded.original(&secret.range),
            kind: secret.kind,
        }));
    }
    normalize(text, found)
}

/// Appends the secrets of a text. Returns whether part of the text is encoded.
fn scan_bytes(text: &[u8], context: ScanContext<'_>, found: &mut Vec<Secret>) -> bool {
    if context.env_file {
        files::values(text, found);
    }
    scanner::scan(text, found)
}

/// Replaces each secret by `[redacted:<kind>]`.
///
/// A text that had a secret is scanned again until nothing is found: a redaction may turn its neighbor into a value, and
/// redacting twice must equal redacting once.
pub fn redact<'a>(text: &'a str, context: ScanContext<'_>) -> Cow<'a, str> {
    redact_each(text, context, |_, _| {})
}

/// Redacts a text like [`redact`] and calls `note` for each secret: its text and its kind.
fn redact_each<'a>(
    text: &'a str,
    context: ScanContext<'_>,
    mut note: impl FnMut(&str, &'static str),
) -> Cow<'a, str> {
    // Two rounds are usual. The limit is for text crafted to need many.
    const MAX_ROUNDS: usize = 8;
    let mut redacted = Cow::Borrowed(text);
    for _ in 0..MAX_ROUNDS {
        let found = find(&redacted, context);
        if found.is_empty() {
            break;
        }
        for secret in &found {
            note(&redacted[secret.range.clone()], secret.kind);
        }
        redacted = Cow::Owned(replace(&redacted, &found));
    }
    redacted
}

fn replace(text: &str, found: &[Secret]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for Secret { range, kind } in found {
        out.push_str(&text[copied..range.start]);
        out.push_str("[redacted:");
        out.push_str(kind);
        out.push(']');
        copied = range.end;
    }
    out.push_str(&text[copied..]);
    out
}

/// Sorts, merges overlapping ranges, and moves ends that lie inside an escape sequence or a character outward.
fn normalize(text: &str, mut found: Vec<Secret>) -> Vec<Secret> {
    // Most texts have no secret, and the search for tags reads all of it.
    if found.is_empty() {
        return found;
    }
    for Secret { range, .. } in &mut found {
        range.start = escapes::outside(text.as_bytes(), range.start);
        range.start = text.floor_char_boundary(range.start);
        range.end = text.ceil_char_boundary(range.end);
    }
    found.sort_by_key(|secret| (secret.range.start, std::cmp::Reverse(secret.range.end)));
    found.dedup_by(|later, earlier| {
        let overlaps = later.range.start < earlier.range.end;
        if overlaps {
            earlier.range.end = earlier.range.end.max(later.range.end);
        }
        overlaps
    });
    outside_tags(text.as_bytes(), found)
}

/// Excludes the `[redacted:<kind>]` of an earlier pass, so that redacting twice equals redacting once.
fn outside_tags(text: &[u8], found: Vec<Secret>) -> Vec<Secret> {
    const OPEN: &[u8] = b"[redacted:";
    let mut tags = scan::find_all(text, OPEN).filter_map(|start| {
        let kind = start + OPEN.len();
        let length = text[kind..]
            .iter()
            .take_while(|byte| byte.is_ascii_lowercase() || **byte == b'-')
            .count();
        (length > 0 && text.get(kind + length) == Some(&b']')).then_some(start..kind + length + 1)
    });
    let mut tag = tags.next();
    let mut outside = Vec::with_capacity(found.len());
    for Secret {
        range: Range { mut start, end },
        kind,
    } in found
    {
        while let Some(Range {
            start: opens,
            end: closes,
        }) = tag.clone().filter(|tag| tag.start < end)
        {
            if start < opens {
                outside.push(Secret {
                    range: start..opens,
                    kind,
                });
            }
            start = start.max(closes);
            if closes > end {
                break;
            }
            tag = tags.next();
        }
        if start < end {
            outside.push(Secret {
                range: start..end,
                kind,
            });
        }
    }
    outside
}
