//! Owns finding secrets in text, so that none reaches the disk. What is read and where it goes is left to the caller.
//!
//! The text is plain or the inside of a JSON string still in its escaped form, even JSON within JSON; nobody says which
//! (`escapes`). One pass looks for anchors (`anchors`), four bytes with which something worth a look may begin:
//! a vendor's token (`tokens`), a telling name (`names`, `sites`, `assignments`), a URL or a private key (`places`), a
//! header (`headers`), a command (`commands`). Whether a value is a secret or a piece of code is for `judge`.
//!
//! This runs in the hook process: every table is a constant, and text without secrets costs no allocation.

mod anchors;
mod assignments;
mod commands;
mod entropy;
mod escapes;
mod files;
mod headers;
mod literal;
mod names;
mod sites;
mod structural;
#[cfg(test)]
mod tests;
mod tokens;
mod values;

use std::borrow::Cow;
use std::ops::Range;

use backstory_text::scan;

use anchors::Rule;

pub use files::is_secret_file;

/// What is known about the text around it.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScanContext<'a> {
    /// The JSON key whose value the text is, if any: `password` in `{"password":"…"}`.
    pub key: Option<&'a str>,
    /// The text comes from a file that holds nothing but settings and secrets (`.env`): every NAME=value is redacted.
    pub env_file: bool,
}

/// A secret, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secret {
    /// The bytes to take out.
    pub range: Range<usize>,
    /// What it is, in lower case with dashes: `github-token`.
    pub kind: &'static str,
}

/// Finds secrets; sorted, not overlapping, on character boundaries, never from or to the middle of an escape sequence.
pub fn find(text: &str, context: ScanContext<'_>) -> Vec<Secret> {
    if let Some(found) = context.key.and_then(|key| assignments::whole_value(key, text)) {
        return in_order(text, found);
    }
    let mut found = Vec::new();
    if context.env_file {
        files::values(text.as_bytes(), &mut found);
    }
    let mut scanner = Scanner::new(text.as_bytes(), found);
    anchors::scan(text.as_bytes(), |rule, at| scanner.check(rule, at));
    let mut found = scanner.found;
    tokens::discord(text.as_bytes(), &mut found);
    in_order(text, found)
}

/// Replaces each secret by `[redacted:<kind>]`.
///
/// Text that had a secret is looked at again, until nothing is found: a gap may turn what stands beside it into a
/// value, and redacting twice has to be redacting once.
pub fn redact<'a>(text: &'a str, context: ScanContext<'_>) -> Cow<'a, str> {
    let mut redacted = Cow::Borrowed(text);
    // Two rounds are the rule. The limit is there for text that was made to need many.
    for _ in 0..8 {
        let found = find(&redacted, context);
        if found.is_empty() {
            break;
        }
        redacted = Cow::Owned(without(&redacted, &found));
    }
    redacted
}

fn without(text: &str, found: &[Secret]) -> String {
    let mut left = String::with_capacity(text.len());
    let mut kept = 0;
    for Secret { range, kind } in found {
        left.push_str(&text[kept..range.start]);
        left.push_str("[redacted:");
        left.push_str(kind);
        left.push(']');
        kept = range.end;
    }
    left.push_str(&text[kept..]);
    left
}

/// One pass over one text.
struct Scanner<'a> {
    text: &'a [u8],
    found: Vec<Secret>,
    /// Names up to here have been looked at.
    names_read: usize,
    /// Cookies up to here have been read.
    cookies_read: usize,
    /// The value without quotes that was read last.
    bare: Range<usize>,
    /// Per command, how far its last line went.
    commands_read: [usize; commands::COMMANDS.len()],
}

impl<'a> Scanner<'a> {
    fn new(text: &'a [u8], found: Vec<Secret>) -> Self {
        Self {
            text,
            found,
            names_read: 0,
            cookies_read: 0,
            bare: 0..0,
            commands_read: [0; commands::COMMANDS.len()],
        }
    }

    /// Answers where to go on, or nought for the next byte.
    fn check(&mut self, rule: Rule, at: usize) -> usize {
        match rule {
            Rule::Token(index) => self.keep(tokens::TOKENS[usize::from(index)].find_around(self.text, at)),
            Rule::Command(index) => self.command(index, at),
            Rule::Name => self.name(at),
            Rule::Url => self.url(at),
            Rule::PemBegin => self.pem_begin(at),
            Rule::PemEnd => self.pem_end(at),
            Rule::Jwt => self.keep(tokens::jwt(self.text, at)),
            Rule::Bearer => self.keep(headers::bearer(self.text, at)),
            Rule::Telegram => self.keep(tokens::telegram(self.text, at)),
            Rule::IdentifiedBy => self.identified_by(at),
        }
    }

    fn keep(&mut self, secret: Option<Secret>) -> usize {
        let Some(secret) = secret else { return 0 };
        let end = secret.range.end;
        self.found.push(secret);
        end
    }
}

/// Sorts, joins what overlaps, and moves ends that lie inside an escape sequence or a character to its outside.
fn in_order(text: &str, mut found: Vec<Secret>) -> Vec<Secret> {
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

/// Leaves alone what an earlier pass has put there, so that redacting twice is redacting once.
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
