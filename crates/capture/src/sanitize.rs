//! Rewrites payloads and texts so that they may be stored. The only place where private spans are removed, bulk data is
//! trimmed and secrets are redacted.
//!
//! A payload is processed as raw JSON, once, string by string, without building a tree. If the input is valid JSON, so is
//! the output, with the same keys in the same order. A secret may be announced by another string than the one that holds it:
//! `announced` knows names, columns and neighbors, and the strings of an array are scanned as one text.

use std::{borrow::Cow, ops::Range};

use backstory_secrets as secrets;

use crate::{
    announced::{Announcements, Container},
    bulk::{self, TrimDecision},
    payload::{scalar_end, string_end},
    strip_tags::TagStripper,
};

/// The maximum length of a secret that is found at the edge of a cut (a 4096-bit RSA key in PEM has 3,300 characters).
const SECRET_REACH: usize = 4096;

/// The maximum length of a string that is kept whole, in bytes of its escaped form. Less if little of the budget is
/// left.
const MAX_STRING_LEN: usize = 16 * 1024;

/// The length of a string that is kept even if nothing of the budget is left.
const MIN_CUT_LEN: usize = 256;

/// The maximum length of a key, in bytes of its escaped form.
const MAX_KEY_LEN: usize = 256;

/// The length from which a repeated string is replaced by a note.
const REPEAT_FROM: usize = 256;

/// The maximum length of a text that is passed in, in bytes.
const MAX_TEXT_LEN: usize = 64 * 1024;

/// The options of sanitizing.
#[derive(Clone, Copy, Debug)]
pub struct SanitizeOptions {
    /// Redact secrets.
    pub redact: bool,
    /// The approximate maximum size of a payload, in bytes.
    pub budget: usize,
    /// True if the payload shows a file of secrets, see [`secrets::is_secret_file`].
    pub secret_file: bool,
}

impl SanitizeOptions {
    /// Sets whether the text is the content of a file of secrets.
    #[must_use]
    pub fn of_secret_file(self, secret_file: bool) -> Self {
        Self { secret_file, ..self }
    }

    /// Sanitizes a JSON value that continues the text of `stripper`.
    pub fn json_value(self, raw: &str, stripper: &mut TagStripper) -> String {
        let mut whole = stripper.clone();
        let mut out = String::with_capacity(raw.len().min(self.budget));
        let mut sanitizer = PayloadSanitizer::resume(self, std::mem::take(stripper));
        sanitizer.value(raw, &mut out);
        let out = sanitizer.without_repeats(out, &[]);
        *stripper = if out.len() <= self.budget / 4 * 3 {
            sanitizer.stripper
        } else {
            // The part that was dropped for its length may have opened or closed a private span.
            whole.strip(raw);
            whole
        };
        out
    }

    /// Sanitizes the text of a JSON string that continues the text of `stripper`. Returns an empty text for any other
    /// value.
    pub fn json_text(self, raw: &str, stripper: &mut TagStripper) -> String {
        if !raw.starts_with('"') {
            return String::new();
        }
        // Sanitizing keeps JSON valid. If it did not, an empty text would be safer than an unsanitized one.
        serde_json::from_str(&self.json_value(raw, stripper)).unwrap_or_default()
    }

    /// Sanitizes the texts of JSON strings that belong together and continue the text of `stripper`. Returns as many texts.
    pub fn json_texts<'r>(
        self,
        raw: impl Iterator<Item = &'r str>,
        stripper: &mut TagStripper,
    ) -> Vec<String> {
        let raw: Vec<&str> = raw.collect();
        let list = self.json_value(&format!("[{}]", raw.join(",")), stripper);
        let mut texts: Vec<Option<String>> = serde_json::from_str(&list).unwrap_or_default();
        texts.resize(raw.len(), None);
        texts.into_iter().map(Option::unwrap_or_default).collect()
    }

    /// Sanitizes a plain text as if it were part of a payload.
    pub fn plain_text(self, text: &str) -> String {
        let raw = serde_json::Value::from(text).to_string();
        self.json_text(&raw, &mut TagStripper::default())
    }
}

/// Sanitizes texts that users and other tools pass in. A private span that starts in one text may end in the next.
///
/// Unlike a payload, such a text is not trimmed as bulk data, only limited in length.
#[derive(Debug)]
pub struct TextSanitizer {
    stripper: TagStripper,
    redact: bool,
}

impl TextSanitizer {
    /// Starts with a text that continues no other. Redacts secrets if `redact` is set.
    pub fn new(redact: bool) -> Self {
        Self {
            stripper: TagStripper::of_user_text(),
            redact,
        }
    }

