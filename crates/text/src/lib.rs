//! Text primitives shared by the other crates: tokenizing, stemming, similarity, clipping, token estimates, error
//! signatures, hashing and byte scanning.
//!
//! Everything here is a pure function of its arguments: no I/O, no clock, no domain types. Each concept has exactly one
//! implementation. A threshold on its result (how similar is a duplicate?) belongs to the caller, next to the reason for
//! it. The context block is built from these functions inside a hook process, so they avoid allocation per word.

mod clip;
mod error_signature;
mod hash;
pub mod scan;
mod similarity;
mod split;
mod stem;
mod words;

pub use clip::{clip, is_invisible, one_line};
pub use error_signature::error_signature;
pub use hash::{hash_fields, hash64, hex, sha256, sha256_hex};
pub use similarity::{WordSet, similarity};
pub use split::split;
pub use stem::stem;
pub use words::{
    Piece, content_words, has_word, index_words, is_stop_word, name_parts, pairs, pieces, search_terms, words,
};

/// The average number of bytes per model token: English prose has a little more, code a little less.
pub const BYTES_PER_TOKEN: usize = 4;

/// Estimates the number of model tokens of a text from its length, without a tokenizer.
pub fn tokens(text: &str) -> usize {
    text.len().div_ceil(BYTES_PER_TOKEN)
}
