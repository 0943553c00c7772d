//! Owns values behind telling names: `DB_PASSWORD=…`, `"clientSecret": "…"`, `--token …`, `<password>…</password>`.

use std::ops::Range;

use super::escapes::at_line_end;
use super::judge::{self, Setting, is_bare_literal, is_mention, is_placeholder};
use super::names::{self, Name, Promise};
use super::randomness::{looks_random, looks_very_random};
use super::sites::{
    Joint, Site, at_line_start, behind_type, closes_string, ends_line, may_follow, site, unwrapped,
};
use super::values::{bare_end, begins_next, first_line, quoted, without_brackets};
use super::{Scanner, Secret, headers, tokens};

impl Scanner<'_> {
    /// Looks at the name around `at` and at what follows it.
    pub(super) fn name(&mut self, at: usize) -> usize {
        if at < self.names_read {
            return 0;
        }
        let end = names::end(self.text, at);
        self.names_read = end;
        if !may_follow(self.text, end) {
            return 0;
        }
        let name = names::start(self.text, at)..end;
        let Some(site) = site(self.text, &name) else {
            return 0;
        };
        let Some(class) = Name::classify(&self.text[name.clone()]) else {
            return 0;
        };
        // `[redacted:password]` is ours.
        if self.text[..name.start].ends_with(b"[redacted:") {
            return 0;
        }
        match class.promise {
            Promise::Authorization if site.joint != Joint::Blank => {
                self.keep(headers::authorization(self.text, site.value))
            }
            Promise::Cookie if matches!(site.joint, Joint::Colon | Joint::Equals { .. }) => {
                if at >= self.cookies_read {
                    self.cookies_read = headers::cookies(self.text, site.value, &mut self.found);
                }
                0
            }
            Promise::Authorization | Promise::Cookie => 0,
            _ => self.value_of(class, &site),
        }
    }

    fn value_of(&mut self, name: Name, site: &Site) -> usize {
        let text = self.text;
        let at = unwrapped(text, site.value);
        let value = if let Some(value) = quoted(text, at) {
            let secret = quoted_is_secret(text, name, site, &text[value.clone()]);
            (secret && !closes_string(text, site, at)).then_some(value)
        } else if let Some(at) = behind_type(text, site) {
            // Typed code writes its literals in quotes.
            let plain = Site {
                closed: site.closed,
                joint: Joint::Compares,
                value: at,
                name: site.name.clone(),
            };
            return self.value_of(name, &plain);
        } else {
            let value = without_brackets(text, at..self.bare_end(at));
            bare_is_secret(text, name, site, &value).then_some(value)
        };
        self.keep(value.map(|range| {
            let kind = tokens::kind_of(&text[range.clone()]).unwrap_or(name.kind);
            Secret { range, kind }
        }))
    }

    /// Remembers the last answer: in `password=password=password=…` all values end at the same place.
    fn bare_end(&mut self, at: usize) -> usize {
        if !self.bare.contains(&at) {
            self.bare = at..bare_end(self.text, at);
        }
        self.bare.end
    }
}

/// Says whether the whole of `value` is the secret that a JSON key promises.
pub(super) fn whole_value(key: &str, text: &str) -> Option<Vec<Secret>> {
    let name = Name::classify(key.as_bytes())?;
    let value = text.as_bytes();
    let mut found = Vec::new();
    match name.promise {
        Promise::Authorization => found.extend(headers::authorization(value, 0)),
        Promise::Cookie => {
            headers::cookies(value, 0, &mut found);
        }
        Promise::Literal | Promise::Random | Promise::VeryRandom => {
            let site = Site {
                name: 0..0,
                joint: Joint::Colon,
                value: 0,
                closed: true,
            };
            if quoted_is_secret(value, name, &site, value) {
                let kind = tokens::kind_of(value).unwrap_or(name.kind);
                found.push(Secret {
                    range: 0..value.len(),
                    kind,
                });
            }
        }
    }
    (!found.is_empty()).then_some(found)
}

