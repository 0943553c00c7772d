//! The wire format of team memory, used by the client and by `backstory-server`.
//!
//! Holds records, envelopes, the bytes that are signed, and the requests and answers of the HTTP API. No I/O, no clock, no
//! random numbers: callers pass keys, times and ids. A change here changes what is on the wire, so fields are only added,
//! and a reader ignores fields that it does not know.
//!
//! # HTTP
//!
//! Every request except `GET /health`, `GET /v1/info` and `POST /v1/devices` has two headers: `Authorization: Bearer TOKEN`
//! and [`DEVICE_HEADER`]`: DEVICE`. A token of another device is `401 token_revoked`. Plain `http` is refused by clients
//! except on loopback. Ids of records, devices and epochs are 32 lower-case hexadecimal digits; a reader also accepts the
//! hyphens of a UUID. Bytes inside JSON (signatures, keys, vectors) are standard base64 with padding.
//!
//! | request | body | answer |
//! |---|---|---|
//! | `GET /health` | | `ok` as text |
//! | `GET /v1/info` | | [`ServerInfo`] |
//! | `POST /v1/devices` | [`JoinRequest`] | [`JoinAnswer`] |
//! | `DELETE /v1/devices/{device}` | | 204; an own device, or any as an admin |
//! | `GET /v1/me` | | [`Me`], with an `ETag`; `If-None-Match` is answered with 304 |
//! | `PUT /v1/projects` | [`ProjectRequest`] | [`SharedProject`]; the same request again answers the same |
//! | `POST /v1/projects/{id}/records` | stream of [`PushLine`] | stream of [`PushResult`], then a [`Trailer`] |
//! | `GET /v1/projects/{id}/records?epoch=E&after=N&limit=500&wait=25` | | stream of [`PullLine`], then a [`Trailer`] |
//! | `GET /v1/projects/{id}/snapshot` | | as above: live records only, as of the trailer's `head` |
//! | `POST /v1/projects/{id}/feedback` | [`FeedbackRequest`] | [`FeedbackAnswer`] |
//! | `POST /v1/projects/{id}/forget` | [`ForgetRequest`] | [`ForgetAnswer`] |
//! | `GET /v1/projects/{id}/audit?before=N` | | [`AuditAnswer`]: at most 200 entries, those before entry N |
//! | `POST /v1/search` | [`SearchRequest`] | [`SearchAnswer`] |
//!
//! A stream has the type [`STREAM_TYPE`] and the encoding of [`stream`]: frames of deflated JSON lines. All other bodies are
//! JSON. A push is answered with 200 and one [`PushResult`] per line, in the order of the lines, even if every record is
//! rejected: one bad record never blocks another. It is `413 too_large` as a whole only above the limits of [`limits`].
//! An error is an [`ErrorAnswer`] with the status of its [`ErrorCode`]; `429` and `503` have a `Retry-After` in seconds.
//!
//! Pulling: `after` is the last sequence number that the client has applied, 0 at first; `epoch` may be left out with
//! `after=0`. Lines come in the order of their `seq`, tombstones and feedback included. The new cursor is the `head` of the
//! trailer if `more` is false, and the last `seq` received if it is true. With nothing to send the request waits up to `wait`
//! seconds (at most [`limits::MAX_WAIT_SECONDS`]). After a snapshot the cursor is its `head`.
//!
//! `epoch_changed`: the server was restored; start at 0, and push own records and tombstones again. `cursor_expired`:
//! tombstones after the cursor are gone; start at 0 and drop local copies that the server no longer has.
//!
//! Signatures: see [`signature`]. The project key in the signed bytes is the [`SharedProject::key`]; a verifier also accepts
//! its aliases. A server verifies pushed records with the public key of the pushing device, and refuses a record whose body
//! names another id, version, kind or device than its envelope and its sender.

mod api;
mod base64_bytes;
mod envelope;
mod error;
mod id;
pub mod limits;
mod record;
pub mod signature;
pub mod stream;

pub use api::{
    AuditAnswer, AuditEntry, Candidate, DeviceKey, FeedbackAnswer, FeedbackRequest, ForgetAnswer,
    ForgetRequest, JoinAnswer, JoinRequest, Me, ProjectRequest, Role, SearchAnswer, SearchRequest,
    ServerInfo, SharePolicy, SharedProject, TeamMember, TeamRole,
};
pub use base64_bytes::{decode_base64, encode_base64};
pub use envelope::{
    DeletionReason, Feedback, PullLine, PulledRecord, PushLine, PushResult, PushStatus, RejectReason,
    SignedRecord, Tombstone, Trailer,
};
pub use error::{ErrorAnswer, ErrorBody, ErrorCode};
pub use id::{AccountId, DeviceId, Epoch, ParseIdError, RecordId, SharedProjectId};
pub use record::{Embedding, RecordError, RecordFile, SharedKind, TeamRecord};

/// The version of the protocol that this crate speaks.
pub const VERSION: u32 = 1;

/// The content type of record streams.
pub const STREAM_TYPE: &str = "application/vnd.backstory.records";

/// The header with the id of the sending device.
pub const DEVICE_HEADER: &str = "backstory-device";
