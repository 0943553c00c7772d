//! The result type of the scanner.

use std::ops::Range;

/// A secret and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secret {
    /// The bytes to redact.
    pub range: Range<usize>,
    /// The kind, in lower case with dashes: `github-token`.
    pub kind: &'static str,
}
