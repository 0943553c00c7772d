use std::{fmt, str::FromStr};

/// Names one memory the way people and agents type it: `123`, `S12`, `P34`, `N5`, `V678`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Handle {
    /// An observation: `123`.
    Observation(i64),
    /// A summary: `S12`.
    Summary(i64),
    /// A prompt, and with it the turn it opened: `P34`.
    Prompt(i64),
    /// A note: `N5`.
    Note(i64),
    /// A passage: `V678`.
    Passage(i64),
}

/// Text that is no handle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidHandle(pub String);

impl fmt::Display for InvalidHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is no handle; they look like 123, S12, P34, N5 or V678",
            self.0.escape_debug()
        )
    }
}

impl std::error::Error for InvalidHandle {}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Observation(id) => write!(f, "{id}"),
            Self::Summary(id) => write!(f, "S{id}"),
            Self::Prompt(id) => write!(f, "P{id}"),
            Self::Note(id) => write!(f, "N{id}"),
            Self::Passage(id) => write!(f, "V{id}"),
        }
    }
}

impl FromStr for Handle {
    type Err = InvalidHandle;

    fn from_str(text: &str) -> Result<Self, InvalidHandle> {
        let invalid = || InvalidHandle(text.to_owned());
        let rest = text.strip_prefix('#').unwrap_or(text);
        let (kind, digits): (fn(i64) -> Self, &str) = match rest.as_bytes().first() {
            Some(b'S' | b's') => (Self::Summary, &rest[1..]),
            Some(b'P' | b'p') => (Self::Prompt, &rest[1..]),
            Some(b'N' | b'n') => (Self::Note, &rest[1..]),
            Some(b'V' | b'v') => (Self::Passage, &rest[1..]),
            _ => (Self::Observation, rest),
        };
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(invalid());
        }
        digits.parse().map(kind).map_err(|_| invalid())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_handle_is_read_back() {
        for handle in ["123", "S12", "P34", "N5", "V678"] {
            assert_eq!(handle.parse::<Handle>().unwrap().to_string(), handle);
        }
        assert_eq!("#7".parse(), Ok(Handle::Observation(7)));
        assert_eq!("s7".parse(), Ok(Handle::Summary(7)));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "S",
            "-1",
            "+1",
            "1.5",
            "X3",
            "99999999999999999999",
            "é",
            "1 ",
        ] {
            assert!(text.parse::<Handle>().is_err(), "{text:?}");
        }
    }
}