    /// Returns the sanitized text; `None` if nothing is left.
    pub fn text(&mut self, text: &str) -> Option<String> {
        let kept = self.stripper.strip(text);
        let mut clean = if self.redact {
            secrets::redact(&kept, secrets::ScanContext::default()).into_owned()
        } else {
            kept.into_owned()
        };
        clean.truncate(clean.floor_char_boundary(MAX_TEXT_LEN));
        (!clean.trim().is_empty()).then_some(clean)
    }

    /// Reports whether a private span was removed.
    pub fn has_removed(&self) -> bool {
        self.stripper.has_stripped()
    }
}

/// Sanitizes the values of one payload, in their order.
#[derive(Debug)]
pub struct PayloadSanitizer<'t> {
    rules: SanitizeOptions,
    stripper: TagStripper,
    /// Long strings so far: a written file occurs twice, in the input and in the response.
    long: Vec<&'t str>,
    redactor: secrets::EventRedactor,
    announcements: Announcements<'t>,
}

impl<'t> PayloadSanitizer<'t> {
    /// Starts with a payload that continues no other text.
    pub fn new(rules: SanitizeOptions) -> Self {
        Self::resume(rules, TagStripper::default())
    }

    /// Starts with a payload that holds a text of the user.
    pub fn of_user_text(rules: SanitizeOptions) -> Self {
        Self::resume(rules, TagStripper::of_user_text())
    }

    fn resume(rules: SanitizeOptions, stripper: TagStripper) -> Self {
        Self {
            rules,
            stripper,
            long: Vec::new(),
            redactor: secrets::EventRedactor::default(),
            announcements: Announcements::default(),
        }
    }

    /// Reports whether a private span was removed.
    pub fn has_cut(&self) -> bool {
        self.stripper.has_stripped()
    }

    /// Redacts the secrets of the payload, and those of earlier ones, where its sanitized form repeats them.
    pub fn without_repeats(&self, out: String, earlier: &[secrets::Fingerprint]) -> String {
        self.redactor.repeats(&out, earlier).unwrap_or(out)
    }

