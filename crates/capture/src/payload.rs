//! Splits the JSON object on a hook's stdin into raw fields.
//!
//! Accepts bytes that are not UTF-8, half a surrogate pair, escaped ASCII, fields of the wrong type and repeated
//! fields. Copies and unescapes only what is needed: tool results can be large. Written by hand because a parser that
//! checks every character costs more than the rest of the hook; invalid JSON that it accepts (a wrong escape, an extra
//! comma) is detected at ingest.

use std::borrow::Cow;

use backstory_model::ToolInput;
use backstory_text::scan;

use crate::bulk;

/// The reason for which a payload cannot be read. Contains nothing of the payload, which must not reach a log.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PayloadError {
    /// Stdin was empty.
    #[error("the payload is empty")]
    Empty,
    /// It is not a JSON object, or is truncated.
    #[error("the payload is not a JSON object (at byte {0})")]
    NotAnObject(usize),
}

/// The raw fields of a JSON object, in their order.
#[derive(Debug)]
pub struct Payload<'t> {
    fields: Vec<(Cow<'t, str>, &'t str)>,
}

impl<'t> Payload<'t> {
    /// Splits an object that [`to_text`] has prepared.
    pub fn read(text: &'t str) -> Result<Self, PayloadError> {
        if text.trim_ascii().is_empty() {
            return Err(PayloadError::Empty);
        }
        let mut splitter = Splitter { text, at: 0 };
        splitter
            .object()
            .map(|fields| Self { fields })
            .ok_or(PayloadError::NotAnObject(splitter.at))
    }

    /// Returns all fields: name and raw JSON.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &'t str)> {
        self.fields.iter().map(|(name, raw)| (name.as_ref(), *raw))
    }

    /// Renames a field, unless the object has one of the new name.
    pub fn rename(&mut self, from: &str, to: &'static str) {
        if self.raw(to).is_none() {
            for (name, _) in self.fields.iter_mut().filter(|(name, _)| name == from) {
                *name = Cow::Borrowed(to);
            }
        }
    }

    /// Returns the raw JSON of a field; the last one if there are several.
    pub fn raw(&self, name: &str) -> Option<&'t str> {
        self.fields
            .iter()
            .rev()
            .find(|(field, _)| field == name)
            .map(|(_, raw)| *raw)
    }

    /// Returns a field that is a string; `None` for a field of another type.
    pub fn text(&self, name: &str) -> Option<Cow<'t, str>> {
        unescape(inside(self.raw(name)?)?)
    }

    /// Returns at least the first `length` bytes of a string field, without unescaping all of it.
    pub fn start(&self, name: &str, length: usize) -> Option<Cow<'t, str>> {
        let inside = inside(self.raw(name)?)?;
        unescape(&inside[..bulk::boundary_from(inside, length)])
    }

    /// Interprets the object as the input of a tool call.
    pub fn as_tool_input(&self) -> ToolInput<impl Fn(&str) -> Option<Cow<'t, str>>> {
        ToolInput::new(|name: &str| self.text(name))
    }
}

/// Returns the inside of a JSON string.
fn inside(raw: &str) -> Option<&str> {
    raw.strip_prefix('"')?.strip_suffix('"')
}

fn unescape(inside: &str) -> Option<Cow<'_, str>> {
    if scan::find_byte(inside.as_bytes(), b'\\').is_none() {
        return Some(Cow::Borrowed(inside));
    }
    serde_json::from_str(&format!("\"{inside}\""))
        .ok()
        .map(Cow::Owned)
}

/// Returns the position after the closing quote of the string that starts at `start`.
///
/// Searches for quotes and counts the backslashes before each: in tool output, escaped line breaks are far more
/// frequent than quotes.
pub(crate) fn string_end(text: &str, start: usize) -> Option<usize> {
    let inside = text.as_bytes().get(start + 1..)?;
    let is_escaped =
        |quote: usize| inside[..quote].iter().rev().take_while(|&&b| b == b'\\').count() % 2 == 1;
    let quote = scan::positions(inside, b'"').find(|&quote| !is_escaped(quote))?;
    Some(start + quote + 2)
}

