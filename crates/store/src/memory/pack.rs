//! Compresses long texts in the database.
//!
//! A table with packed texts has two columns: the plain text, which is empty if the text is packed, and `packed`.

use std::borrow::Cow;

use miniz_oxide::{deflate::compress_to_vec, inflate::decompress_to_vec_with_limit};
use rusqlite::Row;

/// The minimum length: compressing shorter texts saves nothing.
const MIN_LEN: usize = 256;

/// The maximum length of a text. A longer result shows damage, because nothing of that size is ever packed.
const MAX_LEN: usize = 16 << 20;

/// The compression level: a middle one, because an import packs every passage.
const LEVEL: u8 = 4;

/// Compresses a text; `None` if that saves too little.
pub(crate) fn pack(text: &str) -> Option<Vec<u8>> {
    if !(MIN_LEN..=MAX_LEN).contains(&text.len()) {
        return None;
    }
    let packed = compress_to_vec(text.as_bytes(), LEVEL);
    (packed.len() < text.len() * 4 / 5).then_some(packed)
}

/// Compresses a text of any length.
pub(crate) fn pack_bytes(text: &str) -> Vec<u8> {
    compress_to_vec(text.as_bytes(), LEVEL)
}

/// Returns a text that [`pack_bytes`] compressed; `None` if it is damaged.
pub(crate) fn unpack_bytes(packed: &[u8]) -> Option<String> {
    let bytes = decompress_to_vec_with_limit(packed, MAX_LEN).ok()?;
    String::from_utf8(bytes).ok()
}

/// Returns a text that was stored plain or packed. Damage reads as an empty text, so that search keeps working.
pub(crate) fn unpack(plain: String, packed: Option<Vec<u8>>) -> String {
    let Some(packed) = packed else { return plain };
    unpack_bytes(&packed).unwrap_or(plain)
}

/// The payload of an event, packed if it is stored so: the payloads of a long turn fit into memory only packed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventPayload {
    plain: String,
    packed: Option<Vec<u8>>,
}

impl EventPayload {
    /// Packs a payload, if that saves memory.
    pub fn pack(text: String) -> Self {
        match pack(&text) {
            Some(packed) => Self {
                plain: String::new(),
                packed: Some(packed),
            },
            None => text.into(),
        }
    }

    /// Reads the columns `payload` and `packed` of an event.
    pub(crate) fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            plain: row.get("payload")?,
            packed: row.get("packed")?,
        })
    }

    /// Returns the payload: one JSON object, as captured. Retention leaves an empty object.
    pub fn text(&self) -> Cow<'_, str> {
        match &self.packed {
            Some(packed) => unpack_bytes(packed).unwrap_or_default().into(),
            None => Cow::Borrowed(&self.plain),
        }
    }

    /// Returns true if retention dropped the payload.
    pub fn is_dropped(&self) -> bool {
        self.packed.is_none() && self.plain == "{}"
    }
}

impl From<String> for EventPayload {
    fn from(plain: String) -> Self {
        Self { plain, packed: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packed_text_is_unpacked() {
        let text = "error[E0308]: mismatched types\n".repeat(30);
        let packed = pack(&text).unwrap();
        assert!(packed.len() * 5 < text.len());
        assert_eq!(unpack(String::new(), Some(packed)), text);
    }

    #[test]
    fn a_payload_is_the_same_packed_or_plain() {
        for text in ["{}".to_owned(), "{\"a\": 1}".repeat(400)] {
            assert_eq!(EventPayload::pack(text.clone()).text(), text);
        }
    }

    #[test]
    fn short_texts_are_not_packed_and_damage_does_not_panic() {
        assert_eq!(pack("cargo test"), None);
        assert_eq!(unpack("plain".to_owned(), None), "plain");
        assert_eq!(unpack(String::new(), Some(vec![7; 90])), "");
    }
}
