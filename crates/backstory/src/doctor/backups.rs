//! The backups: are there any, and is the last one young enough?

use std::time::Duration;

use super::finding::{CheckContext, Finding};
use crate::output::{self, count};
use backstory_engine::backups::{self, BackupKind};
use backstory_model::Timestamp;

/// A daily backup that is older than this while the store changes is overdue.
const OVERDUE: Duration = Duration::from_secs(3 * 24 * 3600);

pub(super) fn check(patient: &CheckContext<'_>) -> Vec<Finding> {
    if !patient.engine.home.database().exists() {
        return Vec::new();
    }
    let copies = match backups::list(&patient.engine.home) {
        Ok(copies) => copies,
        Err(error) => {
            return vec![Finding::broken(
                "backups",
                format!("the folder cannot be read: {error}"),
            )];
        }
    };
    let wanted = patient.settings.retention.backups > 0;
    let good = copies.iter().find(|copy| copy.reason != BackupKind::Damaged);
    let age = good.map(|copy| {
        patient
            .engine
            .clock
            .now()
            .duration_since(copy.modified)
            .unwrap_or_default()
    });
    // Nothing is overdue while nothing changes.
    let changed = std::fs::metadata(patient.engine.home.database()).and_then(|file| file.modified());
    let is_behind = good.is_some_and(|copy| changed.is_ok_and(|at| at > copy.modified + OVERDUE));
    vec![match age {
        None if wanted => Finding::note("backups", "none yet: the worker takes one a day")
            .remedy("`backstory backup` takes one now"),
        None => Finding::warning("backups", "there are none, and `retention.backups` is 0")
            .remedy("`backstory config unset retention.backups`, or `backstory backup` now and then"),
        Some(age) => {
            let bytes: u64 = copies.iter().map(|copy| copy.bytes).sum();
            let message = format!(
                "{}, {} in all, the last {}",
                count(copies.len() as u64, "file"),
                output::size(bytes),
                output::ago(Timestamp::EPOCH + age, Timestamp::EPOCH)
            );
            match is_behind {
                false => Finding::ok("backups", message),
                true => Finding::warning("backups", message).remedy(format!(
                    "{} says why; `backstory backup` takes one now",
                    patient.engine.home.log("worker.log").display()
                )),
            }
        }
    }]
}