    /// Returns the fingerprints of the secrets of the payload.
    pub fn fingerprints(&self) -> impl Iterator<Item = secrets::Fingerprint> + '_ {
        self.redactor.fingerprints()
    }

    /// Appends the sanitized form of a JSON value. It uses at most three quarters of the remaining budget: a large
    /// input must leave room for the response.
    pub fn value(&mut self, raw: &'t str, out: &mut String) {
        let left = self.rules.budget.saturating_sub(out.len());
        let end_of_budget = out.len() + left / 4 * 3;
        let mut key: Option<&'t str> = None;
        let mut open: Vec<Container<'t>> = Vec::new();
        let mut at = 0;
        while at < raw.len() {
            let byte = raw.as_bytes()[at];
            let starts_value = matches!(byte, b'"' | b'{' | b'[' | b'-' | b'0'..=b'9' | b'a'..=b'z');
            if starts_value && out.len() > end_of_budget && !is_key(raw, at) {
                out.push_str("null");
                out.extend(open.iter().rev().map(Container::close));
                // A private span may start in the dropped part and end in the next field.
                self.stripper.strip(&raw[at..]);
                return;
            }
            match byte {
                b'"' => {
                    // Always found: the splitter delimited this value by the same rule.
                    let end = string_end(raw, at).unwrap_or(raw.len());
                    let inside = &raw[at + 1..end - 1];
                    if raw[end..].trim_ascii_start().starts_with(':') {
                        at = end;
                        self.key(inside, out);
                        key = Some(inside);
                        continue;
                    }
                    let left = end_of_budget.saturating_sub(out.len());
                    let limit = MAX_STRING_LEN.min(left / 2).max(MIN_CUT_LEN);
                    let listed = matches!(open.last(), Some(Container::Array { .. }));
                    let group = (listed && !self.announcements.is_row(&open))
                        .then(|| Group::of(raw, at, limit, left))
                        .flatten();
                    if let Some(group) = group {
                        at = group.end;
                        self.announcements.note_strings(&mut open, &group.insides);
                        self.group(key, raw, &group, out);
                    } else {
                        at = end;
                        let name = self.announcements.name_of(&mut open, key, raw, at);
                        self.announcements.note_string(&mut open, key, inside);
                        self.string(key, name, inside, limit, out);
                    }
                }
                b'-' | b'0'..=b'9' | b'a'..=b'z' => {
                    let end = scalar_end(raw.as_bytes(), at);
                    let name = self.announcements.name_of(&mut open, key, raw, end);
                    self.scalar(name, &raw[at..end], out);
                    at = end;
                }
                _ => {
                    match byte {
                        b'{' | b'[' => open.push(Container::opened(byte)),
                        b'}' | b']' => {
                            self.announcements.close(&mut open);
                            key = None;
                        }
                        _ => {}
                    }
                    out.push(char::from(byte));
                    at += 1;
                }
            }
        }
    }

    /// Appends a key. Keys inside a private span are removed too: they may be the user's words.
    fn key(&mut self, inside: &str, out: &mut String) {
        let kept = self.stripper.strip(inside);
        out.push('"');
        if kept.len() <= MAX_KEY_LEN {
            out.push_str(&self.redacted(&kept, None));
        } else {
            let (head, _) = self.around(&kept, bulk::boundary_from(&kept, MAX_KEY_LEN)..kept.len(), None);
            out.push_str(&head.text);
            out.push('…');
        }
        out.push('"');
    }

    /// Appends consecutive strings of an array, which are redacted as one text.
    fn group(&mut self, key: Option<&str>, raw: &str, group: &Group<'t>, out: &mut String) {
        let kept: Vec<Cow<'t, str>> = group
            .insides
            .iter()
            .map(|inside| self.stripper.strip(inside))
            .collect();
        let context = self.context(key);
        let redacted = if self.rules.redact {
            self.redactor.lines(&kept, context)
        } else {
            None
        };
        for (index, (inside, kept)) in group.insides.iter().zip(&kept).enumerate() {
            let text = redacted
                .as_ref()
                .map_or(kept.as_ref(), |redacted| &redacted[index]);
            out.push_str(&raw[group.gaps[index].clone()]);
            out.push('"');
            self.unless_repeated(inside, kept, out, |_, out| out.push_str(text));
            out.push('"');
        }
    }

    fn scalar(&mut self, key: Option<&str>, text: &str, out: &mut String) {
        if self.stripper.is_open() {
            out.push_str("null");
        } else if key.is_some() && self.rules.redact && !secrets::find(text, self.context(key)).is_empty() {
            out.push('"');
            out.push_str(&self.redacted(text, key));
            out.push('"');
        } else {
            out.push_str(text);
        }
    }

    /// Appends a string; `name` announces it, mostly its key.
    fn string(
        &mut self,
        key: Option<&str>,
        name: Option<&str>,
        inside: &'t str,
        limit: usize,
        out: &mut String,
    ) {
        let kept = self.stripper.strip(inside);
        // Claude Code repeats the whole file before the edit; the edit itself shows the change.
        if matches!(key, Some("originalFile")) {
            out.push_str("null");
            return;
        }
        out.push('"');
        self.unless_repeated(inside, &kept, out, |this, out| this.text(name, &kept, limit, out));
        out.push('"');
    }

    /// Appends a note in place of a long string that occurred before.
    fn unless_repeated(
        &mut self,
        inside: &'t str,
        kept: &str,
        out: &mut String,
        append: impl FnOnce(&mut Self, &mut String),
    ) {
        if kept.len() >= REPEAT_FROM && self.long.contains(&inside) {
            out.push_str("[as above]");
        } else {
            append(self, out);
        }
        if inside.len() >= REPEAT_FROM && self.long.len() < 16 {
            self.long.push(inside);
        }
    }

    fn text(&mut self, key: Option<&str>, text: &str, limit: usize, out: &mut String) {
        match bulk::decide_trim(text, limit) {
            TrimDecision::Keep => out.push_str(&self.redacted(text, key)),
            TrimDecision::Encoded => {
                out.push_str(&format!("[{} KB of encoded data]", text.len().div_ceil(1024)));
            }
            TrimDecision::CutOut(middle) => {
                let (head, tail) = self.around(text, middle, key);
                out.push_str(&head.text);
                out.push_str(&format!(
                    "\\n[… {} KB cut …]\\n",
                    (tail.edge - head.edge).div_ceil(1024)
                ));
                out.push_str(&tail.text);
            }
        }
    }

    /// Returns the parts before and after a cut, which is widened so that it splits no secret.
    fn around<'a>(&mut self, text: &'a str, middle: Range<usize>, key: Option<&str>) -> (End<'a>, End<'a>) {
        let (redact, context) = (self.rules.redact, self.context(key));
        let find = |window: &str| {
            if redact {
                secrets::find(window, context)
            } else {
                Vec::new()
            }
        };
        // A part without secrets is not scanned again.
        let mut end = |edge: usize, part: &'a str, found: &[secrets::Secret]| End {
            edge,
            text: if found.is_empty() {
                Cow::Borrowed(part)
            } else {
                self.redacted(part, key)
            },
        };
        let window_end = bulk::boundary_from(text, middle.start + SECRET_REACH);
        let found = find(&text[..window_end]);
        let head = found
            .iter()
            .find(|secret| secret.range.start < middle.start && secret.range.end > middle.start)
            .map_or(middle.start, |secret| secret.range.start);
        let head = end(head, &text[..head], &found);
        let window_start = bulk::boundary_from(text, middle.end.saturating_sub(SECRET_REACH)).min(middle.end);
        let found = find(&text[window_start..]);
        let tail = found
            .iter()
            .map(|secret| secret.range.start + window_start..secret.range.end + window_start)
            .find(|range| range.start < middle.end && range.end > middle.end)
            .map_or(middle.end, |range| range.end);
        (head, end(tail, &text[tail..], &found))
    }

    fn redacted<'a>(&mut self, text: &'a str, key: Option<&str>) -> Cow<'a, str> {
        if self.rules.redact {
            self.redactor.text(text, self.context(key))
        } else {
            Cow::Borrowed(text)
        }
    }

    fn context<'a>(&self, key: Option<&'a str>) -> secrets::ScanContext<'a> {
        secrets::ScanContext {
            key,
            env_file: self.rules.secret_file,
        }
    }
}

