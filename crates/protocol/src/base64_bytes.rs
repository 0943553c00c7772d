//! Bytes inside JSON: standard base64 with padding.

use base64::{Engine as _, engine::general_purpose::STANDARD};

/// Writes bytes in base64.
pub fn encode_base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Reads base64; `None` for any other text.
pub fn decode_base64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

/// Serializes byte arrays in base64, for `#[serde(with)]`.
pub(crate) mod array {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(crate) fn serialize<const N: usize, S: Serializer>(
        bytes: &[u8; N],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&super::encode_base64(bytes))
    }

    pub(crate) fn deserialize<'de, const N: usize, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<[u8; N], D::Error> {
        let text = String::deserialize(deserializer)?;
        super::decode_base64(&text)
            .and_then(|bytes| bytes.try_into().ok())
            .ok_or_else(|| D::Error::custom(format!("expected {N} bytes in base64")))
    }
}
