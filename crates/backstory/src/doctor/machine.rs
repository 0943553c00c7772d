//! Checks free disk space and the system clock.

use std::{path::Path, time::Duration};

use backstory_model::Timestamp;
use backstory_store::{BusyTimeout, Store};
use backstory_system::free_bytes;

use super::finding::{CheckContext, Finding};
use crate::output;

const LOW_SPACE: u64 = 1_000_000_000;
const NO_SPACE: u64 = 50_000_000;

/// Tolerated clock difference: a hook may also run while this check does.
const CLOCK_TOLERANCE: Duration = Duration::from_mins(5);

/// Release year of the first version, 2026-01-01: an earlier date means that the clock is wrong.
const EARLIEST_DATE: Timestamp = Timestamp::from_millis(1_767_225_600_000);

pub(super) fn check(context: &CheckContext<'_>) -> Vec<Finding> {
    vec![disk(context.engine.home.root()), clock(context)]
}

fn disk(root: &Path) -> Finding {
    // A home that does not exist yet will be on the disk of its parent.
    let there = root.ancestors().find(|path| path.exists()).unwrap_or(root);
    let free = match free_bytes(there) {
        Ok(free) => free,
        Err(error) => return Finding::warning("disk", format!("could not read the free space: {error}")),
    };
    let message = format!("{} free", output::size(free));
    match free {
        ..NO_SPACE => {
            Finding::broken("disk", message).remedy("free disk space: events that cannot be written are lost")
        }
        NO_SPACE..LOW_SPACE => Finding::warning("disk", message)
            .remedy("free disk space, or lower `retention.backups` and `retention.max_db_mb`"),
        LOW_SPACE.. => Finding::ok("disk", message),
    }
}

fn clock(context: &CheckContext<'_>) -> Finding {
    let remedy = "set the clock; memories are ordered by it";
    if context.now < EARLIEST_DATE {
        return Finding::broken(
            "clock",
            format!("the system clock says {}", output::rfc3339(context.now)),
        )
        .remedy(remedy);
    }
    let hosts = Store::open_read_only(&context.engine.home.database(), BusyTimeout::Command)
        .and_then(|store| store.hosts());
    let last = hosts.unwrap_or_default().iter().map(|seen| seen.last_at).max();
    match last.filter(|last| *last > context.now + CLOCK_TOLERANCE) {
        Some(last) => Finding::warning(
            "clock",
            format!("the last event has a future timestamp: {}", output::rfc3339(last)),
        )
        .remedy(remedy),
        None => Finding::ok("clock", "no event has a future timestamp"),
    }
}
