//! Checks the backups: that there are some, and that the last is recent.

use std::time::Duration;

use super::finding::{CheckContext, Finding};
use crate::output::{self, count};
use backstory_engine::backups::{self, BackupKind};
use backstory_model::Timestamp;

/// Age at which a daily backup is overdue while the store changes.
const OVERDUE: Duration = Duration::from_secs(3 * 24 * 3600);

pub(super) fn check(context: &CheckContext<'_>) -> Vec<Finding> {
    if !context.engine.home.database().exists() {
        return Vec::new();
    }
    let copies = match backups::list(&context.engine.home) {
        Ok(copies) => copies,
        Err(error) => {
            return vec![Finding::broken(
                "backups",
                format!("the folder cannot be read: {error}"),
            )];
        }
    };
    let wanted = context.settings.retention.backups > 0;
    let good = copies.iter().find(|copy| copy.reason != BackupKind::Damaged);
    // No backup is due while nothing changes.
    let changed = std::fs::metadata(context.engine.home.database()).and_then(|file| file.modified());
    let is_behind = good.is_some_and(|copy| changed.is_ok_and(|at| at > copy.modified + OVERDUE));
    vec![match good {
        None if wanted => Finding::note("backups", "none yet; the worker makes one a day")
            .remedy("`backstory backup` makes one now"),
        None => Finding::warning("backups", "no backups, and `retention.backups` is 0").remedy(
            "`backstory config unset retention.backups`, or run `backstory backup` from time to time",
        ),
        Some(last) => {
            let bytes: u64 = copies.iter().map(|copy| copy.bytes).sum();
            let message = format!(
                "{}, {} in total, the last {}",
                count(copies.len() as u64, "file"),
                output::size(bytes),
                context.times().ago(Timestamp::from(last.modified))
            );
            match is_behind {
                false => Finding::ok("backups", message),
                true => Finding::warning("backups", message).remedy(format!(
                    "see {}; `backstory backup` makes one now",
                    context.engine.home.log("worker.log").display()
                )),
            }
        }
    }]
}
