//! Values assigned to names that announce a secret: `DB_PASSWORD=…`, `"clientSecret": "…"`, `--token …`,
//! `<password>…</password>`.

use std::ops::Range;

use crate::{
    entropy::{looks_random, looks_very_random},
    escapes::{at_line_end, skip_blanks},
    headers,
    literal::{ValueContext, is_bare_literal, is_mention, is_placeholder},
    names::{self, SecretLikelihood, SecretName},
    secret::Secret,
    separators::{
        Assignment, Separator, after_type, at_line_start, closes_string, ends_line, may_follow,
        read_assignment, unwrapped,
    },
    tables, tokens,
    values::{bare_end, first_line, quoted, starts_next, without_brackets},
    window::window,
};

/// Progress in one text: hostile input must not be read once per name.
#[derive(Debug, Default)]
pub(crate) struct Assignments {
    /// Names up to this position have been examined.
    names_read: usize,
    /// Tables up to this position have been examined.
    tables_read: usize,
    /// Cookies up to this position have been examined.
    cookies_read: usize,
    /// The unquoted value that was read last.
    bare: Range<usize>,
}

impl Assignments {
    /// Examines the name around `at` and its value. Returns the position at which to continue, or 0.
    pub(crate) fn read(&mut self, text: &[u8], at: usize, found: &mut Vec<Secret>) -> usize {
        if at < self.names_read {
            return 0;
        }
        let end = names::end(text, at);
        self.names_read = end;
        if !may_follow(text, end) {
            return 0;
        }
        let name = names::start(text, at)..end;
        if at >= self.tables_read
            && may_be_cell(text, end)
            && let Some(table_end) = tables::column(text, &name, found)
        {
            self.tables_read = table_end;
        }
        let Some(assignment) = read_assignment(text, &name) else {
            return 0;
        };
        let class = SecretName::classify(&text[name.clone()]).or_else(|| odbc_password(text, &name));
        let Some(class) = class else { return 0 };
        // `[redacted:password]` was written by an earlier pass.
        if text[..name.start].ends_with(b"[redacted:") {
            return 0;
        }
        let secret = match class.likelihood {
            SecretLikelihood::Authorization if assignment.separator != Separator::Blank => {
                headers::authorization(text, assignment.value)
            }
            SecretLikelihood::Cookie
                if matches!(assignment.separator, Separator::Colon | Separator::Equals { .. }) =>
            {
                if at >= self.cookies_read {
                    self.cookies_read = headers::cookies(text, assignment.value, found);
                }
                None
            }
            SecretLikelihood::Authorization | SecretLikelihood::Cookie => None,
            _ => self.value_of(text, class, &assignment),
        };
        let Some(secret) = secret else { return 0 };
        let end = secret.range.end;
        found.push(secret);
        end
    }

    fn value_of(&mut self, text: &[u8], name: SecretName, site: &Assignment) -> Option<Secret> {
        let at = unwrapped(text, site.value);
        let value = if let Some(value) = quoted(text, at) {
            let secret = quoted_is_secret(text, name, site, &text[value.clone()]);
            (secret && !closes_string(text, site, at)).then_some(value)
        } else if let Some(at) = after_type(text, site) {
            // Typed code puts its literals in quotes.
            let untyped = Assignment {
                is_quoted: site.is_quoted,
                separator: Separator::Compares,
                value: at,
                name: site.name.clone(),
            };
            return self.value_of(text, name, &untyped);
        } else {
            let value = without_brackets(text, at..self.bare_end(text, at));
            bare_is_secret(text, name, site, &value).then_some(value)
        };
        value.map(|range| {
            let kind = tokens::kind_of(&text[range.clone()]).unwrap_or(name.kind);
            Secret { range, kind }
        })
    }

    /// Caches the last result: in `password=password=password=…` all values end at the same position.
    fn bare_end(&mut self, text: &[u8], at: usize) -> usize {
        if !self.bare.contains(&at) {
            self.bare = at..bare_end(text, at);
        }
        self.bare.end
    }
}

/// Reports cheaply whether a name that ends at `end` may be the header of a column.
fn may_be_cell(text: &[u8], end: usize) -> bool {
    let after = skip_blanks(text, end);
    matches!(text.get(after), None | Some(b'|' | b',' | b'\t' | b'\\')) || at_line_end(text, after)
}

