//! Redacts the strings of one event: a secret may extend over several of them.
//!
//! A tool reports a file as an array with one string per line, a command as an array of arguments, and a page as a list of
//! text blocks. [`EventRedactor::lines`] reads the strings of an array as one text; a private key that is still open at the
//! end of a string continues in the next ones. A secret that one string announces is redacted wherever the event repeats it, and
//! by its [`Fingerprint`] in later events. Parsing JSON is up to the caller.

use std::{borrow::Cow, ops::Range};

use backstory_text::{hash64, scan};

use crate::{
    ScanContext, assignments, entropy::looks_random, escapes, find, normalize, redact_each, replace,
    secret::Secret, structural,
};

/// The number of strings without a line of an open private key after which the key counts as ended.
const MAX_OTHER_STRINGS: usize = 64;

/// The shortest line of a private key, except for the last; openssl writes 64 characters per line.
const MIN_FIRST_LINE: usize = 40;

/// Redacts the strings of one event, in their order.
#[derive(Debug, Default)]
pub struct EventRedactor {
    open_key: Option<OpenKey>,
    /// The secrets so far, with their kinds, that may occur again without a name.
    values: Vec<(String, &'static str)>,
}

/// A short hash by which a later event recognizes a secret that it repeats without a name. Only values that look random and
/// are long have one: it must not help to guess the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(pub u32);

impl Fingerprint {
    /// The shortest value that has one.
    const MIN_LEN: usize = 20;

    /// Returns the fingerprint of a secret; `None` for one that could be guessed.
    fn of(value: &str) -> Option<Self> {
        let value = value.trim_end_matches('=').as_bytes();
        let is_word = value.iter().all(|byte| in_word(*byte, true));
        (value.len() >= Self::MIN_LEN && is_word && looks_random(value)).then(|| Self::of_word(value))
    }

    #[expect(clippy::cast_possible_truncation, reason = "a part of the hash suffices")]
    fn of_word(word: &[u8]) -> Self {
        Self((hash64(word) >> 16) as u32)
    }
}

/// Reports whether a character belongs to a word: with the marks of base64 or, as in a path, without.
fn in_word(byte: u8, marks: bool) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-') || (marks && matches!(byte, b'+' | b'/'))
}

/// The number of secrets that are searched for in the rest of an event.
const MAX_VALUES: usize = 64;

/// A private key that began in an earlier string.
#[derive(Debug)]
struct OpenKey {
    /// The JSON key of the strings that hold its lines; `None` inside an array.
    key: Option<String>,
    /// The number of other strings since its last line.
    others: usize,
}

impl EventRedactor {
    /// Redacts a string.
    pub fn text<'a>(&mut self, text: &'a str, context: ScanContext<'_>) -> Cow<'a, str> {
        if let Some(continued) = self.continue_key(text, context) {
            return Cow::Owned(continued);
        }
        let values = &mut self.values;
        let redacted = redact_each(text, context, |value, kind| note(values, value, kind));
        if let Cow::Owned(redacted) = &redacted {
            self.open_after(redacted, text, context);
        }
        redacted
    }

    /// Redacts consecutive strings of an array. Returns `None` if none has a secret.
    pub fn lines(&mut self, lines: &[Cow<'_, str>], context: ScanContext<'_>) -> Option<Vec<String>> {
        let announced = context.key.is_some_and(assignments::is_secret_name);
        if announced || self.open_key.is_some() {
            let redacted = lines.iter().map(|line| self.text(line, context).into_owned());
            return Some(redacted.collect());
        }
        let mut redacted = None;
        for layout in [Layout::Lines, Layout::Arguments] {
            let lines = redacted.as_deref().map_or(Lines::Before(lines), Lines::After);
            redacted = redact_joined(&lines, layout, context, &mut self.values).or(redacted);
        }
        let redacted = redacted?;
        if let (Some(last), Some(line)) = (redacted.last(), lines.last()) {
            self.open_after(last, line, context);
        }
        Some(redacted)
    }

    /// Returns the fingerprints of the secrets so far.
    pub fn fingerprints(&self) -> impl Iterator<Item = Fingerprint> + '_ {
        self.values.iter().filter_map(|(value, _)| Fingerprint::of(value))
    }

