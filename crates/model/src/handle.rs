use std::{fmt, str::FromStr};

use serde::{Serialize, Serializer};

use crate::ObservationType;

/// What kind of thing is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemoryKind {
    /// Saved on purpose by a person or an agent.
    Note,
    /// Distilled from a turn.
    Observation,
    /// A checkpoint of a session.
    Summary,
    /// What the person asked; its number is the turn's.
    Prompt,
    /// Verbatim evidence.
    Passage,
}

impl MemoryKind {
    /// All kinds, the most telling first.
    pub const ALL: [Self; 5] = [
        Self::Note,
        Self::Observation,
        Self::Summary,
        Self::Prompt,
        Self::Passage,
    ];

    /// Returns the name used in the database and outside.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Observation => "observation",
            Self::Summary => "summary",
            Self::Prompt => "prompt",
            Self::Passage => "passage",
        }
    }

    /// Finds the kind that [`name`](Self::name) spells this way.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns the sign that stands for a memory in lists: an observation's is that of its type.
    pub fn icon(self, observation_type: Option<&str>) -> &'static str {
        match self {
            Self::Observation => observation_type
                .and_then(ObservationType::from_name)
                .map_or("⚪", ObservationType::icon),
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
            Self::Summary => "S",
            Self::Prompt => "P",
            Self::Passage => "V",
        }
    }
}

/// How people and agents name a memory: `123`, `S12`, `P34`, `N5`, `V678`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle {
    /// What it names.
    pub kind: MemoryKind,
    /// The number of the row.
    pub id: i64,
}

/// Why a word is no handle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no handle: expected a number like 123, or S12, P34, N5, V678")]
pub struct ParseHandleError(String);

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}{}", self.kind.letter(), self.id))
    }
}

impl FromStr for Handle {
    type Err = ParseHandleError;

    fn from_str(text: &str) -> Result<Self, ParseHandleError> {
        // Lists show handles with a sign in front.
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
    fn a_handle_reads_what_it_writes() {
        for kind in MemoryKind::ALL {
            let handle = Handle { kind, id: 678 };
            assert_eq!(handle.to_string().parse(), Ok(handle));
            assert_eq!(format!("#{handle}").to_lowercase().parse(), Ok(handle));
        }
    }

    #[test]
    fn other_words_are_no_handles() {
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
