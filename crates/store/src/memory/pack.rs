//! Long texts take less room: compressed in the database, read back as they were.

use miniz_oxide::{deflate::compress_to_vec, inflate::decompress_to_vec_with_limit};

/// Shorter texts are not worth it.
const MIN_LEN: usize = 256;

/// Past this a packed text is damaged: nothing of this size was ever packed.
const MAX_LEN: usize = 16 << 20;

const LEVEL: u8 = 4;

/// Compresses a text; `None` when it is better kept as it is.
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

/// Returns a text that [`pack_bytes`] compressed; `None` when it is damaged.
pub(crate) fn unpack_bytes(packed: &[u8]) -> Option<String> {
    let bytes = decompress_to_vec_with_limit(packed, MAX_LEN).ok()?;
    String::from_utf8(bytes).ok()
}

/// Returns a text that was stored plain or packed. One that is damaged is empty: search must go on.
pub(crate) fn unpack(plain: String, packed: Option<Vec<u8>>) -> String {
    let Some(packed) = packed else { return plain };
    decompress_to_vec_with_limit(&packed, MAX_LEN)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .unwrap_or(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packed_text_is_read_back() {
        let text = "error[E0308]: mismatched types\n".repeat(30);
        let packed = pack(&text).unwrap();
        assert!(packed.len() * 5 < text.len());
        assert_eq!(unpack(String::new(), Some(packed)), text);
    }

    #[test]
    fn short_texts_stay_and_damage_is_no_panic() {
        assert_eq!(pack("cargo test"), None);
        assert_eq!(unpack("plain".to_owned(), None), "plain");
        assert_eq!(unpack(String::new(), Some(vec![7; 90])), "");
    }
}