    /// Redacts the secrets of the event, and those of earlier events, where its JSON repeats them. Returns `None` if it does
    /// not.
    pub fn repeats(&self, json: &str, earlier: &[Fingerprint]) -> Option<String> {
        let mut found = repeated_words(json.as_bytes(), earlier);
        for (value, kind) in &self.values {
            found.extend(
                scan::find_all(json.as_bytes(), value.as_bytes()).filter_map(|start| {
                    let range = start..start + value.len();
                    is_whole(json.as_bytes(), &range).then_some(Secret { range, kind })
                }),
            );
        }
        let found = normalize(json, found);
        (!found.is_empty()).then(|| replace(json, &found))
    }

    /// Redacts a string that continues a private key.
    fn continue_key(&mut self, text: &str, context: ScanContext<'_>) -> Option<String> {
        let open = self.open_key.as_mut()?;
        let same_key = open.key.as_deref() == context.key;
        let lines = text.len().min(
            text.as_bytes()
                .windows(5)
                .position(|part| part == b"-----")
                .unwrap_or(text.len()),
        );
        if let Some(end) = structural::key_end(text.as_bytes(), 0)
            && is_body(&text[..lines], 0)
        {
            self.open_key = None;
            let rest = self.text(&text[end..], context);
            return Some(format!("[redacted:{}]{rest}", structural::PRIVATE_KEY));
        }
        let min = if same_key { 1 } else { MIN_FIRST_LINE };
        if is_body(text, min) {
            open.others = 0;
            return Some(format!("[redacted:{}]", structural::PRIVATE_KEY));
        }
        open.others += 1;
        if open.others > MAX_OTHER_STRINGS {
            self.open_key = None;
        }
        None
    }

    /// Notes whether a string ends inside a private key.
    fn open_after(&mut self, redacted: &str, text: &str, context: ScanContext<'_>) {
        let end = redacted.trim_end_matches(['\\', 'n', 'r', '\n', '\r', ' ']);
        let begins = text.rfind("-----BEGIN ");
        if end.ends_with("[redacted:private-key]") && begins > text.rfind("-----END ") {
            self.open_key = Some(OpenKey {
                key: context.key.map(str::to_owned),
                others: 0,
            });
        }
    }
}

/// Finds the words with one of these fingerprints.
fn repeated_words(text: &[u8], earlier: &[Fingerprint]) -> Vec<Secret> {
    let mut found = Vec::new();
    if earlier.is_empty() {
        return found;
    }
    for marks in [false, true] {
        let mut start = 0;
        for end in 0..=text.len() {
            if text.get(end).is_some_and(|byte| in_word(*byte, marks)) {
                continue;
            }
            let mut word = start..end;
            // The letter of an escape is not part of a word.
            if word.start > 0 && word.start < word.end && text[word.start - 1] == b'\\' {
                word.start += 1;
            }
            if word.len() >= Fingerprint::MIN_LEN
                && earlier.contains(&Fingerprint::of_word(&text[word.clone()]))
            {
                found.push(Secret {
                    range: word,
                    kind: "repeated",
                });
            }
            start = end + 1;
        }
    }
    found
}

/// Remembers a secret that is no ordinary word and no number, which may occur anywhere.
fn note(values: &mut Vec<(String, &'static str)>, value: &str, kind: &'static str) {
    let has = |class: fn(&u8) -> bool| value.bytes().any(|byte| class(&byte));
    let mixed = has(u8::is_ascii_alphabetic) && has(u8::is_ascii_digit);
    let plain = !value.contains(['"', '\\', '\n']) && value.parse::<f64>().is_err();
    let is_known = values.iter().any(|(known, _)| known == value);
    if (6..=512).contains(&value.len()) && mixed && plain && !is_known && values.len() < MAX_VALUES {
        values.push((value.to_owned(), kind));
    }
}

/// Reports whether no word extends over the edges of a range, which is not inside an escape.
fn is_whole(text: &[u8], range: &Range<usize>) -> bool {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let starts =
        range.start == 0 || !is_word(&text[range.start - 1]) || escapes::at_word_start(text, range.start);
    let escaped = text[..range.start].ends_with(b"\\");
    starts && !escaped && !text.get(range.end).is_some_and(is_word)
}

/// Reports whether a text consists of lines of base64, the longest of at least `min` characters.
fn is_body(text: &str, min: usize) -> bool {
    let is_line = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
    let bytes = text.as_bytes();
    let longest = bytes
        .split(|byte| !is_line(byte))
        .map(<[u8]>::len)
        .max()
        .unwrap_or(0);
    longest >= min
        && bytes
            .iter()
            .all(|byte| is_line(byte) || b"\\ \t\r\n-".contains(byte))
}

/// The strings of an array, as they were or redacted.
enum Lines<'l> {
    Before(&'l [Cow<'l, str>]),
    After(&'l [String]),
}

