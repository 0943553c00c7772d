//! Memories by kind and number.

use std::{fmt, str::FromStr};

use serde::{Serialize, Serializer};

use crate::{ObservationId, ObservationType, SummaryId, TurnId, named::named_enum};

named_enum! {
    /// The kinds of memories, by authority: the first outrank the last.
    pub enum MemoryKind {
        /// Saved on purpose by a user or an agent.
        Note = "note",
        /// Distilled from a turn.
        Observation = "observation",
        /// Shared by another person.
        Team = "team",
        /// A checkpoint of a session.
        Summary = "summary",
        /// A prompt of the user; its number is the turn's.
        Prompt = "prompt",
        /// Verbatim evidence.
        Passage = "passage",
    }
}

impl MemoryKind {
    /// Returns the icon shown in lists; an observation has that of its type.
    pub fn icon(self, observation_type: Option<ObservationType>) -> &'static str {
        match self {
            Self::Observation => observation_type.unwrap_or(ObservationType::Change).icon(),
            Self::Team => observation_type.map_or("👥", ObservationType::icon),
            Self::Summary => "🏁",
            Self::Prompt => "💬",
            Self::Note => "📝",
            Self::Passage => "📄",
        }
    }

    const fn letter(self) -> &'static str {
        match self {
            Self::Note => "N",
            Self::Observation => "",
            Self::Team => "T",
            Self::Summary => "S",
            Self::Prompt => "P",
            Self::Passage => "V",
        }
    }
}

/// Identifies a memory for users and agents: `123`, `S12`, `P34`, `N5`, `V678`, `T41`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle {
    /// The kind of memory.
    pub kind: MemoryKind,
    /// The number of the row.
    pub id: i64,
}

impl From<SummaryId> for Handle {
    fn from(id: SummaryId) -> Self {
        Self {
            kind: MemoryKind::Summary,
            id: id.get(),
        }
    }
}

impl From<ObservationId> for Handle {
    fn from(id: ObservationId) -> Self {
        Self {
            kind: MemoryKind::Observation,
            id: id.get(),
        }
    }
}

impl From<TurnId> for Handle {
    /// Returns the handle of the turn's prompt.
    fn from(id: TurnId) -> Self {
        Self {
            kind: MemoryKind::Prompt,
            id: id.get(),
        }
    }
}

impl Handle {
    /// Returns the id of the observation that this handle is for.
    pub fn observation(self) -> Option<ObservationId> {
        (self.kind == MemoryKind::Observation).then_some(ObservationId::new(self.id))
    }
}

/// Reports a word that is no handle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no handle: expected a number like 123, or S12, P34, N5, V678, T41")]
pub struct ParseHandleError(String);

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}{}", self.kind.letter(), self.id))
    }
}

impl FromStr for Handle {
    type Err = ParseHandleError;

    fn from_str(text: &str) -> Result<Self, ParseHandleError> {
        // Lists show handles with a number sign in front.
        let word = text.trim().trim_start_matches('#');
        let digits = word.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
        let letter = &word[..word.len() - digits.len()];
        let kind = MemoryKind::ALL
            .into_iter()
            .find(|kind| kind.letter().eq_ignore_ascii_case(letter));
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        match (kind, digits.parse()) {
            (Some(kind), Ok(id)) if is_number => Ok(Self { kind, id }),
            _ => Err(ParseHandleError(text.to_owned())),
        }
    }
}

impl Serialize for Handle {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_round_trip_through_text() {
        for kind in MemoryKind::ALL {
            let handle = Handle { kind, id: 678 };
            assert_eq!(handle.to_string().parse(), Ok(handle));
            assert_eq!(format!("#{handle}").to_lowercase().parse(), Ok(handle));
        }
    }

    #[test]
    fn other_words_are_rejected() {
        for word in [
            "",
            "S",
            "X5",
            "5S",
            "S-5",
            "+5",
            "S5.",
            "99999999999999999999",
            "ß5",
            "N 5",
        ] {
            assert_eq!(
                word.parse::<Handle>(),
                Err(ParseHandleError(word.to_owned())),
                "{word}"
            );
        }
    }
}
