//! Sentence encoder and vector search: semantic search inside the binary.
//!
//! Contains the encoder with its weights, the storage format of vectors, and the search among them. Storing vectors and
//! ranking results is up to the callers. No I/O, no clock, no environment.

mod cpu;
mod encoder;
mod kernels;
mod quantized;
mod scan;
mod tokenizer;
mod weights;

pub use encoder::Encoder;
pub use quantized::{Quantized, SIGN_BYTES, quantize, sign_bits};
pub use scan::{Stored, nearest};
pub use tokenizer::is_known_word;

/// Dimensions of a vector.
pub const DIMENSIONS: usize = 256;

/// Name of the encoder: vectors of different encoders cannot be compared.
pub const MODEL: &str = "backstory-encoder-v1";