/// Recognizes `PWD` in a connection string; elsewhere it is the working folder.
fn odbc_password(text: &[u8], name: &Range<usize>) -> Option<SecretName> {
    let listed = text[..name.start].ends_with(b";") && &text[name.clone()] == b"PWD";
    listed.then_some(SecretName {
        likelihood: SecretLikelihood::Literal,
        kind: "password",
        is_upper: true,
        may_count: false,
    })
}

/// Reports whether a name announces a secret: a JSON key, a column, a variable.
pub fn is_secret_name(key: &str) -> bool {
    SecretName::classify(key.as_bytes()).is_some()
}

/// Returns the secrets of a text that is the whole value of a JSON key, if the key announces one.
pub(crate) fn whole_value(key: &str, text: &str) -> Option<Vec<Secret>> {
    let name = SecretName::classify(key.as_bytes())?;
    let value = text.as_bytes();
    let mut found = Vec::new();
    match name.likelihood {
        SecretLikelihood::Authorization => found.extend(headers::authorization(value, 0)),
        SecretLikelihood::Cookie => {
            headers::cookies(value, 0, &mut found);
        }
        SecretLikelihood::Literal | SecretLikelihood::Random | SecretLikelihood::VeryRandom => {
            let site = Assignment {
                name: 0..0,
                separator: Separator::Colon,
                value: 0,
                is_quoted: true,
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
    match (name.likelihood, site.separator) {
        (SecretLikelihood::VeryRandom, _) => looks_very_random(value),
        (_, Separator::Flag) => {
            literal() && (name.likelihood == SecretLikelihood::Literal || is_flag_value(value))
        }
        // A list of names looks the same, but a list of environment variables is in upper case.
        (SecretLikelihood::Literal, Separator::Comma) if name.is_upper => {
            literal() && value.iter().any(u8::is_ascii_lowercase)
        }
        // SQL: `WITH PASSWORD '…'`.
        (SecretLikelihood::Literal, Separator::Blank) => {
            literal() && (name.is_upper || follows(text, site.name.start, b"with "))
        }
        (SecretLikelihood::Literal, Separator::Comma | Separator::Cell) | (SecretLikelihood::Random, _) => {
            looks_random(value) && !is_url(value)
        }
        (SecretLikelihood::Literal, _) => literal(),
        (SecretLikelihood::Authorization | SecretLikelihood::Cookie, _) => false,
    }
}

/// Reports whether the value or its first line is a secret.
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
    match (name.likelihood, site.separator) {
        (_, Separator::Compares | Separator::Comma) => false,
        (_, Separator::Element) if text.get(range.end) != Some(&b'<') => false,
        (SecretLikelihood::VeryRandom, _) | (_, Separator::Blank) => looks_very_random(value),
        (_, Separator::Cell) => looks_random(value),
        (SecretLikelihood::Random, Separator::Flag) => is_flag_value(value) && !value.starts_with(b"-"),
        (SecretLikelihood::Random, _) => looks_random(value),
        (SecretLikelihood::Literal, _) => {
            let counted = name.may_count && value.iter().all(u8::is_ascii_digit);
            !counted && is_bare_literal(value, value_context(text, name, site, range.end))
        }
        (SecretLikelihood::Authorization | SecretLikelihood::Cookie, _) => false,
    }
}

/// Reports whether a value after a flag is a secret: `--token` announces one more firmly than `token =` does.
fn is_flag_value(value: &[u8]) -> bool {
    let has = |class: fn(&u8) -> bool| window(value).iter().any(class);
    let mixed = value.len() >= 8 && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
    let simple = !window(value).iter().any(|byte| b"/=,(){}[] $".contains(byte));
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

fn value_context(text: &[u8], name: SecretName, site: &Assignment, end: usize) -> ValueContext {
    let tight = site.separator == Separator::Equals { tight: true };
    let before = site.name.start.checked_sub(1).map(|before| text[before]);
    let listed = tight
        && (matches!(before, Some(b'?' | b'&' | b';')) || text.get(end) == Some(&b';'))
        && (text.get(end) != Some(&b';') || starts_next(text, end + 1));
    let line = at_line_start(text, site.name.start) && ends_line(text, end);
    match site.separator {
        Separator::Flag => ValueContext::Flag,
        Separator::Element => ValueContext::Shell,
        _ if (tight && name.is_upper)
            || (listed && (before != Some(b' ') || !at_line_end(text, end + 1))) =>
        {
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
