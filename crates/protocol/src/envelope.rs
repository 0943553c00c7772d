//! The lines of record streams.
//!
//! A line is parsed by itself, so that a malformed one concerns no other.

use serde::{Deserialize, Serialize};

use crate::{
    AccountId, DeviceId, Epoch, RecordError, RecordId, SharedKind, TeamRecord, base64_bytes, limits,
    signature::SIGNATURE_BYTES,
};

/// A record with its signature, as it is pushed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedRecord {
    /// The record's id; the body repeats it.
    pub id: RecordId,
    /// The record's version; the body repeats it.
    pub version: u32,
    /// The kind of memory; the body repeats it.
    pub kind: SharedKind,
    /// The signed text: a [`TeamRecord`] as JSON, or ciphertext in an encrypted space.
    pub body: String,
    /// The device's signature, see [`crate::signature`].
    #[serde(with = "base64_bytes::array")]
    pub signature: [u8; SIGNATURE_BYTES],
}

impl SignedRecord {
    /// Reads the body and compares what it says with the envelope and the sending device.
    pub fn open(&self, device: DeviceId) -> Result<TeamRecord, RejectReason> {
        let record = TeamRecord::parse(&self.body).map_err(|error| match error {
            RecordError::TooLarge(_) => RejectReason::TooLarge,
            RecordError::InvalidText => RejectReason::InvalidText,
            RecordError::Malformed(_) => RejectReason::Malformed,
        })?;
        if record.device != device {
            return Err(RejectReason::NotAuthor);
        }
        if (record.id, record.version, record.kind) != (self.id, self.version, self.kind) {
            return Err(RejectReason::Malformed);
        }
        Ok(record)
    }
}

/// What remains of a deleted record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tombstone {
    /// The record's id.
    pub id: RecordId,
    /// Higher than every version of the record that the author knows.
    pub version: u32,
    /// The reason for the deletion.
    pub reason: DeletionReason,
}

/// The reasons for deletions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeletionReason {
    /// The author took it back.
    Unshared,
    /// The author forgot it.
    Forgotten,
    /// A maintainer deleted it, for good.
    Maintainer,
    /// The author left the team.
    Left,
}

/// A line of a push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PushLine {
    /// A new record or version.
    Put(SignedRecord),
    /// A deletion.
    Delete(Tombstone),
}

/// The word in `kind` that marks a tombstone.
const TOMBSTONE: &str = "tombstone";

/// Reads the parts of a line that tell what it is.
#[derive(Deserialize)]
struct Peek {
    id: Option<RecordId>,
    kind: Option<String>,
}

impl PushLine {
    /// Returns the id of the record.
    pub fn id(&self) -> RecordId {
        match self {
            Self::Put(record) => record.id,
            Self::Delete(tombstone) => tombstone.id,
        }
    }

    /// Returns the version of the record.
    pub fn version(&self) -> u32 {
        match self {
            Self::Put(record) => record.version,
            Self::Delete(tombstone) => tombstone.version,
        }
    }

    /// Reads a line. A bad one is answered with the returned result; its id is missing if it cannot be read.
    pub fn parse(line: &[u8]) -> Result<Self, PushResult> {
        let text = str::from_utf8(line).map_err(|_| PushResult::rejected(None, RejectReason::InvalidText))?;
        let peek: Peek =
            serde_json::from_str(text).map_err(|_| PushResult::rejected(None, RejectReason::Malformed))?;
        let malformed = |_| PushResult::rejected(peek.id, RejectReason::Malformed);
        if peek.kind.as_deref() == Some(TOMBSTONE) {
            return serde_json::from_str(text).map(Self::Delete).map_err(malformed);
        }
        let record: SignedRecord = serde_json::from_str(text).map_err(malformed)?;
        if record.body.len() > limits::MAX_BODY_BYTES {
            return Err(PushResult::rejected(peek.id, RejectReason::TooLarge));
        }
        Ok(Self::Put(record))
    }

    /// Writes a line, without its end.
    pub fn to_line(&self) -> Result<String, serde_json::Error> {
        match self {
            Self::Put(record) => serde_json::to_string(record),
            Self::Delete(tombstone) => serde_json::to_string(&Marked {
                kind: TOMBSTONE,
                line: tombstone,
            }),
        }
    }
}

