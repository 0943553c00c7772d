//! Removes private spans and injected memory from text.
//!
//! Recognizes `<private>`, `<backstory-context>` and the context tags of other memory tools. A span may be nested,
//! unclosed and in any case, and may start in one field of a payload and end in another: [`TagStripper`] keeps its
//! state between texts. The text may be plain or the inside of an escaped JSON string, where `</private>` may be
//! written `<\/private>`. Blanks, line breaks and invisible characters in a tag, and `&lt;` for its bracket, make no
//! difference: a user who marks text as private must not have to look for them.

use std::borrow::Cow;

use backstory_text::scan;
use serde::{Deserialize, Serialize};

/// The elements whose content is removed.
const NAMES: [&str; 4] = [
    "private",
    "backstory-context",
    "claude-mem-context",
    "claude-recall-context",
];

/// The number of spans after which the rest is dropped: no user marks that many by hand.
const MAX_SPANS: u32 = 100;

/// The maximum length of a tag's attributes. A longer tag ends after its name.
const MAX_TAG_LEN: usize = 256;

/// Removes spans from consecutive texts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagStripper {
    open: Option<Open>,
    spans: u32,
    cut: bool,
    /// A private span was removed, not only injected memory.
    #[serde(default)]
    private: bool,
    /// Read `&lt;private&gt;` as a tag.
    #[serde(default)]
    decodes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Open {
    name: usize,
    depth: u32,
}

impl TagStripper {
    /// Starts with a text of the user, in which `&lt;private&gt;` is a tag too: an editor may have encoded it. Long outputs of
    /// tools are not searched for it.
    pub fn of_user_text() -> Self {
        Self {
            decodes: true,
            ..Self::default()
        }
    }

    /// Reports whether the next text starts inside a span.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Reports whether anything was removed so far.
    pub fn has_stripped(&self) -> bool {
        self.cut
    }

    /// Reports whether a private span was removed so far.
    pub fn has_stripped_private(&self) -> bool {
        self.private
    }

    /// Returns the text outside of spans.
    pub fn strip<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        let mut kept = String::new();
        let mut kept_until = 0; // everything before is in `kept` or was removed
        let bytes = text.as_bytes();
        for tag in Tags::new(bytes, self.decodes) {
            match self.open {
                None if tag.kind == TagKind::Open => {
                    kept.push_str(&text[kept_until..tag.start]);
                    kept_until = text.len();
                    self.cut = true;
                    self.private |= NAMES[tag.name] == "private";
                    // Beyond the limit a span cannot be closed: no text has that many closing tags.
                    let depth = if self.spans < MAX_SPANS { 1 } else { u32::MAX };
                    self.open = Some(Open {
                        name: tag.name,
                        depth,
                    });
                }
                Some(open) if open.name == tag.name => {
                    kept_until = self.step(open, tag.kind, tag.end).unwrap_or(kept_until);
                }
                // A closing tag without an opening one, or another element inside a span, has no effect.
                _ => {}
            }
        }
        if self.open.is_some() {
            self.cut = true;
            return Cow::Owned(kept);
        }
        if kept_until == 0 {
            return Cow::Borrowed(text);
        }
        kept.push_str(&text[kept_until..]);
        Cow::Owned(kept)
    }

    /// Processes a tag inside a span. Returns the position after the span if the tag closed it.
    fn step(&mut self, open: Open, kind: TagKind, end: usize) -> Option<usize> {
        let depth = match kind {
            TagKind::Open => open.depth.saturating_add(1),
            TagKind::Close => open.depth - 1,
            TagKind::Empty => open.depth,
        };
        if depth > 0 {
            self.open = Some(Open { depth, ..open });
            return None;
        }
        self.spans += 1;
        self.open = None;
        Some(end)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TagKind {
    Open,
    Close,
    /// `<private/>` has no content.
    Empty,
}

#[derive(Debug)]
struct Tag {
    start: usize,
    end: usize,
    name: usize,
    kind: TagKind,
}

/// The tags of a text, in their order.
struct Tags<'t> {
    bytes: &'t [u8],
    decodes: bool,
    /// The search goes on here.
    from: usize,
    /// The next `<`, kept while encoded brackets before it are examined.
    plain: Option<usize>,
}

impl<'t> Tags<'t> {
    fn new(bytes: &'t [u8], decodes: bool) -> Self {
        Self {
            bytes,
            decodes,
            from: 0,
            plain: scan::find_byte(bytes, b'<'),
        }
    }
}

impl Iterator for Tags<'_> {
    type Item = Tag;

    fn next(&mut self) -> Option<Tag> {
        loop {
            if self.plain.is_some_and(|plain| plain < self.from) {
                self.plain = scan::find_byte(&self.bytes[self.from..], b'<').map(|at| self.from + at);
            }
            let before = self.from..self.plain.unwrap_or(self.bytes.len());
            let encoded = self
                .decodes
                .then(|| scan::find_byte(&self.bytes[before.clone()], b'&'))
                .flatten();
            let (at, bracket) = match encoded {
                Some(length) => {
                    let at = before.start + length;
                    (at, entity_len(&self.bytes[at..], &OPEN_BRACKET))
                }
                None => (self.plain?, Some(1)),
            };
            self.from = at + 1;
            if let Some(tag) = bracket.and_then(|bracket| tag_at(self.bytes, at, bracket)) {
                return Some(tag);
            }
        }
    }
}

