//! The error of every cursor that a client passes back.

/// Reports a text that is no cursor of ours.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no cursor")]
pub struct ParseCursorError(String);

impl ParseCursorError {
    pub(crate) fn new(text: &str) -> Self {
        Self(text.to_owned())
    }
}