fn quoted_is_secret(text: &[u8], name: Name, site: &Site, value: &[u8]) -> bool {
    if value.len() < 4 || is_placeholder(value) {
        return false;
    }
    let literal = || !is_mention(value) && (name.kind == "connection-string" || !is_url(value));
    match (name.promise, site.joint) {
        (Promise::VeryRandom, _) => looks_very_random(value),
        (_, Joint::Flag) => literal() && (name.promise == Promise::Literal || is_flag_value(value)),
        // A list of names looks the same; but a list of environment variables is all capitals.
        (Promise::Literal, Joint::Comma) if name.upper => {
            literal() && value.iter().any(u8::is_ascii_lowercase)
        }
        // SQL: `WITH PASSWORD '…'`.
        (Promise::Literal, Joint::Blank) => {
            literal() && (name.upper || follows(text, site.name.start, b"with "))
        }
        (Promise::Literal, Joint::Comma) | (Promise::Random, _) => looks_random(value) && !is_url(value),
        (Promise::Literal, _) => literal(),
        (Promise::Authorization | Promise::Cookie, _) => false,
    }
}

/// Judges the value as it is and as its first line.
fn bare_is_secret(text: &[u8], name: Name, site: &Site, range: &Range<usize>) -> bool {
    let line = range.start..range.start + first_line(&text[range.clone()]).len();
    is_secret_unquoted(text, name, site, range)
        || (line.end < range.end && is_secret_unquoted(text, name, site, &line))
}

fn is_secret_unquoted(text: &[u8], name: Name, site: &Site, range: &Range<usize>) -> bool {
    let value = &text[range.clone()];
    if value.len() < 4 || is_placeholder(value) || is_url(value) || text.get(range.end) == Some(&b'(') {
        return false;
    }
    match (name.promise, site.joint) {
        (_, Joint::Compares | Joint::Comma) => false,
        (_, Joint::Element) if text.get(range.end) != Some(&b'<') => false,
        (Promise::VeryRandom, _) | (_, Joint::Blank) => looks_very_random(value),
        (Promise::Random, Joint::Flag) => is_flag_value(value) && !value.starts_with(b"-"),
        (Promise::Random, _) => looks_random(value),
        (Promise::Literal, _) => {
            let counted = name.may_count && value.iter().all(u8::is_ascii_digit);
            !counted && is_bare_literal(value, setting(text, name, site, range.end))
        }
        (Promise::Authorization | Promise::Cookie, _) => false,
    }
}

/// `--token` announces a secret more firmly than `token =` does.
fn is_flag_value(value: &[u8]) -> bool {
    let has = |class: fn(&u8) -> bool| value.iter().take(judge::WINDOW).any(class);
    let mixed = value.len() >= 8 && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
    let simple = !value
        .iter()
        .take(judge::WINDOW)
        .any(|byte| b"/=,(){}[] $".contains(byte));
    (mixed && simple) || looks_random(value)
}

fn is_url(value: &[u8]) -> bool {
    let scheme = value
        .iter()
        .take(16)
        .take_while(|byte| byte.is_ascii_lowercase() || b"+-.".contains(byte))
        .count();
    scheme > 2 && (value[scheme..].starts_with(b"://") || value[scheme..].starts_with(b":\\/"))
}

fn setting(text: &[u8], name: Name, site: &Site, end: usize) -> Setting {
    let tight = site.joint == Joint::Equals { tight: true };
    let before = site.name.start.checked_sub(1).map(|before| text[before]);
    let listed = tight
        && (matches!(before, Some(b'?' | b'&' | b';')) || text.get(end) == Some(&b';'))
        && (text.get(end) != Some(&b';') || begins_next(text, end + 1));
    let line = at_line_start(text, site.name.start) && ends_line(text, end);
    match site.joint {
        Joint::Flag => Setting::Flag,
        Joint::Element => Setting::Shell,
        _ if (tight && name.upper) || (listed && (before != Some(b' ') || !at_line_end(text, end + 1))) => {
            Setting::Shell
        }
        Joint::Pair if ends_line(text, end) => Setting::Line,
        _ if line => Setting::Line,
        _ => Setting::Inline,
    }
}

fn follows(text: &[u8], at: usize, words: &[u8]) -> bool {
    text[..at].len() >= words.len() && text[at - words.len()..at].eq_ignore_ascii_case(words)
}