/// Encoded forms of the brackets.
const OPEN_BRACKET: [&[u8]; 3] = [b"&lt;", b"&#60;", b"&#x3c;"];
const CLOSE_BRACKET: [&[u8]; 3] = [b"&gt;", b"&#62;", b"&#x3e;"];

/// Returns the length of the encoded bracket that a text starts with.
fn entity_len(text: &[u8], forms: &[&[u8]; 3]) -> Option<usize> {
    let form = forms.iter().find(|form| {
        text.get(..form.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(form))
    })?;
    Some(form.len())
}

/// Reads the tag whose bracket is at `start` and has `bracket` bytes.
fn tag_at(bytes: &[u8], start: usize, bracket: usize) -> Option<Tag> {
    let after_bracket = start + bracket;
    // Rejects almost every `<` by the next byte.
    if !matches!(
        bytes.get(after_bracket)?,
        b'p' | b'P' | b'b' | b'B' | b'c' | b'C' | b'/' | b'\\' | b' ' | b'\t' | b'\n' | b'\r' | 0xc2.. | b'&'
    ) {
        return None;
    }
    let mut at = skip(bytes, after_bracket, is_blank);
    let closes = match (bytes.get(at)?, bytes.get(at + 1)) {
        (b'/', _) => Some(1),
        (b'\\', Some(b'/')) => Some(2),
        _ => None,
    };
    if let Some(length) = closes {
        at = skip(bytes, at + length, is_blank);
    }
    let (name, after_name) = NAMES
        .iter()
        .enumerate()
        .find_map(|(index, name)| Some((index, name_end(bytes, at, name)?)))?;
    let window = &bytes[after_name..bytes.len().min(after_name + MAX_TAG_LEN)];
    let is_encoded = |at: &usize, forms| window[*at] == b'&' && entity_len(&window[*at..], forms).is_some();
    let next = (0..window.len()).find(|at| {
        matches!(window[*at], b'<' | b'>') || is_encoded(at, &OPEN_BRACKET) || is_encoded(at, &CLOSE_BRACKET)
    });
    let (end, is_empty) = match next {
        Some(close) if window[close] == b'>' || is_encoded(&close, &CLOSE_BRACKET) => {
            let length = entity_len(&window[close..], &CLOSE_BRACKET).unwrap_or(1);
            (
                after_name + close + length,
                close > 0 && window[close - 1] == b'/',
            )
        }
        _ => (after_name, false),
    };
    let kind = match (closes.is_some(), is_empty) {
        (true, _) => TagKind::Close,
        (false, true) => TagKind::Empty,
        (false, false) => TagKind::Open,
    };
    Some(Tag {
        start,
        end,
        name,
        kind,
    })
}

/// Returns the end of a name, in any case and with invisible characters between its letters.
fn name_end(bytes: &[u8], mut at: usize, name: &str) -> Option<usize> {
    for letter in name.bytes() {
        at = skip(bytes, at, is_invisible);
        if !bytes.get(at)?.eq_ignore_ascii_case(&letter) {
            return None;
        }
        at += 1;
    }
    let continues = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let after = skip(bytes, at, is_invisible);
    (!bytes.get(after).is_some_and(continues)).then_some(at)
}

/// The most characters that are skipped at once.
const MAX_SKIPPED: usize = 16;

/// Skips characters, plain or as JSON escapes.
fn skip(bytes: &[u8], mut at: usize, is_skipped: fn(char) -> bool) -> usize {
    for _ in 0..MAX_SKIPPED {
        match character(bytes, at) {
            Some((c, length)) if is_skipped(c) => at += length,
            _ => break,
        }
    }
    at
}

/// Reads a character and its length. An escape other than of white space and invisible characters is none.
fn character(bytes: &[u8], at: usize) -> Option<(char, usize)> {
    let rest = bytes.get(at..)?;
    match rest {
        [b'\\', b'n' | b'r' | b't', ..] => Some((' ', 2)),
        [b'\\', b'u', digits @ ..] => {
            let digits = std::str::from_utf8(digits.get(..4)?).ok()?;
            let code = u32::from_str_radix(digits, 16).ok()?;
            Some((char::from_u32(code)?, 6))
        }
        [first, ..] if first.is_ascii() => Some((char::from(*first), 1)),
        _ => {
            let length = rest.len().min(4);
            let text = (2..=length).find_map(|length| std::str::from_utf8(&rest[..length]).ok())?;
            let c = text.chars().next()?;
            Some((c, c.len_utf8()))
        }
    }
}

fn is_invisible(c: char) -> bool {
    backstory_text::is_invisible(c)
}