/// The longest string of an array that is scanned together with its neighbors. Longer ones are no lines.
const MAX_LINE_LEN: usize = 1024;

/// Consecutive strings of an array.
struct Group<'t> {
    insides: Vec<&'t str>,
    /// The text before each string.
    gaps: Vec<Range<usize>>,
    /// The position after the last string.
    end: usize,
}

impl<'t> Group<'t> {
    /// Reads at least two strings from `at` on, as far as the budget allows.
    fn of(raw: &'t str, at: usize, limit: usize, budget: usize) -> Option<Self> {
        let mut group = Self {
            insides: Vec::new(),
            gaps: Vec::new(),
            end: at,
        };
        let mut length = 0;
        loop {
            let rest = &raw[group.end..];
            let comma = usize::from(!group.insides.is_empty());
            let gap = rest.trim_ascii_start();
            let next = if comma == 1 {
                gap.strip_prefix(',').map(str::trim_ascii_start)
            } else {
                Some(gap)
            };
            let Some(next) = next.filter(|next| next.starts_with('"') && length <= budget) else {
                break;
            };
            let start = raw.len() - next.len();
            let Some(end) = string_end(raw, start).filter(|end| end - start <= limit.min(MAX_LINE_LEN))
            else {
                break;
            };
            group.gaps.push(group.end..start);
            group.insides.push(&raw[start + 1..end - 1]);
            group.end = end;
            length += end - start;
        }
        (group.insides.len() > 1).then_some(group)
    }
}

/// The part on one side of a cut.
struct End<'a> {
    /// The position at which the cut starts or ends.
    edge: usize,
    text: Cow<'a, str>,
}

