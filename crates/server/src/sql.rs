//! All statements of the server, grouped by what they concern.
//!
//! Every statement about records carries `project_id`. Functions take a connection or a transaction; which of them belong
//! into one transaction is decided by the callers.

pub(crate) mod audit;
pub(crate) mod feedback;
pub(crate) mod identity;
pub(crate) mod maintenance;
pub(crate) mod memory;
pub(crate) mod project;
pub(crate) mod search;

use backstory_protocol::{DeviceId, Epoch, RecordId, Role, SharePolicy};
use uuid::Uuid;

/// Converts an id of the wire.
pub(crate) fn uuid(id: impl Into<[u8; 16]>) -> Uuid {
    Uuid::from_bytes(id.into())
}

fn record_id(id: Uuid) -> RecordId {
    RecordId(id.into_bytes())
}

fn device_id(id: Uuid) -> DeviceId {
    DeviceId(id.into_bytes())
}

fn epoch(id: Uuid) -> Epoch {
    Epoch(id.into_bytes())
}

/// Reads a role; a check constraint keeps others out.
fn role(name: &str) -> Role {
    match name {
        "maintainer" => Role::Maintainer,
        "writer" => Role::Writer,
        _ => Role::Reader,
    }
}

/// Returns the name of a role in the database.
pub(crate) fn role_name(role: Role) -> &'static str {
    match role {
        Role::Reader => "reader",
        Role::Writer => "writer",
        Role::Maintainer => "maintainer",
    }
}

/// Reads a policy; a check constraint keeps others out.
fn policy(name: &str) -> SharePolicy {
    SharePolicy::from_name(name).unwrap_or(SharePolicy::Off)
}