/// The state of splitting one JSON object.
struct Splitter<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Splitter<'t> {
    fn object(&mut self) -> Option<Vec<(Cow<'t, str>, &'t str)>> {
        let mut fields = Vec::with_capacity(16);
        self.expect(b'{')?;
        if self.peek()? == b'}' {
            self.at += 1;
        } else {
            loop {
                if self.peek()? != b'"' {
                    return None;
                }
                let name = unescape(inside(self.value()?)?)?;
                self.expect(b':')?;
                self.peek()?;
                fields.push((name, self.value()?));
                match self.peek()? {
                    b',' => self.at += 1,
                    b'}' => break self.at += 1,
                    _ => return None,
                }
            }
        }
        // Text after the object makes the payload invalid.
        self.peek().is_none().then_some(fields)
    }

    /// Skips blanks and returns the byte after them.
    fn peek(&mut self) -> Option<u8> {
        let rest = self.text.as_bytes()[self.at..].trim_ascii_start();
        self.at = self.text.len() - rest.len();
        rest.first().copied()
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    /// Skips a value and returns it. Counts nesting instead of recursing, so that depth costs no stack.
    fn value(&mut self) -> Option<&'t str> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let mut depth = 0_usize;
        loop {
            match *bytes.get(self.at)? {
                b'"' => self.at = string_end(self.text, self.at)?,
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    depth = depth.checked_sub(1)?;
                    self.at += 1;
                }
                b'-' | b'0'..=b'9' | b'a'..=b'z' => self.at = scalar_end(bytes, self.at),
                b',' | b':' | b' ' | b'\n' | b'\r' | b'\t' if depth > 0 => self.at += 1,
                _ => return None,
            }
            if depth == 0 {
                return Some(&self.text[start..self.at]);
            }
        }
    }
}

/// Returns the end of a number, `true`, `false` or `null`.
pub(crate) fn scalar_end(bytes: &[u8], start: usize) -> usize {
    let in_scalar = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
    start + bytes[start..].iter().take_while(|&b| in_scalar(b)).count()
}

/// Decodes stdin into text in which escapes hide no ASCII.
///
/// Replaces invalid UTF-8 and half a surrogate pair (from an agent that cuts a string inside an emoji) by U+FFFD, and
/// escaped ASCII such as `\u003c` by the character, so that later stages find `<private>` or `password` in the bytes.
pub fn to_text(bytes: &[u8]) -> Cow<'_, str> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    // Checked first, because the lossy conversion is several times slower on valid text.
    let text = std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed);
    match plain_escapes(&text) {
        Some(plain) => Cow::Owned(plain),
        None => text,
    }
}

/// Rewrites the escapes described at [`to_text`]; `None` if there are none.
fn plain_escapes(text: &str) -> Option<String> {
    let mut out: Option<String> = None;
    let mut copied = 0;
    let mut done = 0;
    let mut at = 0;
    while let Some(found) = scan::find_pair(&text.as_bytes()[at..], *b"\\u") {
        let start = at + found;
        at = start + 2;
        let backslashes = text.as_bytes()[..start]
            .iter()
            .rev()
            .take_while(|&&b| b == b'\\')
            .count();
        // Not an escaped backslash before a `u`, and not the second half of a pair that was read.
        let is_escape = backslashes % 2 == 0 && start >= done;
        let Some(unit) = unit_at(text, start).filter(|_| is_escape) else {
            continue;
        };
        done = start + 6;
        let replacement: Cow<'_, str> = match unit {
            0x22 => "\\\"".into(),
            0x5c => "\\\\".into(),
            0x20..=0x7e => char::from_u32(unit).map(String::from).unwrap_or_default().into(),
            0xd800..=0xdbff if matches!(unit_at(text, done), Some(0xdc00..=0xdfff)) => {
                done += 6;
                continue;
            }
            0xd800..=0xdfff => "\u{fffd}".into(),
            _ => continue,
        };
        let out = out.get_or_insert_with(|| String::with_capacity(text.len()));
        out.push_str(&text[copied..start]);
        out.push_str(&replacement);
        copied = done;
    }
    out.map(|mut out| {
        out.push_str(&text[copied..]);
        out
    })
}