/// Reports whether the string at `at` is a key.
fn is_key(raw: &str, at: usize) -> bool {
    let end = string_end(raw, at).filter(|_| raw.as_bytes()[at] == b'"');
    end.is_some_and(|end| raw[end..].trim_ascii_start().starts_with(':'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    const RULES: SanitizeOptions = SanitizeOptions {
        redact: true,
        budget: 8 * 1024,
        secret_file: false,
    };

    fn clean_with(rules: SanitizeOptions, value: &Value) -> Value {
        let raw = value.to_string();
        let mut out = String::new();
        PayloadSanitizer::new(rules).value(&raw, &mut out);
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
    }

    fn clean(value: &Value) -> Value {
        clean_with(RULES, value)
    }

    #[test]
    fn ordinary_values_are_unchanged() {
        let value =
            json!({"command": "cargo test", "n": [1, -2.5e3, true, null, "", {}], "é\"\\": "quote \" \\ \n"});
        assert_eq!(clean(&value), value);
    }

    #[test]
    fn a_private_span_is_removed_across_fields() {
        let value = json!({"a": "keep <private>S1", "b": ["S2", 42, true, {"S3": "S4"}], "c": "S5</private>keep", "d": 7});
        let cleaned = clean(&value).to_string();
        assert!(!cleaned.contains('S') && !cleaned.contains("42"), "{cleaned}");
        assert!(
            cleaned.contains(r#""a":"keep ""#) && cleaned.contains(r#""":"keep","d":7"#),
            "{cleaned}"
        );
    }

    #[test]
    fn a_private_span_that_starts_in_dropped_bulk_counts() {
        let mut words = vec!["some words"; 2000];
        words.push("and a <private>");
        let (input, response) = (
            json!(words).to_string(),
            json!("SECRET</private> kept").to_string(),
        );
        let mut cleaner = PayloadSanitizer::new(RULES);
        let (mut first, mut second) = (String::new(), String::new());
        cleaner.value(&input, &mut first);
        cleaner.value(&response, &mut second);
        assert!(first.len() < 8 * 1024 && second == "\" kept\"", "{second}");
    }

    #[test]
    fn bulk_data_is_trimmed() {
        let long = "x y\n".repeat(5000);
        let cleaned = clean(
            &json!({"originalFile": "old", "content": "abc ".repeat(100), "again": "abc ".repeat(100),
            "stdout": long, "base64": "iVBORw0KGgoAAAANSUhEUg".repeat(100)}),
        );
        assert_eq!(cleaned["originalFile"], Value::Null);
        assert_eq!(cleaned["again"], "[as above]");
        assert_eq!(cleaned["base64"], "[3 KB of encoded data]");
        let stdout = cleaned["stdout"].as_str().unwrap();
        assert!(
            stdout.len() < 4000 && stdout.contains(" KB cut …]\nx y\n"),
            "{stdout}"
        );
    }

    #[test]
    fn secrets_are_redacted_in_text_by_key_and_as_numbers() {
        let cleaned = clean(
            &json!({"text": "export GITHUB_TOKEN=ghp_0123456789abcdefghijABCDEFGHIJ012345",
            "password": "correct horse battery", "nested": {"db_password": 12345678}}),
        );
        assert!(
            cleaned["text"].as_str().unwrap().contains("[redacted:"),
            "{cleaned}"
        );
        assert_eq!(cleaned["password"], "[redacted:password]");
        assert_eq!(cleaned["nested"]["db_password"], "[redacted:password]");
    }

    proptest! {
        #[test]
        fn a_secret_at_the_edge_of_a_cut_is_redacted(at in 0usize..6000, unbroken in any::<bool>()) {
            let filler = if unbroken { "a.b;" } else { "word \n" };
            let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
            let mut text = filler.repeat(6000 / filler.len());
            text.insert_str(at.min(text.len()), &format!(" {secret} "));
            let cleaned = clean(&json!({ "stdout": text })).to_string();
            for part in ["ghp_01234", "56789abc", "defghijA", "BCDEFGHI", "J012345"] {
                prop_assert!(!cleaned.contains(part), "{}", part);
            }
        }

        #[test]
        fn any_json_stays_valid(text in any::<String>(), tail in "[<>/a-z\"\\\\ \\n]{0,300}", n in any::<i32>(), limit in 0usize..400) {
            let rules = SanitizeOptions { budget: limit, ..RULES };
            clean_with(rules, &json!({"a": text, "b": [tail.repeat(4), n], "<private>": {"c": tail},
                "list": [text, "--password", tail, "-----BEGIN PRIVATE KEY-----", tail], "rows": [["password", "a"], [tail, text]],
                "pair": {"name": "password", "value": text}}));
        }
    }

    #[test]
    fn private_spans_and_secrets_are_removed_from_texts() {
        let mut sanitizer = TextSanitizer::new(true);
        assert_eq!(sanitizer.text("plain").as_deref(), Some("plain"));
        assert!(!sanitizer.has_removed());
        let token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
        let text = sanitizer
            .text(&format!("a <private>b</private> {token}"))
            .unwrap();
        assert!(
            text.starts_with("a  [redacted:") && sanitizer.has_removed(),
            "{text}"
        );
        assert_eq!(sanitizer.text("<private>open"), None);
        assert_eq!(sanitizer.text("still</private> kept").as_deref(), Some(" kept"));
        assert!(TextSanitizer::new(false).text(token).unwrap().contains(token));
    }

    #[test]
    fn a_long_text_is_cut_at_a_character_boundary() {
        let long = "é".repeat(MAX_TEXT_LEN);
        assert_eq!(TextSanitizer::new(true).text(&long).unwrap().len(), MAX_TEXT_LEN);
        let odd = format!("x{long}");
        assert_eq!(
            TextSanitizer::new(true).text(&odd).unwrap().len(),
            MAX_TEXT_LEN - 1
        );
    }
}
