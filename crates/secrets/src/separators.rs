//! The syntax that joins a name and a value: `=`, `: `, `--name value`, `<name>`, and the characters around them.

use std::ops::Range;

use backstory_text::scan;

use crate::escapes::{
    EscapeStep, at_line_end, at_word_start, backslashes_at, backslashes_before, skip_blanks, skip_quote, step,
};

/// The separator between a name and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Separator {
    /// `=`, `:=`, `::=`, `?=`, `=>`, and `:-` in `${NAME:-value}`.
    Equals {
        /// No blank is around it.
        tight: bool,
    },
    Colon,
    /// `==`, `+=`, `.=`, `<-`, or `=` after a type: only a value in quotes counts.
    Compares,
    /// `--name value`, also as two strings of an array.
    Flag,
    /// `"name", "value"`, and a default: `NAME || "value"`.
    Comma,
    /// `<name>value</name>`, `<string name="name">value</string>`, `<key>name</key><string>value</string>`.
    Element,
    /// `name: NAME`, then `value: …`.
    Pair,
    /// `| name | value |`.
    Cell,
    /// A blank.
    Blank,
}

/// A name and the start of its value.
pub(crate) struct Assignment {
    pub(crate) name: Range<usize>,
    pub(crate) separator: Separator,
    pub(crate) value: usize,
    /// The name itself is in quotes.
    pub(crate) is_quoted: bool,
}

/// Calls around a string that return it unchanged.
const WRAPPERS: &[&str] = &[
    "Some(",
    "String::from(",
    "str(",
    "SecretString::from(",
    "SecretString::new(",
    "Secret::new(",
    "new String(",
];

/// Reports cheaply whether a value can follow a name that ends at `end`.
pub(crate) fn may_follow(text: &[u8], end: usize) -> bool {
    matches!(
        text.get(end),
        Some(
            b'=' | b':'
                | b' '
                | b'"'
                | b'\''
                | b'`'
                | b'\\'
                | b'>'
                | b'<'
                | b'+'
                | b'.'
                | b'|'
                | b','
                | b'['
                | b'?'
                | b'!'
                | b'\t'
                | b'\n'
                | b'\r'
        )
    )
}

/// Reads the separator after a name.
pub(crate) fn read_assignment(text: &[u8], name: &Range<usize>) -> Option<Assignment> {
    let mut at = name.end;
    if matches!(text.get(at), Some(b'?' | b'!')) && text.get(at + 1) == Some(&b':') {
        at += 1;
    }
    let closed = skip_quote(text, at);
    at = closed.unwrap_or(at);
    if matches!(text.get(at), Some(b']' | b')')) && closed.is_some() {
        at += 1;
    } else if text.get(at) == Some(&b'[') {
        at = text[at..]
            .get(..10)?
            .iter()
            .position(|&b| b == b']')
            .map(|length| at + length + 1)?;
    }
    let blank = at;
    at = skip_blanks(text, at);
    let spaced = at > blank;
    let rest = &text[at..];
    let tight = |length: usize| Separator::Equals {
        tight: !spaced && closed.is_none() && !is_blank(text, at + length),
    };
    let (separator, length) = match rest {
        [b'=', b'=', b'=', ..] => (Separator::Compares, 3),
        [b'=', b'=', ..] => (Separator::Compares, 2),
        [b'=', b'>', ..] | [b':', b'=', ..] | [b'?', b'=', ..] => (Separator::Equals { tight: false }, 2),
        [b':', b':', b'=', ..] => (Separator::Equals { tight: false }, 3),
        [b':', b':', b':', b'=', ..] => (Separator::Equals { tight: false }, 4),
        [b':', b'-', ..] if text[..name.start].ends_with(b"${") => (Separator::Equals { tight: true }, 2),
        [b'.', b'=', ..] | [b'+', b'=', ..] | [b'<', b'-', ..] => (Separator::Compares, 2),
        [b'|', b'|', ..] | [b'?', b'?', ..] => (Separator::Comma, 2),
        [b'|', ..] => (Separator::Cell, 1),
        [b'=', b'~', ..] | [b':', b':', ..] => return None,
        [b'=', ..] => (tight(1), 1),
        [b':', ..] => (Separator::Colon, 1),
        [b',', ..] if closed.is_some() && is_flag(text, name.start) => (Separator::Flag, 1),
        [b',', ..] if closed.is_some() && skip_quote(text, skip_blanks(text, at + 1)).is_some() => {
            (Separator::Comma, 1)
        }
        [b'>', ..]
            if text[..name.start].ends_with(b"<") || (closed.is_some() && is_attribute(text, name.start)) =>
        {
            (Separator::Element, 1)
        }
        [b'<', b'/', b'k', b'e', b'y', b'>', ..] => return plist_value(text, name, at + 6),
        [] => return None,
        _ if spaced && closed.is_none() && is_flag(text, name.start) => (Separator::Flag, 0),
        _ if spaced && closed.is_none() && follows_setter(text, name.start) => {
            (Separator::Equals { tight: true }, 0)
        }
        [b's', b't', b'r', b'i', b'n', b'g', b' ', b'=', ..] if spaced => (Separator::Compares, 8),
        [b'i', b's', b' ' | b':', ..] if spaced => (Separator::Blank, 3),
        _ => {
            let paired = closed.is_some() || at_line_end(text, at) || text[at] == b'\\';
            return paired.then(|| pair(text, name, at)).flatten().or_else(|| {
                let blank = spaced && closed.is_none() && may_be_random(text, at);
                blank.then(|| Assignment {
                    is_quoted: false,
                    name: name.clone(),
                    separator: Separator::Blank,
                    value: at,
                })
            });
        }
    };
    if separator == Separator::Comma
        && let Some(assignment) = pair(text, name, at)
    {
        return Some(assignment);
    }
    let value = skip_blanks(text, at + length);
    Some(Assignment {
        name: name.clone(),
        separator,
        value,
        is_quoted: closed.is_some(),
    })
}

