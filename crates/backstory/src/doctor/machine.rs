//! The machine: room on the disk, and a clock that can be believed.

use std::{path::Path, time::Duration};

use backstory_model::Timestamp;
use backstory_store::{BusyTimeout, Store};
use backstory_system::free_bytes;

use super::finding::{CheckContext, Finding};
use crate::output;

const SCARCE: u64 = 1_000_000_000;
const NONE: u64 = 50_000_000;

/// Clocks differ a little, and a hook may be ahead of us by the time it takes to look.
const AHEAD: Duration = Duration::from_mins(5);

/// Before this program existed: 2026-01-01.
const LONG_AGO: Timestamp = Timestamp::from_millis(1_767_225_600_000);

pub(super) fn check(patient: &CheckContext<'_>) -> Vec<Finding> {
    vec![disk(patient.engine.home.root()), clock(patient)]
}

fn disk(root: &Path) -> Finding {
    // A home that is not there yet will be on the disk of the folder above it.
    let there = root.ancestors().find(|path| path.exists()).unwrap_or(root);
    let free = match free_bytes(there) {
        Ok(free) => free,
        Err(error) => return Finding::warning("disk", format!("could not ask for free space: {error}")),
    };
    let message = format!("{} free", output::size(free));
    match free {
        ..NONE => {
            Finding::broken("disk", message).remedy("make room: events that cannot be written are lost")
        }
        NONE..SCARCE => Finding::warning("disk", message)
            .remedy("make room, or lower `retention.backups` and `retention.max_db_mb`"),
        SCARCE.. => Finding::ok("disk", message),
    }
}

fn clock(patient: &CheckContext<'_>) -> Finding {
    let remedy = "set the clock; memories are ordered by it";
    if patient.now < LONG_AGO {
        return Finding::broken("clock", format!("it is {} here", output::rfc3339(patient.now)))
            .remedy(remedy);
    }
    let hosts = Store::open_read_only(&patient.engine.home.database(), BusyTimeout::Command)
        .and_then(|store| store.hosts());
    let last = hosts.unwrap_or_default().iter().map(|seen| seen.last_at).max();
    match last.filter(|last| *last > patient.now + AHEAD) {
        Some(last) => Finding::warning(
            "clock",
            format!("the last event has a future timestamp: {}", output::rfc3339(last)),
        )
        .remedy(remedy),
        None => Finding::ok("clock", "no event is from the future"),
    }
}