/// A line with `kind` in front.
#[derive(Serialize)]
struct Marked<'l, T> {
    kind: &'static str,
    #[serde(flatten)]
    line: &'l T,
}

/// The result of one line of a push.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushResult {
    /// The record's id, if the line had a readable one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<RecordId>,
    /// The result.
    #[serde(flatten)]
    pub status: PushStatus,
}

impl PushResult {
    /// Returns the result for a line that is not stored.
    pub fn rejected(id: Option<RecordId>, reason: RejectReason) -> Self {
        Self {
            id,
            status: PushStatus::Rejected { reason },
        }
    }
}

/// The results of one line of a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum PushStatus {
    /// It was accepted under this sequence number.
    Stored {
        /// The sequence number.
        seq: i64,
    },
    /// The server already has exactly this version.
    Unchanged,
    /// The server has a later version, which the client pulls.
    Stale,
    /// It was not accepted.
    Rejected {
        /// The reason.
        reason: RejectReason,
    },
}

/// The reasons for not accepting a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RejectReason {
    /// It is longer than a record may be.
    TooLarge,
    /// It has NUL or invalid UTF-8 in it.
    InvalidText,
    /// It is no record, or its envelope and its body differ.
    Malformed,
    /// The signature is not one of this device over these bytes.
    BadSignature,
    /// The record belongs to another account, or the body names another device.
    NotAuthor,
    /// A secret was found in it.
    SecretDetected,
    /// The project's policy or the account's role does not permit it.
    Policy,
    /// A maintainer deleted it.
    Deleted,
    /// A reason that this version does not know.
    #[serde(other)]
    Other,
}

/// The last line of every stream from the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trailer {
    /// The last sequence number of the project that the answer reflects.
    pub head: i64,
    /// The epoch of the project.
    pub epoch: Epoch,
    /// Further changes exist after the last line.
    #[serde(default)]
    pub more: bool,
}

/// A record as the server sends it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PulledRecord {
    /// The sequence number.
    pub seq: i64,
    /// The author, as the server claims. A client compares it with the key that verifies the record.
    pub author: AccountId,
    /// The signing device.
    pub device: DeviceId,
    /// The record.
    #[serde(flatten)]
    pub record: SignedRecord,
}

/// One person's view of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feedback {
    /// The record.
    pub memory: RecordId,
    /// The person; the server fills it in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<AccountId>,
    /// The person pinned it.
    #[serde(default)]
    pub pinned: bool,
    /// 1 is helpful, -1 is wrong or harmful, 0 is no opinion.
    #[serde(default)]
    pub verdict: i8,
    /// The record that replaces it, in the person's view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<RecordId>,
}

/// A line of a pull or a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PullLine {
    /// A record.
    Record(PulledRecord),
    /// A deletion, with its sequence number.
    Tombstone(i64, Tombstone),
    /// A person's view of a record, with its sequence number.
    Feedback(i64, Feedback),
    /// The end of the stream.
    Trailer(Trailer),
}

#[derive(Serialize, Deserialize)]
struct Numbered<T> {
    seq: i64,
    #[serde(flatten)]
    line: T,
}

#[derive(Serialize, Deserialize)]
struct FeedbackLine {
    seq: i64,
    feedback: Feedback,
}

#[derive(Deserialize)]
struct PullPeek {
    head: Option<i64>,
    kind: Option<String>,
    feedback: Option<serde::de::IgnoredAny>,
}

impl PullLine {
    /// Reads a line.
    pub fn parse(line: &[u8]) -> Result<Self, serde_json::Error> {
        let peek: PullPeek = serde_json::from_slice(line)?;
        if peek.feedback.is_some() {
            let FeedbackLine { seq, feedback } = serde_json::from_slice(line)?;
            Ok(Self::Feedback(seq, feedback))
        } else if peek.kind.as_deref() == Some(TOMBSTONE) {
            let Numbered { seq, line } = serde_json::from_slice(line)?;
            Ok(Self::Tombstone(seq, line))
        } else if peek.head.is_some() && peek.kind.is_none() {
            serde_json::from_slice(line).map(Self::Trailer)
        } else {
            serde_json::from_slice(line).map(Self::Record)
        }
    }

