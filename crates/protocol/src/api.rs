//! Requests and answers that are single JSON objects.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    AccountId, DeviceId, Embedding, Epoch, Feedback, PulledRecord, RecordId, SharedProjectId, base64_bytes,
    signature::KEY_BYTES,
};

/// Describes a server to someone who considers joining it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerInfo {
    /// Protocol versions that it speaks.
    pub protocols: Vec<u32>,
    /// The person or company that operates it, as configured.
    #[serde(default)]
    pub operator: Option<String>,
    /// The version of the program.
    pub version: String,
    /// Encoders whose vectors it can search.
    #[serde(default)]
    pub encoders: Vec<String>,
    /// Ways to join: `invitation`.
    #[serde(default)]
    pub join: Vec<String>,
}

/// Registers a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinRequest {
    /// The code of an invitation.
    pub code: String,
    /// The person's name, as others will see it.
    pub name: String,
    /// The device's id, made by the device.
    pub device: DeviceId,
    /// The device's name, for the person's own list.
    pub device_name: String,
    /// The device's public key.
    #[serde(with = "base64_bytes::array")]
    pub public_key: [u8; KEY_BYTES],
}

/// Answers a [`JoinRequest`]. The token is shown only here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinAnswer {
    /// The account.
    pub account: AccountId,
    /// The account's name. An invitation for an existing account keeps that account's name.
    pub name: String,
    /// The token for later requests: at most 256 printable ASCII characters.
    pub token: String,
    /// The teams of the account.
    pub teams: Vec<TeamRole>,
}

/// A team and the account's role in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TeamRole {
    /// The team's name.
    pub team: String,
    /// The role.
    pub role: Role,
}

/// The roles in a team. Each may do what the ones before may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Pulls and searches.
    Reader,
    /// Shares own memories and gives feedback.
    Writer,
    /// Forgets any record of a project, sets its policy, renames it.
    Maintainer,
}

/// The modes of sharing, the strictest first: the strictest of all that apply counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SharePolicy {
    /// Nothing is shared.
    Off,
    /// Only what a person marks is shared.
    Manual,
    /// Memories are proposed, and shared after a person's approval.
    Review,
    /// Memories are shared by themselves.
    Auto,
}

impl SharePolicy {
    /// All policies, the strictest first.
    pub const ALL: [Self; 4] = [Self::Off, Self::Manual, Self::Review, Self::Auto];

    /// Returns the name used outside.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Manual => "manual",
            Self::Review => "review",
            Self::Auto => "auto",
        }
    }

    /// Finds the policy with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.name() == name)
    }
}

/// Describes the account, its projects and the people in them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Me {
    /// The account.
    pub account: AccountId,
    /// The account's name.
    pub name: String,
    /// The teams of the account.
    pub teams: Vec<TeamRole>,
    /// The projects that the account may read.
    pub projects: Vec<SharedProject>,
    /// Members of these projects, and former ones whose records were kept.
    pub members: Vec<TeamMember>,
}

/// A project that a team shares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedProject {
    /// The project's id on the server.
    pub id: SharedProjectId,
    /// The team.
    pub team: String,
    /// The normalized remote, or the name it was enrolled with. Part of every signature.
    pub key: String,
    /// Further keys of the same project.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// The name shown.
    pub name: String,
    /// The account's role.
    pub role: Role,
    /// The loosest mode of sharing that is permitted.
    pub policy: SharePolicy,
    /// The epoch.
    pub epoch: Epoch,
    /// The last sequence number.
    pub head: i64,
    /// Tombstones up to this sequence number are gone.
    pub compacted: i64,
    /// Bodies are ciphertext.
    #[serde(default)]
    pub encrypted: bool,
    /// Identifies the key of an encrypted space, without revealing it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_id: Option<String>,
}

/// A person who may share records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TeamMember {
    /// The account.
    pub account: AccountId,
    /// The name; "former member" for someone who left.
    pub name: String,
    /// The person left the team.
    #[serde(default)]
    pub former: bool,
    /// The person's devices, revoked ones included: their records are still to be verified.
    pub devices: Vec<DeviceKey>,
}