fn is_blank(c: char) -> bool {
    c.is_whitespace() || is_invisible(c)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(text: &str) -> String {
        TagStripper::of_user_text().strip(text).into_owned()
    }

    #[test]
    fn spans_are_removed_in_any_notation() {
        let cases = [
            ("nothing here", "nothing here"),
            ("a <b>bold</b> tag", "a <b>bold</b> tag"),
            ("a <private>b</private> c", "a  c"),
            ("a <PRIVATE>b</Private> c", "a  c"),
            ("a < private >b< / private > c", "a  c"),
            ("a <private why='x'>b</private> c", "a  c"),
            (r#"a <private why=\"x\">b<\/private> c"#, "a  c"),
            ("a <private>b<private>c</private>d</private> e", "a  e"),
            ("a <private>b", "a "),
            ("a <private b", "a "),
            ("a <private", "a "),
            ("a <private/> b", "a <private/> b"),
            ("a </private> b", "a </private> b"),
            (
                "<private-key> <privateer> <private_x>",
                "<private-key> <privateer> <private_x>",
            ),
            ("a <\u{a0}private>b</\u{a0}private> c", "a  c"),
            ("a <\u{feff}pri\u{200b}vate\u{200b}>b</pri\u{ad}vate> c", "a  c"),
            ("a <\nprivate\n>b</\nprivate\n> c", "a  c"),
            (r"a <\n\tprivate\n>b</\nprivate> c", "a  c"),
            (r"a <\u200bprivate>b</priv\u200bate> c", "a  c"),
            ("a &lt;private&gt;b&lt;/private&gt; c", "a  c"),
            ("a &#60;private&#x3E;b</private> c", "a  c"),
            ("a <private>b&LT;/private&gt; c", "a  c"),
            (
                "a &lt;b&gt; <pri vate> <\u{a0}b>",
                "a &lt;b&gt; <pri vate> <\u{a0}b>",
            ),
            ("1<backstory-context>x</backstory-context>2", "12"),
            ("1<claude-mem-context>x</claude-mem-context>2", "12"),
            ("1<claude-recall-context>x</claude-recall-context>2", "12"),
            ("a<private>b<backstory-context>c</private>d", "ad"),
            ("a<private>1</private>b<private>2</private>c", "abc"),
            ("<", "<"),
            ("</", "</"),
            ("< ", "< "),
        ];
        for (text, kept) in cases {
            assert_eq!(cut(text), kept, "{text}");
        }
    }

    #[test]
    fn an_encoded_tag_counts_in_texts_of_the_user_only() {
        let text = "a &lt;private&gt; b";
        assert_eq!(TagStripper::default().strip(text), text);
        assert_eq!(cut(text), "a ");
    }

    #[test]
    fn a_span_extends_over_several_texts() {
        let mut stripper = TagStripper::default();
        assert_eq!(stripper.strip("a <private>b"), "a ");
        assert!(stripper.is_open());
        assert_eq!(stripper.strip("c"), "");
        assert_eq!(stripper.strip("d</private> e"), " e");
        assert!(!stripper.is_open());
        assert_eq!(stripper.strip("f"), "f");
    }

    #[test]
    fn after_a_hundred_spans_the_rest_is_dropped() {
        let text = "k<private>s</private>".repeat(101) + "k";
        assert_eq!(cut(&text), "k".repeat(101));
        let text = "k<private>s</private>".repeat(100) + "k";
        assert_eq!(cut(&text), "k".repeat(101));
    }

    #[test]
    fn hostile_text_takes_linear_time() {
        for unit in [
            "<private>",
            "<",
            "< ",
            "<private ",
            "</private>",
            "<private><",
            "<backstory-contex",
            "&lt;private",
            "&lt;",
            "&",
            "<\u{200b}\u{200b}",
            "<p\u{200b}",
        ] {
            let text = unit.repeat(2_000_000 / unit.len());
            let start = std::time::Instant::now();
            cut(&text);
            assert!(start.elapsed().as_secs() < 5, "{unit}");
        }
    }

    proptest! {
        #[test]
        fn no_private_span_survives(parts in prop::collection::vec(("[a-z <>/\\\\]{0,12}", "[A-Z]{6,20}"), 1..40),
                                   close in any::<bool>()) {
            let mut text = String::new();
            for (open_text, secret) in &parts {
                text.push_str(open_text);
                text.push_str("<private>");
                text.push_str(secret);
                if close { text.push_str("</private>"); }
            }
            let kept = cut(&text);
            for (_, secret) in &parts {
                prop_assert!(!kept.contains(secret.as_str()), "{kept}");
            }
        }

        #[test]
        fn splitting_a_text_into_fields_makes_no_difference(pieces in prop::collection::vec(prop::sample::select(
            vec!["word ", "<private>", "</private>", "<PRIVATE x>", "<b>", "<private/>", "é", "<backstory-context>", "</backstory-context>"]), 0..60)) {
            let whole = cut(&pieces.concat());
            let mut stripper = TagStripper::default();
            let joined: String = pieces.iter().map(|piece| stripper.strip(piece).into_owned()).collect();
            prop_assert_eq!(joined, whole);
        }
    }
}
