//! Recall: from the store to what an agent is shown.
//!
//! Owns what is chosen, in which order and within which limits. Reads the store only, and returns text; printing is left
//! to the binary.

mod context;

pub use context::{Limits, context};
