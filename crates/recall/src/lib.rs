//! Recall: from the store to what an agent is shown.
//!
//! Owns what is chosen, in which order and within which limits. Reads the store only, and returns text; printing is left
//! to the binary.

mod cited;
mod context;

pub use cited::{Fate, fate, mark};
pub use context::{Limits, context};