/// Reports whether the name, whose opening quote is before `at`, is the value of an attribute that names the element.
fn is_attribute(text: &[u8], at: usize) -> bool {
    let before = text[..at]
        .strip_suffix(b"\"")
        .or_else(|| text[..at].strip_suffix(b"'"))
        .map(|before| &before[..before.len() - backslashes_before(before, before.len())]);
    before.is_some_and(|before| {
        [&b"name="[..], b"key=", b"id="]
            .iter()
            .any(|name| before.ends_with(name))
    })
}

/// Reads the value of a property list after `</key>`.
fn plist_value(text: &[u8], name: &Range<usize>, mut at: usize) -> Option<Assignment> {
    for _ in 0..64 {
        let escape = backslashes_at(text, at);
        at += match text.get(at + escape) {
            Some(b'n' | b'r' | b't') if escape > 0 => escape + 1,
            Some(b' ' | b'\n' | b'\r' | b'\t') if escape == 0 => 1,
            _ => break,
        };
    }
    let element = [&b"<string>"[..], b"<data>"];
    let open = element
        .iter()
        .find(|open| text[at.min(text.len())..].starts_with(open))?;
    Some(Assignment {
        name: name.clone(),
        separator: Separator::Element,
        value: at + open.len(),
        is_quoted: false,
    })
}

/// Reports whether a word precedes the name that sets a variable without a sign: `ENV NAME value`, `setenv NAME value`, and
/// `machine … login … password …` of `.netrc`.
fn follows_setter(text: &[u8], at: usize) -> bool {
    let line = &text[at.saturating_sub(128)..at];
    [&b"ENV "[..], b"setenv "].iter().any(|word| line.ends_with(word))
        || (scan::find(line, b"machine ").is_some() && scan::find(line, b"login ").is_some())
}

/// Reports whether the value at `at` may follow a mere blank: only if it is long or in quotes.
fn may_be_random(text: &[u8], at: usize) -> bool {
    let long = text
        .get(at..at + 20)
        .is_some_and(|value| value.iter().all(|&byte| byte > b' '));
    long || matches!(step(text, at), EscapeStep::Quote { .. })
}

/// Reads `name: DB_PASSWORD`, a line break or comma, and `value: …`, also as attributes.
fn pair(text: &[u8], name: &Range<usize>, at: usize) -> Option<Assignment> {
    let near = text[at..].get(..48).unwrap_or(&text[at..]);
    let word = near
        .windows(5)
        .position(|word| word.eq_ignore_ascii_case(b"value"))?;
    let mut escaped = false;
    for byte in &near[..word] {
        let letter = escaped && matches!(byte, b'n' | b'r' | b't');
        if !letter && !b" \t\r\n,\"'\\+-".contains(byte) {
            return None;
        }
        escaped = *byte == b'\\';
    }
    let end = at + word + 5;
    let end = skip_blanks(text, skip_quote(text, end).unwrap_or(end));
    if !matches!(text.get(end), Some(b'=' | b':')) {
        return None;
    }
    Some(Assignment {
        name: name.clone(),
        separator: Separator::Pair,
        value: skip_blanks(text, end + 1),
        is_quoted: true,
    })
}

