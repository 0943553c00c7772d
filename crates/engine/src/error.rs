//! Errors with hints: what failed, and what the user can do about it.
//!
//! Hints are data. The command line prints them as `hint: …` lines below the error; HTTP and MCP send them in a field of their
//! own. Do not write them into the message.

use std::fmt;

use anyhow::Result;
use backstory_store::StoreError;

/// Advice for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint(String);

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Error message with hints.
#[derive(Debug)]
pub struct HintedError {
    message: String,
    hints: Vec<Hint>,
    source: Option<anyhow::Error>,
}

impl HintedError {
    /// Returns an error without hints.
    pub fn new(message: impl fmt::Display) -> Self {
        Self {
            message: message.to_string(),
            hints: Vec::new(),
            source: None,
        }
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl fmt::Display) -> Self {
        self.hints.push(Hint(hint.to_string()));
        self
    }

    /// Sets the cause.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<anyhow::Error>) -> Self {
        self.source = Some(source.into());
        self
    }
}

impl fmt::Display for HintedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for HintedError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let source: &anyhow::Error = self.source.as_ref()?;
        Some(source.as_ref())
    }
}

/// Adds context and a hint to an error.
pub trait HintContext<T> {
    /// Wraps the error in a message with a hint.
    fn hint_context(self, message: impl fmt::Display, hint: impl fmt::Display) -> Result<T>;
}

impl<T, E: Into<anyhow::Error>> HintContext<T> for Result<T, E> {
    fn hint_context(self, message: impl fmt::Display, hint: impl fmt::Display) -> Result<T> {
        self.map_err(|error| HintedError::new(message).hint(hint).caused_by(error).into())
    }
}

/// Returns the hints of an error and of its causes, outermost first.
pub fn hints(error: &anyhow::Error) -> Vec<&Hint> {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<HintedError>())
        .flat_map(|error| &error.hints)
        .collect()
}

/// Returns an error and its causes in one line.
pub fn error_chain(error: &anyhow::Error) -> String {
    let mut messages: Vec<String> = Vec::new();
    for cause in error.chain().map(ToString::to_string) {
        // SQLite errors repeat the message of their cause.
        if !messages.last().is_some_and(|last| cause.ends_with(last.as_str())) {
            messages.push(cause);
        }
    }
    messages.join(": ")
}

/// Adds a hint to the error of a store that does not open.
pub fn with_hint(error: StoreError) -> anyhow::Error {
    let hint = match &error {
        StoreError::Newer { .. } => {
            "update backstory, or set BACKSTORY_HOME to another folder; nothing was changed"
        }
        StoreError::Migrate(_) | StoreError::Backup { .. } => {
            "nothing was changed; check the free disk space"
        }
        _ => return error.into(),
    };
    HintedError::new("the store cannot be used")
        .hint(hint)
        .caused_by(error)
        .into()
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::*;

    #[test]
    fn hints_are_found_at_every_level() {
        let inner = HintedError::new("no key")
            .hint("set one")
            .caused_by(anyhow::anyhow!("404"));
        let error = Result::<()>::Err(inner.into())
            .context("could not call the model")
            .hint_context("could not distill", "try `backstory doctor`")
            .unwrap_err();
        let found: Vec<String> = hints(&error).into_iter().map(ToString::to_string).collect();
        assert_eq!(found, ["try `backstory doctor`", "set one"]);
        assert_eq!(
            format!("{error:#}"),
            "could not distill: could not call the model: no key: 404"
        );
    }

    #[test]
    fn the_cause_can_still_be_recognized() {
        let error = with_hint(StoreError::Newer {
            path: "backstory.db".into(),
            found: 99,
            known: 1,
        });
        let is_store = |cause: &(dyn std::error::Error + 'static)| cause.is::<StoreError>();
        assert!(error.chain().any(is_store), "{error:#}");
    }
}
