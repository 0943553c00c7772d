//! From text to vectors, and from a vector to its nearest neighbours: search by meaning inside the binary.
//!
//! Owns the encoder with its weights, the form in which vectors are stored, and the search among them. Where they are
//! stored, and what is made of what is found, is left to others. No I/O, no clock, no environment.

mod cpu;
mod encoder;
mod kernels;
mod quantised;
mod scan;
mod tokenizer;
mod weights;

pub use encoder::Encoder;
pub use quantised::{Quantised, SIGN_BYTES, quantise, sign_bits};
pub use scan::{Stored, nearest};

/// How many numbers a vector has.
pub const DIMENSIONS: usize = 256;

/// Names the encoder: vectors of different names cannot be compared.
pub const MODEL: &str = "backstory-encoder-v1";