/// Parses `\uXXXX`.
fn unit_at(text: &str, at: usize) -> Option<u32> {
    let digits = text.as_bytes().get(at..at + 6)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |value, &digit| {
        Some(value * 16 + char::from(digit).to_digit(16)?)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn fields_are_returned_raw_and_unescaped() {
        let payload =
            Payload::read(r#" {"a":"x","b":{"c":[1, 2]},"d":"q\n\"","a":"y", "\u006e":null} "#).unwrap();
        assert_eq!(payload.text("a").unwrap(), "y");
        assert_eq!(payload.raw("b"), Some(r#"{"c":[1, 2]}"#));
        assert_eq!(payload.text("b"), None);
        assert_eq!(payload.text("d").unwrap(), "q\n\"");
        assert_eq!(payload.raw("n"), Some("null"));
        assert_eq!(payload.fields().count(), 5);
    }

    #[test]
    fn other_input_is_rejected_without_quoting_it() {
        assert_eq!(Payload::read(" \n").unwrap_err(), PayloadError::Empty);
        for text in [
            "[]",
            "5",
            "\"secret\"",
            "{\"secret\":\"x",
            "{\"a\":1} secret",
            "{a:1}",
            "\0",
        ] {
            let error = Payload::read(text).unwrap_err();
            assert!(!error.to_string().contains("secret"), "{error}");
            assert!(matches!(error, PayloadError::NotAnObject(_)));
        }
    }

    #[test]
    fn escaped_ascii_is_decoded_and_the_result_is_valid_json() {
        let cases: [(&[u8], &str); 9] = [
            (br#"{"p":"\u003cprivate\u003E"}"#, r#"{"p":"<private>"}"#),
            (br#"{"p":"\u0022\u005c"}"#, r#"{"p":"\"\\"}"#),
            (br#"{"p":"\\u003c"}"#, r#"{"p":"\\u003c"}"#),
            (br#"{"p":"\u001b[0m"}"#, r#"{"p":"\u001b[0m"}"#),
            (br#"{"p":"\ud83d\ude00"}"#, r#"{"p":"\ud83d\ude00"}"#),
            (br#"{"p":"\ud83d"}"#, "{\"p\":\"\u{fffd}\"}"),
            (br#"{"p":"\ude00x"}"#, "{\"p\":\"\u{fffd}x\"}"),
            (b"{\"p\":\"\xff\"}", "{\"p\":\"\u{fffd}\"}"),
            (b"\xef\xbb\xbf{}", "{}"),
        ];
        for (bytes, text) in cases {
            assert_eq!(to_text(bytes), text);
            serde_json::from_str::<serde_json::Value>(&to_text(bytes)).unwrap();
        }
    }

    proptest! {
        #[test]
        fn decoding_preserves_the_value_of_any_string(text in any::<String>(), ascii_escapes in any::<bool>()) {
            let mut raw = serde_json::to_string(&text).unwrap();
            if ascii_escapes {
                raw = raw.replace('a', "\\u0061").replace('<', "\\u003C");
            }
            let plain = to_text(raw.as_bytes());
            prop_assert_eq!(serde_json::from_str::<String>(&plain).unwrap(), text);
        }

        #[test]
        fn splitting_agrees_with_a_strict_parser(name in any::<String>(), text in any::<String>(), n in any::<f64>(), deep in 0usize..50) {
            let nested = format!("{}{}{}", "[ {\"x\" :".repeat(deep), serde_json::json!([text, n, null]), "} ]".repeat(deep));
            let object = format!(" {{ {} : {nested} ,\n\"b\":{} }} ", serde_json::json!(name), serde_json::json!(text));
            let payload = Payload::read(&object).unwrap();
            let fields: Vec<_> = payload.fields().collect();
            prop_assert_eq!(fields[0], (name.as_str(), nested.as_str()));
            prop_assert_eq!(payload.text("b").unwrap(), text);
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let text = to_text(&bytes);
            if let Ok(payload) = Payload::read(&text) {
                for (name, _) in payload.fields() {
                    payload.text(name);
                }
            }
        }
    }
}
