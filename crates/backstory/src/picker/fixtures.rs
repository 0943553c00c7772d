//! Rows and a place for the tests of the picker.

use std::time::Duration;

use backstory_model::{Handle, MemoryKind, ProjectId, SessionStatus, Timestamp};
use backstory_store::Project;

use super::{
    row::{Row, Target},
    search::Place,
};
use crate::command::sessions::status_style;

/// 2026-03-10, 12:00 UTC.
pub(super) const NOW: Timestamp = Timestamp::from_millis(1_773_144_000_000);

pub(super) fn place() -> Place {
    Place {
        project: Some(Project {
            db_id: ProjectId::new(1),
            id: "/home/ann/shop".to_owned(),
            name: "shop".to_owned(),
            root: "/home/ann/shop".to_owned(),
        }),
        branch: Some("main".to_owned()),
    }
}

pub(super) fn row(id: i64, title: &str) -> Row {
    Row {
        target: Target::Memory(Handle {
            kind: MemoryKind::Observation,
            id,
        }),
        label: "bugfix",
        style: anstyle::AnsiColor::Red.on_default(),
        title: title.to_owned(),
        marks: Vec::new(),
        at: NOW - Duration::from_hours(u64::try_from(id).unwrap() * 30),
        project: Some("shop".to_owned()),
        session: Some("s1".to_owned()),
        is_pinned: false,
        is_outdated: false,
    }
}

pub(super) fn session_row(id: &str, title: &str) -> Row {
    Row {
        target: Target::Session(id.to_owned()),
        label: "session",
        style: status_style(SessionStatus::Completed),
        ..row(3, title)
    }
}
