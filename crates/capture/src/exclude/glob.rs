//! The glob syntax: parses names and braces, and matches sequences.

/// The maximum number of alternatives of one pattern; a pattern with more is taken literally.
const MAX_ALTERNATIVES: usize = 256;

/// One element of a glob within a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum GlobToken {
    Char(char),
    AnyChar,
    AnyText,
    Class {
        is_negated: bool,
        ranges: Vec<(char, char)>,
    },
}

impl GlobToken {
    pub(super) fn matches(&self, given: char) -> bool {
        match self {
            Self::AnyText | Self::AnyChar => true,
            Self::Char(wanted) => *wanted == given,
            Self::Class { is_negated, ranges } => {
                ranges
                    .iter()
                    .any(|(first, last)| (*first..=*last).contains(&given))
                    != *is_negated
            }
        }
    }
}

/// Matches a sequence against a pattern whose elements match one item each, or any number of items.
///
/// Only the last wildcard is retried, because it can match everything that an earlier one could. So the time is bounded
/// by the product of both lengths, also for `*a*a*a*b`.
pub(super) fn wildcard_match<P, I: Clone + Iterator>(
    pattern: &[P],
    items: &mut I,
    is_wildcard: impl Fn(&P) -> bool,
    is_match: impl Fn(&P, I::Item) -> bool,
) -> bool {
    let mut at = 0;
    let mut retry: Option<(usize, I)> = None;
    loop {
        while pattern.get(at).is_some_and(&is_wildcard) {
            at += 1;
            retry = Some((at, items.clone()));
        }
        // A wildcard at the end matches the rest.
        if at == pattern.len() && at.checked_sub(1).is_some_and(|last| is_wildcard(&pattern[last])) {
            return true;
        }
        let Some(item) = items.next() else {
            return at == pattern.len();
        };
        if pattern.get(at).is_some_and(|element| is_match(element, item)) {
            at += 1;
            continue;
        }
        let Some((after, from)) = &mut retry else {
            return false;
        };
        from.next();
        at = *after;
        *items = from.clone();
    }
}

/// Parses one name of a glob.
pub(super) fn tokens(name: &str) -> Vec<GlobToken> {
    let mut tokens = Vec::new();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let mut width = first.len_utf8();
        let token = match first {
            '*' => GlobToken::AnyText,
            '?' => GlobToken::AnyChar,
            '[' => match class(rest) {
                Some((class, length)) => {
                    width = length;
                    class
                }
                None => GlobToken::Char('['),
            },
            other => GlobToken::Char(other),
        };
        if token != GlobToken::AnyText || tokens.last() != Some(&GlobToken::AnyText) {
            tokens.push(token);
        }
        rest = &rest[width..];
    }
    tokens
}

/// Parses the `[…]` at the start of a text and returns its length; `None` if it is not closed.
fn class(text: &str) -> Option<(GlobToken, usize)> {
    let inner = text.strip_prefix('[')?;
    let body = inner.strip_prefix(['!', '^']).unwrap_or(inner);
    let is_negated = body.len() < inner.len();
    // A `]` in first position is a member: `[]]`.
    let first = body.chars().next()?.len_utf8();
    let close = first + body[first..].find(']')?;
    let length = text.len() - body.len() + close + 1;

    let members: Vec<char> = body[..close].chars().collect();
    let mut ranges = Vec::new();
    let mut members = members.as_slice();
    loop {
        members = match members {
            [first, '-', last, rest @ ..] => {
                ranges.push((*first, *last));
                rest
            }
            [one, rest @ ..] => {
                ranges.push((*one, *one));
                rest
            }
            [] => break,
        };
    }
    Some((GlobToken::Class { is_negated, ranges }, length))
}

/// Expands the braces of a pattern.
pub(super) fn alternatives(pattern: &str) -> Vec<String> {
    let mut open = vec![pattern.to_owned()];
    let mut done = Vec::new();
    while let Some(next) = open.pop() {
        let Some(group) = first_group(&next) else {
            done.push(next);
            continue;
        };
        if open.len() + done.len() + group.commas.len() >= MAX_ALTERNATIVES {
            return vec![pattern.to_owned()];
        }
        let bounds = [&[group.start], group.commas.as_slice(), &[group.end]].concat();
        let choices = bounds.windows(2).map(|pair| &next[pair[0] + 1..pair[1]]);
        open.extend(
            choices.map(|choice| format!("{}{choice}{}", &next[..group.start], &next[group.end + 1..])),
        );
    }
    done
}

/// The positions of a pair of braces and the commas between them.
struct Group {
    start: usize,
    commas: Vec<usize>,
    end: usize,
}

/// Finds the leftmost `{…,…}`. Braces without a comma or without a partner are literal.
fn first_group(pattern: &str) -> Option<Group> {
    let mut open: Vec<(usize, Vec<usize>)> = Vec::new();
    let mut found: Option<Group> = None;
    let mut skip_to = 0;
    for (at, letter) in pattern
        .char_indices()
        .filter(|(_, letter)| "[{,}".contains(*letter))
    {
        if at < skip_to {
            continue;
        }
        match letter {
            '[' => {
                let name_end = pattern[at..]
                    .find('/')
                    .map_or(pattern.len(), |length| at + length);
                skip_to = class(&pattern[at..name_end]).map_or(0, |(_, length)| at + length);
            }
            '{' => open.push((at, Vec::new())),
            ',' => {
                if let Some((_, commas)) = open.last_mut() {
                    commas.push(at);
                }
            }
            _ => {
                let Some((start, commas)) = open.pop() else {
                    continue;
                };
                if !commas.is_empty() && found.as_ref().is_none_or(|group| start < group.start) {
                    found = Some(Group {
                        start,
                        commas,
                        end: at,
                    });
                }
            }
        }
    }
    found
}
