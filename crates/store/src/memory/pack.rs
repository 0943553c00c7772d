//! Compresses long texts in the database.

use miniz_oxide::{deflate::compress_to_vec, inflate::decompress_to_vec_with_limit};

/// The minimum length: compressing shorter texts saves nothing.
const MIN_LEN: usize = 256;

/// The maximum length of a text. A longer result shows damage, because nothing of that size is ever packed.
const MAX_LEN: usize = 16 << 20;

/// The compression level: a middle one, because an import packs every passage.
const LEVEL: u8 = 4;

/// Compresses a text; `None` if that saves too little.
pub(crate) fn pack(text: &str) -> Option<Vec<u8>> {
    if text.len() < MIN_LEN {
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
    fn short_texts_are_not_packed_and_damage_does_not_panic() {
        assert_eq!(pack("cargo test"), None);
        assert_eq!(unpack("plain".to_owned(), None), "plain");
        assert_eq!(unpack(String::new(), Some(vec![7; 90])), "");
    }
}
