//! Columns of secrets in tables that are printed as text: `psql`, `mysql`, Markdown, CSV.

use std::ops::Range;

use crate::{
    entropy::looks_random,
    literal::{is_mention, is_placeholder},
    names::{SecretLikelihood, SecretName},
    secret::Secret,
};

/// The longest line of a table.
const MAX_LINE: usize = 1024;

/// Finds the values below the column whose header is `name`. Returns the end of the table.
pub(crate) fn column(text: &[u8], name: &Range<usize>, found: &mut Vec<Secret>) -> Option<usize> {
    // The end of an escape, a quote or a separator; any other byte makes it a word of a sentence or of code.
    let before = text[..name.start].trim_ascii_end().last();
    if !before.is_none_or(|byte| b"|,n\"\\".contains(byte)) && !text[..name.start].ends_with(b"\n") {
        return None;
    }
    let class = SecretName::classify(&text[name.clone()])?;
    let header = line_around(text, name)?;
    let separator = separator(text, &header, name)?;
    let is_separator = |byte: &&u8| **byte == separator;
    let column = text[header.start..name.start].iter().filter(is_separator).count();
    let separators = text[header.clone()].iter().filter(is_separator).count();
    let mut end = header.end;
    while let Some(line) = next_line(text, end) {
        let row = &text[line.clone()];
        let is_rule = row.iter().all(|byte| b"-+|: =".contains(byte));
        if !is_rule && row.iter().filter(is_separator).count() != separators {
            break;
        }
        end = line.end;
        let cell = cells(text, &line, separator).nth(column);
        if let Some(cell) = cell.filter(|_| !is_rule).map(|cell| trimmed(text, cell))
            && is_secret(class, &text[cell.clone()])
        {
            found.push(Secret {
                range: cell,
                kind: class.kind,
            });
        }
    }
    (end > header.end).then_some(end)
}

fn is_secret(name: SecretName, value: &[u8]) -> bool {
    match name.likelihood {
        SecretLikelihood::Literal => value.len() >= 4 && !is_placeholder(value) && !is_mention(value),
        SecretLikelihood::Random => looks_random(value) && !is_placeholder(value),
        _ => false,
    }
}

/// Returns the separator if the name is a cell of its own.
fn separator(text: &[u8], header: &Range<usize>, name: &Range<usize>) -> Option<u8> {
    let before = text[header.start..name.start].trim_ascii_end();
    let after = text[name.end..header.end].trim_ascii_start();
    for separator in [b'|', b'\t'] {
        let bounded = before.last().is_none_or(|byte| *byte == separator)
            && after.first().is_none_or(|byte| *byte == separator);
        // `a|b` is an expression; a table has blanks around its bars.
        let spaced = separator == b'\t' || name.end == header.end || text[name.end] == b' ';
        if bounded && spaced && !(before.is_empty() && after.is_empty()) {
            return Some(separator);
        }
    }
    // A line of code may have commas too, but not only names between them.
    let names = cells(text, header, b',');
    let is_header = names.clone().count() > 1
        && names.clone().all(|cell| is_name(&text[cell]))
        && (before.is_empty() || before.ends_with(b","));
    is_header.then_some(b',')
}

fn is_name(cell: &[u8]) -> bool {
    let cell = cell
        .strip_prefix(b"\"")
        .and_then(|cell| cell.strip_suffix(b"\""))
        .unwrap_or(cell);
    cell.first().is_some_and(u8::is_ascii_alphabetic)
        && cell
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

fn cells<'t>(
    text: &'t [u8],
    line: &Range<usize>,
    separator: u8,
) -> impl Iterator<Item = Range<usize>> + Clone + 't {
    let start = line.start;
    let mut from = 0;
    text[line.clone()]
        .split(move |byte| *byte == separator)
        .map(move |cell| {
            let range = start + from..start + from + cell.len();
            from += cell.len() + 1;
            range
        })
}

/// Excludes blanks and quotes around a cell.
fn trimmed(text: &[u8], mut cell: Range<usize>) -> Range<usize> {
    let is_edge = |byte: u8| b" \t\"'\\".contains(&byte);
    while cell.start < cell.end && is_edge(text[cell.start]) {
        cell.start += 1;
    }
    while cell.start < cell.end && is_edge(text[cell.end - 1]) {
        cell.end -= 1;
    }
    cell
}

/// Returns the line around a range, without its end.
fn line_around(text: &[u8], range: &Range<usize>) -> Option<Range<usize>> {
    let from = range.start.saturating_sub(MAX_LINE);
    let start = (from..range.start)
        .rev()
        .find_map(|at| break_at(text, at).map(|length| at + length))
        .unwrap_or(from);
    let end = line_end(text, range.end)?;
    (start <= range.start && range.start - start < MAX_LINE).then_some(start..end)
}

fn next_line(text: &[u8], end: usize) -> Option<Range<usize>> {
    let start = end + break_at(text, end)?;
    let end = line_end(text, start)?;
    (end > start).then_some(start..end)
}

/// Returns the end of a line that is not too long.
fn line_end(text: &[u8], from: usize) -> Option<usize> {
    (from..text.len().min(from + MAX_LINE))
        .find(|at| break_at(text, *at).is_some())
        .or_else(|| (text.len() - from < MAX_LINE).then_some(text.len()))
}

/// Returns the length of the line break at `at`, plain or escaped.
fn break_at(text: &[u8], at: usize) -> Option<usize> {
    match text.get(at..)? {
        [b'\n', ..] => Some(1),
        [b'\r', b'\n', ..] => Some(2),
        [b'\\', b'r', b'\\', b'n', ..] => Some(4),
        [b'\\', b'n', ..] => Some(2),
        [b'\\', b'\\', b'n', ..] => Some(3),
        _ => None,
    }
}
