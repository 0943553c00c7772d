//! The body of a record: one JSON object, signed and forwarded byte for byte.
//!
//! Whoever receives a body keeps its bytes: it is parsed to read it, never to write it again, so that fields of newer
//! clients survive.

use backstory_model::ObservationType;
use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};

use crate::{DeviceId, RecordId, base64_bytes, limits};

/// Number of dimensions of an embedding.
const DIMENSIONS: usize = 256;

/// The kinds of memories that can be shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SharedKind {
    /// Saved on purpose; the text is in `narrative`.
    Note,
    /// Distilled from a turn.
    Observation,
    /// The checkpoint of a session, without its request.
    Summary,
}

impl SharedKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Note, Self::Observation, Self::Summary];

    /// Returns the name used on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Observation => "observation",
            Self::Summary => "summary",
        }
    }
}

/// A shared memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TeamRecord {
    /// Version of the format.
    pub v: u32,
    /// The record's id.
    pub id: RecordId,
    /// Increases with every change.
    pub version: u32,
    /// The kind of memory.
    pub kind: SharedKind,
    /// The subject of an observation. A type that this version does not know is left out.
    #[serde(
        rename = "type",
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "known_type"
    )]
    pub observation_type: Option<ObservationType>,
    /// The title; empty in a note.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The subtitle.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub subtitle: String,
    /// The narrative, or the whole text of a note.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub narrative: String,
    /// The facts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<String>,
    /// The concepts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub concepts: Vec<String>,
    /// The cited files, relative to the top of the repository.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<RecordFile>,
    /// The branch it was made on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The commit it was made on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The time at which the memory was made.
    pub created_at: Timestamp,
    /// Records that this one replaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub supersedes: Vec<RecordId>,
    /// The author's name as it was when this version was shared. Identity comes from the device's key, not from the name.
    pub author: String,
    /// The device that signed it.
    pub device: DeviceId,
    /// The encoder of the embedding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoder: Option<String>,
    /// The embedding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedding: Option<Embedding>,
}

/// A file that a memory cites.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordFile {
    /// The path below the top of the repository, with `/` between names.
    pub path: String,
    /// It was changed, not only read.
    #[serde(default, skip_serializing_if = "is_false")]
    pub modified: bool,
    /// The first 16 bytes of the SHA-256 of its content, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Its size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

/// A quantized vector. On the wire: 4 bytes of the scale, little-endian, and 256 signed bytes, in base64.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedding {
    /// The value of one step.
    pub scale: f32,
    /// One signed byte per dimension.
    pub bytes: [u8; DIMENSIONS],
}

impl Embedding {
    /// Returns the bytes of the wire format.
    pub fn to_bytes(&self) -> [u8; DIMENSIONS + 4] {
        let mut all = [0; DIMENSIONS + 4];
        all[..4].copy_from_slice(&self.scale.to_le_bytes());
        all[4..].copy_from_slice(&self.bytes);
        all
    }

    /// Reads the wire format.
    pub fn from_bytes(all: &[u8; DIMENSIONS + 4]) -> Self {
        let (scale, bytes) = all.split_first_chunk().unwrap_or((&[0; 4], &[]));
        let mut vector = [0; DIMENSIONS];
        vector.copy_from_slice(bytes);
        Self {
            scale: f32::from_le_bytes(*scale),
            bytes: vector,
        }
    }
}

impl Serialize for Embedding {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        base64_bytes::array::serialize(&self.to_bytes(), serializer)
    }
}

impl<'de> Deserialize<'de> for Embedding {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let embedding = Self::from_bytes(&base64_bytes::array::deserialize(deserializer)?);
        if embedding.scale.is_finite() {
            Ok(embedding)
        } else {
            Err(serde::de::Error::custom(
                "the scale of an embedding must be finite",
            ))
        }
    }
}

/// Reports why a body is no record.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// It is too long.
    #[error("the record has {0} bytes, more than {max}", max = limits::MAX_BODY_BYTES)]
    TooLarge(usize),
    /// A text in it contains NUL.
    #[error("the record contains a NUL character")]
    InvalidText,
    /// It is no JSON object with the fields of a record.
    #[error("the record cannot be read")]
    Malformed(#[source] serde_json::Error),
}

impl TeamRecord {
    /// Version of the format that this crate writes.
    pub const FORMAT: u32 = 1;

