//! Reads what a hook was given on stdin: one JSON object, its fields still unread.
//!
//! Owns leniency: bytes that are not UTF-8, half a surrogate pair, escapes that hide plain letters, a field of the
//! wrong type, the same field twice. Nothing is unescaped or copied here that is not needed: tool results can be large.

use std::{borrow::Cow, fmt};

use memchr::memmem;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

/// Why a payload cannot be read. Says nothing of its content, which must not reach a log.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PayloadError {
    /// Nothing stood on stdin.
    #[error("the payload is empty")]
    Empty,
    /// It is no JSON, or not all of it is there.
    #[error("the payload is no JSON object (line {line}, column {column})")]
    NotAnObject {
        /// Line of the first offending character, from 1.
        line: usize,
        /// Column of the first offending character, from 1.
        column: usize,
    },
}

/// The fields of a hook's payload, in their order.
#[derive(Debug)]
pub struct Payload<'t> {
    fields: Vec<(Cow<'t, str>, &'t str)>,
}

impl<'t> Payload<'t> {
    /// Splits an object, which [`to_text`] has made readable, into its fields.
    pub fn read(text: &'t str) -> Result<Self, PayloadError> {
        if text.trim().is_empty() {
            return Err(PayloadError::Empty);
        }
        serde_json::from_str(text).map_err(|error| PayloadError::NotAnObject {
            line: error.line(),
            column: error.column(),
        })
    }

    /// Returns all fields: name and raw JSON.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &'t str)> {
        self.fields.iter().map(|(name, raw)| (name.as_ref(), *raw))
    }

    /// Returns a field's raw JSON; the last one counts if there are several.
    pub fn raw(&self, name: &str) -> Option<&'t str> {
        self.fields
            .iter()
            .rev()
            .find(|(field, _)| field == name)
            .map(|(_, raw)| *raw)
    }

    /// Returns a field that is a string; a field of another type is as good as absent.
    pub fn text(&self, name: &str) -> Option<Cow<'t, str>> {
        let raw = self.raw(name)?;
        let inside = raw.strip_prefix('"')?.strip_suffix('"')?;
        if memchr::memchr(b'\\', inside.as_bytes()).is_none() {
            return Some(Cow::Borrowed(inside));
        }
        serde_json::from_str(raw).ok().map(Cow::Owned)
    }
}

impl<'de: 't, 't> Deserialize<'de> for Payload<'t> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Vec<(Cow<'de, str>, &'de str)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::with_capacity(16);
                while let Some(Name(name)) = map.next_key()? {
                    let raw: &'de RawValue = map.next_value()?;
                    fields.push((name, raw.get()));
                }
                Ok(fields)
            }
        }
        deserializer.deserialize_map(Fields).map(|fields| Self { fields })
    }
}

/// A field's name, borrowed unless it has escapes (serde's own `Cow` always copies).
struct Name<'t>(Cow<'t, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Name<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Name(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Name(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

/// Turns stdin into text whose JSON strings hide nothing.
///
/// Replaces what is not UTF-8, turns half a surrogate pair (an agent that cuts a string in the middle of an emoji sends
/// one) into U+FFFD, and writes escaped ASCII such as `\u003c` as the character itself, so that whoever looks for
/// `<private>` or `password` afterwards can look at the bytes.
pub fn to_text(bytes: &[u8]) -> Cow<'_, str> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    // Checked first: the lossy conversion is several times slower on text that needs none.
    let text = std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed);
    if memmem::find(text.as_bytes(), b"\\u").is_none() {
        return text;
    }
    match plain_escapes(&text) {
        Some(plain) => Cow::Owned(plain),
        None => text,
    }
}

/// Rewrites the escapes that [`to_text`] speaks of; `None` when there are none of them.
fn plain_escapes(text: &str) -> Option<String> {
    let mut out: Option<String> = None;
    let mut copied = 0;
    let mut done = 0;
    for start in memmem::find_iter(text.as_bytes(), b"\\u") {
        let backslashes = text.as_bytes()[..start]
            .iter()
            .rev()
            .take_while(|&&b| b == b'\\')
            .count();
        // An escaped backslash before a `u`, or the second half of a pair that is done.
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

/// Reads `\uXXXX`.
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
    fn fields_come_as_they_are() {
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
    fn what_is_no_object_is_refused_without_quoting_it() {
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
        }
    }

    #[test]
    fn escapes_hide_nothing_and_stay_valid() {
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
        fn any_string_means_the_same_afterwards(text in any::<String>(), ascii_escapes in any::<bool>()) {
            let mut raw = serde_json::to_string(&text).unwrap();
            if ascii_escapes {
                raw = raw.replace('a', "\\u0061").replace('<', "\\u003C");
            }
            let plain = to_text(raw.as_bytes());
            prop_assert_eq!(serde_json::from_str::<String>(&plain).unwrap(), text);
        }

        #[test]
        fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let text = to_text(&bytes);
            if let Ok(payload) = Payload::read(&text) {
                for (name, _) in payload.fields() {
                    payload.text(name);
                }
            }
        }
    }
}
