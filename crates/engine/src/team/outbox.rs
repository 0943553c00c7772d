//! What is sent to the server: lines for shares, as many as one push may hold, and the answers to them; and the numbers of an
//! exchange.

use anyhow::Result;
use backstory_protocol::{DeletionReason, PushLine, PushStatus, RecordId, Tombstone, limits};
use backstory_store::{Share, ShareState, Store};

use super::pack;

/// Counts what an exchange did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExchangeReport {
    /// Records and deletions that the server accepted.
    pub sent: u64,
    /// Records that it refused.
    pub refused: u64,
    /// New records and versions of others.
    pub received: u64,
    /// Records in quarantine.
    pub quarantined: u64,
    /// Records that were withdrawn.
    pub deleted: u64,
}

/// Bytes of records after which a push ends: well below the limit once deflated, and below it inflated.
const PUSH_BYTES: usize = 4 << 20;

/// Returns the line that sends a share; `None` if there is nothing to send.
pub(super) fn push_line(share: &Share) -> Option<PushLine> {
    match share.state {
        ShareState::Approved => pack::signed(share).map(PushLine::Put),
        ShareState::Withdrawn => Some(PushLine::Delete(Tombstone {
            id: RecordId(share.record_id),
            version: share.version,
            reason: match share.reason.as_deref() {
                Some("forgotten") => DeletionReason::Forgotten,
                _ => DeletionReason::Unshared,
            },
        })),
        ShareState::Pending | ShareState::Kept | ShareState::Blocked => None,
    }
}

/// Returns as many lines as one push may hold.
pub(super) fn first_batch(unsent: &[(Share, PushLine)]) -> &[(Share, PushLine)] {
    let mut bytes = 0;
    let fits = unsent
        .iter()
        .take(limits::MAX_PUSH_RECORDS)
        .take_while(|(share, _)| {
            let is_first = bytes == 0;
            bytes += share.body.as_ref().map_or(0, String::len) + 512;
            is_first || bytes <= PUSH_BYTES
        });
    &unsent[..fits.count()]
}

pub(super) fn acknowledge(
    store: &mut Store,
    share: &Share,
    status: PushStatus,
    report: &mut ExchangeReport,
) -> Result<()> {
    let refused = match status {
        PushStatus::Stored { .. } | PushStatus::Unchanged => {
            report.sent += 1;
            None
        }
        PushStatus::Stale => Some("the server has a later version".to_owned()),
        PushStatus::Rejected { reason } => {
            report.refused += 1;
            Some(format!("refused by the server: {}", reject_text(reason)))
        }
    };
    Ok(store.acknowledge_share(share.record_id, share.version, refused.as_deref())?)
}

fn reject_text(reason: backstory_protocol::RejectReason) -> &'static str {
    use backstory_protocol::RejectReason as Reason;
    match reason {
        Reason::TooLarge => "too long",
        Reason::InvalidText => "invalid text",
        Reason::Malformed => "cannot be read",
        Reason::BadSignature => "the signature does not match",
        Reason::NotAuthor => "it belongs to another account",
        Reason::SecretDetected => "it contains a secret",
        Reason::Policy => "the project's policy does not permit it",
        Reason::Deleted => "a maintainer deleted it",
        Reason::Other => "for a reason that only a newer version knows",
    }
}