    /// Reads a body.
    pub fn parse(body: &str) -> Result<Self, RecordError> {
        if body.len() > limits::MAX_BODY_BYTES {
            return Err(RecordError::TooLarge(body.len()));
        }
        let record: Self = serde_json::from_str(body).map_err(RecordError::Malformed)?;
        if record.texts().any(|text| text.contains('\0')) {
            return Err(RecordError::InvalidText);
        }
        Ok(record)
    }

    /// Writes a body. The same record always has the same bytes.
    pub fn to_body(&self) -> Result<String, RecordError> {
        let body = serde_json::to_string(self).map_err(RecordError::Malformed)?;
        if body.len() > limits::MAX_BODY_BYTES {
            return Err(RecordError::TooLarge(body.len()));
        }
        Ok(body)
    }

    /// Returns every text in it that a person wrote or that names something: what a scanner has to look at.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let single = [&self.title, &self.subtitle, &self.narrative, &self.author];
        let optional = [&self.branch, &self.commit, &self.encoder];
        let files = self
            .files
            .iter()
            .flat_map(|file| [Some(&file.path), file.hash.as_ref()]);
        single
            .into_iter()
            .chain(&self.facts)
            .chain(&self.concepts)
            .chain(optional.into_iter().flatten())
            .chain(files.flatten())
            .map(String::as_str)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(value: &bool) -> bool {
    !value
}

/// Reads the type of an observation; one of a newer client is none.
fn known_type<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<ObservationType>, D::Error> {
    let name = Option::<String>::deserialize(deserializer)?;
    Ok(name.as_deref().and_then(ObservationType::from_name))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns a record with every field.
    pub(crate) fn record() -> TeamRecord {
        TeamRecord {
            v: TeamRecord::FORMAT,
            id: RecordId([7; 16]),
            version: 3,
            kind: SharedKind::Observation,
            observation_type: Some(ObservationType::Bugfix),
            title: "Refresh token retried twice".to_owned(),
            subtitle: "in the client".to_owned(),
            narrative: "A \"quoted\" text\nwith lines".to_owned(),
            facts: vec!["the server answers 401".to_owned()],
            concepts: vec!["gotcha".to_owned()],
            files: vec![RecordFile {
                path: "src/auth.rs".to_owned(),
                modified: true,
                hash: Some("9b1e".to_owned()),
                size: Some(5120),
            }],
            branch: Some("main".to_owned()),
            commit: Some("a51c".to_owned()),
            created_at: Timestamp::from_millisecond(1_763_285_400_000).unwrap(),
            supersedes: vec![RecordId([9; 16])],
            author: "Ana".to_owned(),
            device: DeviceId([1; 16]),
            encoder: Some("backstory-encoder-v1".to_owned()),
            embedding: Some(Embedding {
                scale: 0.25,
                bytes: std::array::from_fn(|index| u8::try_from(index).unwrap()),
            }),
        }
    }

    #[test]
    fn a_body_has_the_documented_fields() {
        let body = record().to_body().unwrap();
        let start = r#"{"v":1,"id":"07070707070707070707070707070707","version":3,"kind":"observation","type":"bugfix","title":"Refresh token retried twice""#;
        assert!(body.starts_with(start), "{body}");
        assert!(body.contains(r#""created_at":"2025-11-16T09:30:00Z""#), "{body}");
        assert_eq!(TeamRecord::parse(&body).unwrap(), record());
    }

    #[test]
    fn fields_of_newer_versions_are_ignored() {
        let mut body = record().to_body().unwrap();
        body.insert_str(1, r#""later":{"nested":[1]},"#);
        body = body.replace("bugfix", "prophecy");
        let read = TeamRecord::parse(&body).unwrap();
        assert_eq!(read.observation_type, None);
        assert_eq!(read.title, record().title);
    }

    #[test]
    fn hostile_bodies_are_refused() {
        let body = record().to_body().unwrap();
        let with_nul = body.replace("in the client", "in \\u0000 client");
        assert!(matches!(
            TeamRecord::parse(&with_nul),
            Err(RecordError::InvalidText)
        ));
        let surrogate = body.replace("in the client", "in \\ud800 client");
        assert!(matches!(
            TeamRecord::parse(&surrogate),
            Err(RecordError::Malformed(_))
        ));
        let long = body.replace("in the client", &"x".repeat(limits::MAX_BODY_BYTES));
        assert!(matches!(TeamRecord::parse(&long), Err(RecordError::TooLarge(_))));
        let nested = "[".repeat(10_000);
        assert!(matches!(
            TeamRecord::parse(&nested),
            Err(RecordError::Malformed(_))
        ));
    }
}
