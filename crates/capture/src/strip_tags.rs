//! Removes private spans and injected memory from text.
//!
//! Recognizes `<private>`, `<backstory-context>` and the context tags of other memory tools. A span may be nested,
//! unclosed and in any case, and may start in one field of a payload and end in another: [`TagStripper`] keeps its
//! state between texts. The text may be plain or the inside of an escaped JSON string, where `</private>` may be
//! written `<\/private>`.

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
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Open {
    name: usize,
    depth: u32,
}

impl TagStripper {
    /// Reports whether the next text starts inside a span.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Reports whether anything was removed so far.
    pub fn has_stripped(&self) -> bool {
        self.cut
    }

    /// Returns the text outside of spans.
    pub fn strip<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        let mut kept = String::new();
        let mut kept_until = 0; // everything before is in `kept` or was removed
        let bytes = text.as_bytes();
        for tag in scan::positions(bytes, b'<').filter_map(|at| tag_at(bytes, at)) {
            match self.open {
                None if tag.kind == TagKind::Open => {
                    kept.push_str(&text[kept_until..tag.start]);
                    kept_until = text.len();
                    self.cut = true;
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

fn tag_at(bytes: &[u8], start: usize) -> Option<Tag> {
    // Rejects almost every `<` by the next byte.
    if !matches!(
        bytes.get(start + 1)?,
        b'p' | b'P' | b'b' | b'B' | b'c' | b'C' | b'/' | b'\\' | b' '
    ) {
        return None;
    }
    let mut at = skip_blanks(bytes, start + 1);
    let closes = match (bytes.get(at)?, bytes.get(at + 1)) {
        (b'/', _) => Some(1),
        (b'\\', Some(b'/')) => Some(2),
        _ => None,
    };
    if let Some(length) = closes {
        at = skip_blanks(bytes, at + length);
    }
    let rest = &bytes[at..];
    let name = NAMES.iter().position(|name| {
        rest.get(..name.len())
            .is_some_and(|word| word.eq_ignore_ascii_case(name.as_bytes()))
            && !rest
                .get(name.len())
                .is_some_and(|&b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    })?;
    let after_name = at + NAMES[name].len();
    let window = &bytes[after_name..bytes.len().min(after_name + MAX_TAG_LEN)];
    let (end, is_empty) = match window.iter().position(|&b| b == b'>' || b == b'<') {
        Some(close) if window[close] == b'>' => {
            (after_name + close + 1, close > 0 && window[close - 1] == b'/')
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

fn skip_blanks(bytes: &[u8], from: usize) -> usize {
    let blanks = bytes[from.min(bytes.len())..]
        .iter()
        .take(8)
        .take_while(|&&b| b == b' ')
        .count();
    from + blanks
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(text: &str) -> String {
        TagStripper::default().strip(text).into_owned()
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
