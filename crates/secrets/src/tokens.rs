//! Vendors' tokens: those recognized by a prefix (`vendors` has one row for each), and those with a format of their own.

use std::ops::Range;

use backstory_text::scan;

use crate::{
    entropy::looks_random,
    escapes::{at_word_start, backslashes_at},
    secret::Secret,
    vendors::{Alphabet, TOKENS, TokenPattern, WORD},
};

/// The length of a run that decides. Without a limit a run of prefixes would be read once per prefix.
const DECIDING: usize = 32;

impl TokenPattern {
    /// Returns the token whose anchor is at `anchor`.
    pub(crate) fn find_around(&'static self, text: &[u8], anchor: usize) -> Option<Secret> {
        self.find(text, anchor.checked_sub(self.anchor)?)
    }

    /// Returns the token at `at`.
    fn find(&'static self, text: &[u8], at: usize) -> Option<Secret> {
        let body = self.after_prefix(text, at)?;
        let start = self.start(text, at)?;
        if self.needs_start() && !at_word_start(text, start) {
            return None;
        }
        if self.common && !is_mixed(text.get(body..body + self.min)?) {
            return None;
        }
        let shortest = run(text, body, self.alphabet, self.min.max(DECIDING));
        if shortest - body < self.min || (self.common && !looks_random(&text[body..shortest])) {
            return None;
        }
        Some(Secret {
            range: start..run(text, body, self.alphabet, usize::MAX),
            kind: self.kind.as_str(),
        })
    }

    /// Returns the start of the token, which may have characters before its mark.
    fn start(&self, text: &[u8], at: usize) -> Option<usize> {
        let (alphabet, length) = self.before;
        let before = text[..at]
            .iter()
            .rev()
            .take(if length > 0 { 64 } else { 0 })
            .take_while(|&&byte| contains(alphabet, byte))
            .count();
        let mut start = at - before;
        if start > 0 && start < at && text[start - 1] == b'\\' && matches!(text[start], b'n' | b'r' | b't') {
            start += 1;
        }
        (at - start >= length).then_some(start)
    }

    /// Reports whether the prefix must start a word: one that ends in a letter or digit occurs anywhere in base64.
    fn needs_start(&self) -> bool {
        self.common
            || self.before.1 > 0
            || self
                .prefix
                .as_bytes()
                .last()
                .is_some_and(u8::is_ascii_alphanumeric)
    }

    /// Returns the position after the prefix, whose slashes may be escaped in the text.
    fn after_prefix(&self, text: &[u8], mut at: usize) -> Option<usize> {
        for &expected in self.prefix.as_bytes() {
            if expected == b'/' {
                at += backslashes_at(text, at);
            }
            if text.get(at) != Some(&expected) {
                return None;
            }
            at += 1;
        }
        Some(at)
    }
}

/// Rejects words in lower case, the most frequent false hit, cheaply.
fn is_mixed(token: &[u8]) -> bool {
    token
        .iter()
        .any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
}

/// Returns the kind of the token that `text` starts with.
pub(crate) fn kind_of(text: &[u8]) -> Option<&'static str> {
    if text.len() < 16 {
        return None;
    }
    let token = TOKENS.iter().find_map(|token| token.find(text, 0));
    token.or_else(|| jwt(text, 0)).map(|secret| secret.kind)
}

/// Reads a JSON Web Token: `eyJ….eyJ….signature`, also without the signature, or the five parts of an encrypted one.
pub(crate) fn jwt(text: &[u8], at: usize) -> Option<Secret> {
    let joined = at > 0 && matches!(text[at - 1], b'_' | b'-');
    if !text[at..].starts_with(b"eyJ") || joined || !at_word_start(text, at) {
        return None;
    }
    let header = run(text, at, WORD, usize::MAX);
    let mut end = header;
    let mut parts = 1;
    while parts < 5 && text.get(end) == Some(&b'.') {
        end = run(text, end + 1, WORD, usize::MAX);
        parts += 1;
    }
    let signed = text[header..].starts_with(b".eyJ") && end - header > 8;
    let encrypted = parts == 5 && end - header > 32;
    (header - at >= 8 && (signed || encrypted)).then_some(Secret {
        range: at..end,
        kind: "jwt",
    })
}

/// Reads a Telegram token, `123456789:AA…`; `at` is the position of the colon.
pub(crate) fn telegram(text: &[u8], at: usize) -> Option<Secret> {
    let digits = text[..at]
        .iter()
        .rev()
        .take(17)
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let end = run(text, at + 1, WORD, usize::MAX);
    let exact =
        text[at..].starts_with(b":AA") && (8..=16).contains(&digits) && (34..=48).contains(&(end - at));
    exact.then(|| Secret {
        range: at - digits..end,
        kind: "telegram-token",
    })
}

/// Finds Discord tokens, `id.time.signature`: only the two dots, with six characters between them, are fixed.
pub(crate) fn discord(text: &[u8], found: &mut Vec<Secret>) {
    const BLOCK: usize = 64;
    let mut at = 0;
    while let Some(block) = text.get(at..).and_then(<[u8]>::first_chunk::<{ BLOCK + 7 }>) {
        // No early exit, so that the compiler can compare sixteen bytes at once.
        let hit = (0..BLOCK).fold(false, |hit, i| {
            hit | ((block[i] == b'.') & (block[i + 7] == b'.'))
        });
        if hit {
            found.extend(
                scan::positions(&text[at..at + BLOCK], b'.').filter_map(|dot| discord_at(text, at + dot)),
            );
        }
        at += BLOCK;
    }
    found.extend(scan::positions(&text[at..], b'.').filter_map(|dot| discord_at(text, at + dot)));
}

fn discord_at(text: &[u8], dot: usize) -> Option<Secret> {
    if text[dot] != b'.' || text.get(dot + 7) != Some(&b'.') {
        return None;
    }
    let id = text[..dot]
        .iter()
        .rev()
        .take(40)
        .take_while(|&&byte| contains(WORD, byte))
        .count();
    let mut start = dot - id;
    if start > 0 && text[start - 1] == b'\\' && matches!(text[start], b'n' | b'r' | b't') {
        start += 1;
    }
    let time = run(text, dot + 1, WORD, 7);
    let end = run(text, dot + 8, WORD, 64);
    let shaped =
        (23..=30).contains(&(dot - start)) && time == dot + 7 && (27..=40).contains(&(end - dot - 8));
    // The first part is a number in base64, which always starts with one of these.
    let numeric =
        matches!(text[start], b'M' | b'N' | b'O') && text[start..dot].iter().any(u8::is_ascii_digit);
    (shaped && numeric).then_some(Secret {
        range: start..end,
        kind: "discord-token",
    })
}

fn contains(alphabet: Alphabet, byte: u8) -> bool {
    byte < 128 && alphabet >> byte & 1 == 1
}

/// Returns the end of the run of characters of an alphabet from `at` on, at most `limit` bytes. A slash may be escaped.
fn run(text: &[u8], at: usize, alphabet: Alphabet, limit: usize) -> usize {
    let Range { mut start, end } = at..text.len().min(at.saturating_add(limit));
    while start < end {
        if contains(alphabet, text[start]) {
            start += 1;
            continue;
        }
        let slash = start + backslashes_at(text, start);
        if slash == start || text.get(slash) != Some(&b'/') || !contains(alphabet, b'/') {
            break;
        }
        start = slash + 1;
    }
    start.min(text.len())
}