/// A device and the key that verifies its records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceKey {
    /// The device.
    pub device: DeviceId,
    /// Its public key.
    #[serde(with = "base64_bytes::array")]
    pub public_key: [u8; KEY_BYTES],
}

/// Creates a shared project, or returns the one that has this key or alias. Needs the role of a writer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectRequest {
    /// The team; may be left out by an account with one team.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    /// The project's key.
    pub key: String,
    /// The name to show.
    pub name: String,
    /// Bodies will be ciphertext. Cannot be changed later.
    #[serde(default)]
    pub encrypted: bool,
    /// Identifies the key of an encrypted space, without revealing it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_id: Option<String>,
}

/// Replaces the sender's views of records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedbackRequest {
    /// One view per record. Records that do not exist are skipped.
    pub feedback: Vec<Feedback>,
}

/// Answers a [`FeedbackRequest`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedbackAnswer {
    /// The number of views that were stored.
    pub stored: u64,
    /// The last sequence number of the project.
    pub head: i64,
}

/// Deletes records of others, for good. All given conditions must hold; one at least is needed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgetRequest {
    /// These records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<RecordId>,
    /// Records of this person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<AccountId>,
    /// Records that were made before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Timestamp>,
    /// Only count.
    #[serde(default)]
    pub dry_run: bool,
}

/// Answers a [`ForgetRequest`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgetAnswer {
    /// The number of records that were, or would be, deleted.
    pub records: u64,
    /// The last sequence number of the project.
    pub head: i64,
}

/// Returns the audit log of a project, the newest entries first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditAnswer {
    /// The entries.
    pub entries: Vec<AuditEntry>,
}

/// An entry of the audit log: who did what, without content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// The number of the entry.
    pub id: i64,
    /// The time.
    pub at: Timestamp,
    /// The person; absent if it was the operator.
    #[serde(default)]
    pub account: Option<AccountId>,
    /// The person's device.
    #[serde(default)]
    pub device: Option<DeviceId>,
    /// The deed, such as `forget`.
    pub action: String,
    /// The id of its object.
    #[serde(default)]
    pub subject: Option<String>,
}

/// Searches records on the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchRequest {
    /// The projects; everything the account may read if empty. Encrypted ones are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub projects: Vec<SharedProjectId>,
    /// Terms in the form of `backstory_text::search_terms`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub terms: Vec<String>,
    /// The embedding of the query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedding: Option<Embedding>,
    /// The encoder of the embedding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoder: Option<String>,
}

/// Answers a [`SearchRequest`]: candidates for the client to rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchAnswer {
    /// The best by terms and the best by sign bits, each record once.
    pub candidates: Vec<Candidate>,
    /// The number of records that were searched.
    pub documents: u64,
    /// For each term, the number of records with it.
    pub term_documents: BTreeMap<String, u64>,
}

/// A record that may answer a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// The project.
    pub project: SharedProjectId,
    /// The record.
    pub record: PulledRecord,
    /// The rank by terms, if it has any of them; higher is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lexical_rank: Option<f32>,
    /// The number of sign bits that differ from those of the query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sign_distance: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_ordered_by_strictness() {
        assert!(SharePolicy::ALL.is_sorted());
        for policy in SharePolicy::ALL {
            assert_eq!(SharePolicy::from_name(policy.name()), Some(policy));
            assert_eq!(serde_json::to_value(policy).unwrap(), policy.name());
        }
    }

    #[test]
    fn requests_may_leave_out_what_they_do_not_need() {
        let forget: ForgetRequest = serde_json::from_str(r#"{"author":7}"#).unwrap();
        assert_eq!(forget.author, Some(AccountId(7)));
        assert!(!forget.dry_run && forget.ids.is_empty());
        let text = serde_json::to_string(&ProjectRequest {
            team: None,
            key: "example.org/app".to_owned(),
            name: "app".to_owned(),
            encrypted: false,
            key_id: None,
        });
        assert_eq!(
            text.unwrap(),
            r#"{"key":"example.org/app","name":"app","encrypted":false}"#
        );
    }
}
