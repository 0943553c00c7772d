//! The part of a value that decides whether it is a secret.

/// The number of bytes of a value that are examined: a text full of long values stays cheap.
pub(crate) const WINDOW: usize = 72;

/// Returns the first [`WINDOW`] bytes of a value.
pub(crate) fn window(value: &[u8]) -> &[u8] {
    &value[..value.len().min(WINDOW)]
}