impl Lines<'_> {
    fn all(&self) -> Vec<&str> {
        match self {
            Self::Before(lines) => lines.iter().map(AsRef::as_ref).collect(),
            Self::After(lines) => lines.iter().map(AsRef::as_ref).collect(),
        }
    }
}

/// The text that the strings of an array form.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// One line each.
    Lines,
    /// One command line: `["--password", "x"]`.
    Arguments,
}

/// Redacts the text that the strings form, until nothing is found.
fn redact_joined(
    lines: &Lines<'_>,
    layout: Layout,
    context: ScanContext<'_>,
    values: &mut Vec<(String, &'static str)>,
) -> Option<Vec<String>> {
    const MAX_ROUNDS: usize = 8;
    let mut redacted: Option<Vec<String>> = None;
    for _ in 0..MAX_ROUNDS {
        let now = match &redacted {
            Some(redacted) => redacted.iter().map(AsRef::as_ref).collect(),
            None => lines.all(),
        };
        // The first character of a line in a patch is its sign.
        if layout == Layout::Arguments && (context.key == Some("lines") || !are_arguments(&now)) {
            break;
        }
        let joined = Joined::of(&now, layout);
        let context = ScanContext { key: None, ..context };
        let found = find(&joined.text, context);
        let mut split: Vec<Vec<Secret>> = vec![Vec::new(); now.len()];
        let mut any = false;
        for secret in found {
            for (line, range) in joined.split(&secret.range, &now) {
                any = true;
                note(values, &now[line][range.clone()], secret.kind);
                split[line].push(Secret {
                    range,
                    kind: secret.kind,
                });
            }
        }
        if !any {
            break;
        }
        redacted = Some(
            now.iter()
                .zip(&split)
                .map(|(line, found)| replace(line, found))
                .collect(),
        );
    }
    redacted
}

/// Strings as one text.
struct Joined {
    text: String,
    /// The position of each string.
    starts: Vec<usize>,
}

impl Joined {
    fn of(lines: &[&str], layout: Layout) -> Self {
        let length: usize = lines.iter().map(|line| line.len() + 3).sum();
        let mut text = String::with_capacity(length);
        let mut starts = Vec::with_capacity(lines.len());
        for line in lines {
            let is_quoted = layout == Layout::Arguments && line.contains(' ');
            if is_quoted {
                text.push('"');
            }
            starts.push(text.len());
            text.push_str(line);
            if is_quoted {
                text.push('"');
            }
            text.push(if layout == Layout::Lines { '\n' } else { ' ' });
        }
        Self { text, starts }
    }

    /// Returns the parts of a range that lie in strings.
    fn split<'j>(
        &'j self,
        range: &'j Range<usize>,
        lines: &'j [&str],
    ) -> impl Iterator<Item = (usize, Range<usize>)> + 'j {
        let first = self
            .starts
            .partition_point(|start| *start <= range.start)
            .saturating_sub(1);
        (first..lines.len())
            .take_while(|line| self.starts[*line] < range.end)
            .filter_map(|line| {
                let (start, length) = (self.starts[line], lines[line].len());
                let end = range.end.min(start + length).saturating_sub(start);
                let continued = range.start < start;
                // The sign of a line in a patch stays.
                let sign = continued && matches!(lines[line].as_bytes().first(), Some(b'+' | b'-' | b' '));
                let from = range.start.saturating_sub(start) + usize::from(sign);
                (from < end).then_some((line, from..end))
            })
    }
}

/// Recognizes the arguments of a command: a program or a flag first, and a flag among them.
fn are_arguments(lines: &[&str]) -> bool {
    let is_flag = |line: &&str| line.starts_with('-');
    lines.len() > 1
        && lines[0].bytes().all(|byte| byte > b' ')
        && lines.iter().any(is_flag)
        && !lines
            .iter()
            .any(|line| line.contains("\\n") || line.contains('\n'))
}