/// Reports whether the quote at `at` closes the string that contains the name instead of opening a value:
/// `prompt("Password: ")`.
pub(crate) fn closes_string(text: &[u8], site: &Assignment, at: usize) -> bool {
    let EscapeStep::Quote {
        quote,
        backslashes,
        end,
    } = step(text, at)
    else {
        return false;
    };
    // A letter or digit after it starts a value.
    if site.is_quoted || text.get(end).is_some_and(u8::is_ascii_alphanumeric) {
        return false;
    }
    let mut inside = false;
    for place in (site.name.start.saturating_sub(160)..site.name.start).rev() {
        let escaped_break = text[place] == b'n' && text[..place].ends_with(b"\\");
        if text[place] == b'\n' || escaped_break {
            return inside;
        }
        let apostrophe = quote == b'\'' && place > 0 && text[place - 1].is_ascii_alphanumeric();
        if text[place] == quote && !apostrophe && backslashes_before(text, place) == backslashes {
            inside = !inside;
        }
    }
    inside && site.name.start <= 160
}

/// Reports whether one or two dashes, and nothing else of the same word, precede `at`.
fn is_flag(text: &[u8], at: usize) -> bool {
    let dashes = text[..at]
        .iter()
        .rev()
        .take(3)
        .take_while(|&&byte| byte == b'-')
        .count();
    let start = at - dashes;
    (1..=2).contains(&dashes) && at_word_start(text, start) && !text[..start].ends_with(b"_")
}

/// Returns the start of the value after a type: `let password: &str = "…"`.
pub(crate) fn after_type(text: &[u8], site: &Assignment) -> Option<usize> {
    if site.separator != Separator::Colon {
        return None;
    }
    let near = text[site.value..].get(..48).unwrap_or(&text[site.value..]);
    let of_type = |byte: u8| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'_' | b'&' | b'\'' | b'<' | b'>' | b':')
            || matches!(byte, b'[' | b']' | b'|' | b'?' | b',' | b' ' | b';')
    };
    let length = near.iter().position(|&byte| !of_type(byte))?;
    let equals = near[length] == b'=' && !matches!(near.get(length + 1), Some(b'=' | b'>'));
    let spaced = length > 1 && near[length - 1] == b' ';
    (equals && spaced).then(|| skip_blanks(text, site.value + length + 1))
}

/// Skips the prefix of a string literal (`b"…"`, `r"…"`) and calls that only wrap one.
pub(crate) fn unwrapped(text: &[u8], at: usize) -> usize {
    let rest = &text[at.min(text.len())..];
    if let Some(wrapper) = WRAPPERS
        .iter()
        .find(|wrapper| rest.starts_with(wrapper.as_bytes()))
    {
        return at + wrapper.len();
    }
    let prefixed = matches!(rest.first(), Some(b'b' | b'r' | b'f' | b'u' | b'L' | b'@' | b'$'))
        && skip_quote(text, at + 1).is_some();
    if prefixed { at + 1 } else { at }
}

/// Reports whether nothing precedes `at` on its line but a list dash, a line number, `export`, or the first part of a dotted
/// name.
pub(crate) fn at_line_start(text: &[u8], at: usize) -> bool {
    let dotted = text[..at]
        .iter()
        .rev()
        .take(48)
        .take_while(|byte| byte.is_ascii_alphanumeric() || b"._".contains(byte));
    let mut start = at
        - if at > 0 && text[at - 1] == b'.' {
            dotted.count()
        } else {
            0
        };
    if let Some(before) = text[..start].strip_suffix(b"export ") {
        start = before.len();
    }
    for _ in 0..32 {
        let Some(before) = start.checked_sub(1) else {
            return true;
        };
        let letter = matches!(text[before], b'n' | b'r' | b't') && before > 0 && text[before - 1] == b'\\';
        match text[before] {
            b'\n' | b'\r' => return true,
            b'n' | b'r' if letter => return true,
            b't' if letter => start -= 2,
            b' ' | b'\t' | b'-' | b'+' | b'0'..=b'9' | 0x80.. => start -= 1,
            _ => return false,
        }
    }
    true
}

pub(crate) fn ends_line(text: &[u8], at: usize) -> bool {
    let after = skip_blanks(text, at);
    at_line_end(text, after) || (after > at && text[after] == b'#')
}

fn is_blank(text: &[u8], at: usize) -> bool {
    step(text, at) == EscapeStep::Blank
}