    /// Writes a line, without its end.
    pub fn to_line(&self) -> Result<String, serde_json::Error> {
        match self {
            Self::Record(record) => serde_json::to_string(record),
            Self::Tombstone(seq, tombstone) => serde_json::to_string(&Numbered {
                seq: *seq,
                line: Marked {
                    kind: TOMBSTONE,
                    line: tombstone,
                },
            }),
            Self::Feedback(seq, feedback) => serde_json::to_string(&FeedbackLine {
                seq: *seq,
                feedback: *feedback,
            }),
            Self::Trailer(trailer) => serde_json::to_string(trailer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::record;

    fn signed() -> SignedRecord {
        let record = record();
        SignedRecord {
            id: record.id,
            version: record.version,
            kind: record.kind,
            body: record.to_body().unwrap(),
            signature: [5; SIGNATURE_BYTES],
        }
    }

    fn tombstone() -> Tombstone {
        Tombstone {
            id: RecordId([9; 16]),
            version: 2,
            reason: DeletionReason::Unshared,
        }
    }

    #[test]
    fn push_lines_round_trip() {
        for line in [PushLine::Put(signed()), PushLine::Delete(tombstone())] {
            let text = line.to_line().unwrap();
            assert_eq!(PushLine::parse(text.as_bytes()), Ok(line), "{text}");
        }
        assert_eq!(
            PushLine::Delete(tombstone()).to_line().unwrap(),
            r#"{"kind":"tombstone","id":"09090909090909090909090909090909","version":2,"reason":"unshared"}"#
        );
    }

    #[test]
    fn pull_lines_round_trip() {
        let feedback = Feedback {
            memory: RecordId([7; 16]),
            account: Some(AccountId(9)),
            pinned: true,
            verdict: -1,
            superseded_by: None,
        };
        let trailer = Trailer {
            head: 4183,
            epoch: Epoch([3; 16]),
            more: false,
        };
        for line in [
            PullLine::Record(PulledRecord {
                seq: 4171,
                author: AccountId(9),
                device: DeviceId([1; 16]),
                record: signed(),
            }),
            PullLine::Tombstone(4182, tombstone()),
            PullLine::Feedback(4183, feedback),
            PullLine::Trailer(trailer),
        ] {
            let text = line.to_line().unwrap();
            assert_eq!(PullLine::parse(text.as_bytes()).unwrap(), line, "{text}");
        }
    }

    #[test]
    fn results_have_the_documented_form() {
        let stored = PushResult {
            id: Some(RecordId([7; 16])),
            status: PushStatus::Stored { seq: 4182 },
        };
        for (result, text) in [
            (
                stored,
                r#"{"id":"07070707070707070707070707070707","status":"stored","seq":4182}"#,
            ),
            (
                PushResult::rejected(None, RejectReason::NotAuthor),
                r#"{"status":"rejected","reason":"not_author"}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&result).unwrap(), text);
            assert_eq!(serde_json::from_str::<PushResult>(text).unwrap(), result);
        }
        let later: PushResult = serde_json::from_str(r#"{"status":"rejected","reason":"on_fire"}"#).unwrap();
        assert_eq!(later, PushResult::rejected(None, RejectReason::Other));
    }

    #[test]
    fn a_bad_line_names_its_record_if_it_can() {
        let text = PushLine::Put(signed()).to_line().unwrap();
        let unsigned = text.replace("signature", "autograph");
        assert_eq!(
            PushLine::parse(unsigned.as_bytes()),
            Err(PushResult::rejected(
                Some(RecordId([7; 16])),
                RejectReason::Malformed
            ))
        );
        assert_eq!(
            PushLine::parse(b"\xff{}"),
            Err(PushResult::rejected(None, RejectReason::InvalidText))
        );
        assert_eq!(
            PushLine::parse(b"null"),
            Err(PushResult::rejected(None, RejectReason::Malformed))
        );
    }

    #[test]
    fn an_envelope_must_agree_with_its_body() {
        let device = DeviceId([1; 16]);
        assert_eq!(signed().open(device), Ok(record()));
        assert_eq!(signed().open(DeviceId([2; 16])), Err(RejectReason::NotAuthor));
        let relabeled = SignedRecord {
            version: 4,
            ..signed()
        };
        assert_eq!(relabeled.open(device), Err(RejectReason::Malformed));
    }
}
