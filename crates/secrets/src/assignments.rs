//! Owns values behind telling names: `DB_PASSWORD=…`, `"clientSecret": "…"`, `--token …`, `<password>…</password>`.

use std::ops::Range;

use super::entropy::{looks_random, looks_very_random};
use super::escapes::at_line_end;
use super::literal::{self, ValueContext, is_bare_literal, is_mention, is_placeholder};
use super::names::{self, SecretLikelihood, SecretName};
use super::sites::{
    Assignment, Separator, at_line_start, behind_type, closes_string, ends_line, may_follow, site, unwrapped,
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
        let Some(class) = SecretName::classify(&self.text[name.clone()]) else {
            return 0;
        };
        // `[redacted:password]` is ours.
        if self.text[..name.start].ends_with(b"[redacted:") {
            return 0;
        }
        match class.promise {
            SecretLikelihood::Authorization if site.joint != Separator::Blank => {
                self.keep(headers::authorization(self.text, site.value))
            }
            SecretLikelihood::Cookie if matches!(site.joint, Separator::Colon | Separator::Equals { .. }) => {
                if at >= self.cookies_read {
                    self.cookies_read = headers::cookies(self.text, site.value, &mut self.found);
                }
                0
            }
            SecretLikelihood::Authorization | SecretLikelihood::Cookie => 0,
            _ => self.value_of(class, &site),
        }
    }

    fn value_of(&mut self, name: SecretName, site: &Assignment) -> usize {
        let text = self.text;
        let at = unwrapped(text, site.value);
        let value = if let Some(value) = quoted(text, at) {
            let secret = quoted_is_secret(text, name, site, &text[value.clone()]);
            (secret && !closes_string(text, site, at)).then_some(value)
        } else if let Some(at) = behind_type(text, site) {
            // Typed code writes its literals in quotes.
            let plain = Assignment {
                closed: site.closed,
                joint: Separator::Compares,
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
    let name = SecretName::classify(key.as_bytes())?;
    let value = text.as_bytes();
    let mut found = Vec::new();
    match name.promise {
        SecretLikelihood::Authorization => found.extend(headers::authorization(value, 0)),
        SecretLikelihood::Cookie => {
            headers::cookies(value, 0, &mut found);
        }
        SecretLikelihood::Literal | SecretLikelihood::Random | SecretLikelihood::VeryRandom => {
            let site = Assignment {
                name: 0..0,
                joint: Separator::Colon,
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

fn quoted_is_secret(text: &[u8], name: SecretName, site: &Assignment, value: &[u8]) -> bool {
    if value.len() < 4 || is_placeholder(value) {
        return false;
    }
    let literal = || !is_mention(value) && (name.kind == "connection-string" || !is_url(value));
    match (name.promise, site.joint) {
        (SecretLikelihood::VeryRandom, _) => looks_very_random(value),
        (_, Separator::Flag) => {
            literal() && (name.promise == SecretLikelihood::Literal || is_flag_value(value))
        }
        // A list of names looks the same; but a list of environment variables is all capitals.
        (SecretLikelihood::Literal, Separator::Comma) if name.upper => {
            literal() && value.iter().any(u8::is_ascii_lowercase)
        }
        // SQL: `WITH PASSWORD '…'`.
        (SecretLikelihood::Literal, Separator::Blank) => {
            literal() && (name.upper || follows(text, site.name.start, b"with "))
        }
        (SecretLikelihood::Literal, Separator::Comma) | (SecretLikelihood::Random, _) => {
            looks_random(value) && !is_url(value)
        }
        (SecretLikelihood::Literal, _) => literal(),
        (SecretLikelihood::Authorization | SecretLikelihood::Cookie, _) => false,
    }
}

/// Judges the value as it is and as its first line.
fn bare_is_secret(text: &[u8], name: SecretName, site: &Assignment, range: &Range<usize>) -> bool {
    let line = range.start..range.start + first_line(&text[range.clone()]).len();
    is_secret_unquoted(text, name, site, range)
        || (line.end < range.end && is_secret_unquoted(text, name, site, &line))
}

fn is_secret_unquoted(text: &[u8], name: SecretName, site: &Assignment, range: &Range<usize>) -> bool {
    let value = &text[range.clone()];
    if value.len() < 4 || is_placeholder(value) || is_url(value) || text.get(range.end) == Some(&b'(') {
        return false;
    }
    match (name.promise, site.joint) {
        (_, Separator::Compares | Separator::Comma) => false,
        (_, Separator::Element) if text.get(range.end) != Some(&b'<') => false,
        (SecretLikelihood::VeryRandom, _) | (_, Separator::Blank) => looks_very_random(value),
        (SecretLikelihood::Random, Separator::Flag) => is_flag_value(value) && !value.starts_with(b"-"),
        (SecretLikelihood::Random, _) => looks_random(value),
        (SecretLikelihood::Literal, _) => {
            let counted = name.may_count && value.iter().all(u8::is_ascii_digit);
            !counted && is_bare_literal(value, setting(text, name, site, range.end))
        }
        (SecretLikelihood::Authorization | SecretLikelihood::Cookie, _) => false,
    }
}

/// `--token` announces a secret more firmly than `token =` does.
fn is_flag_value(value: &[u8]) -> bool {
    let has = |class: fn(&u8) -> bool| value.iter().take(literal::WINDOW).any(class);
    let mixed = value.len() >= 8 && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
    let simple = !value
        .iter()
        .take(literal::WINDOW)
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

fn setting(text: &[u8], name: SecretName, site: &Assignment, end: usize) -> ValueContext {
    let tight = site.joint == Separator::Equals { tight: true };
    let before = site.name.start.checked_sub(1).map(|before| text[before]);
    let listed = tight
        && (matches!(before, Some(b'?' | b'&' | b';')) || text.get(end) == Some(&b';'))
        && (text.get(end) != Some(&b';') || begins_next(text, end + 1));
    let line = at_line_start(text, site.name.start) && ends_line(text, end);
    match site.joint {
        Separator::Flag => ValueContext::Flag,
        Separator::Element => ValueContext::Shell,
        _ if (tight && name.upper) || (listed && (before != Some(b' ') || !at_line_end(text, end + 1))) => {
            ValueContext::Shell
        }
        Separator::Pair if ends_line(text, end) => ValueContext::Line,
        _ if line => ValueContext::Line,
        _ => ValueContext::Inline,
    }
}

fn follows(text: &[u8], at: usize, words: &[u8]) -> bool {
    text[..at].len() >= words.len() && text[at - words.len()..at].eq_ignore_ascii_case(words)
}
