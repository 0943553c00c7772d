//! Checks the database: its schema, its integrity, and past repairs.

use std::{
    fs,
    time::{Duration, Instant},
};

use backstory_engine::error::error_chain;
use backstory_engine::{backups, repair};
use backstory_store::{BusyTimeout, Store, StoreError};

use super::finding::{CheckContext, Finding};
use crate::output;

/// Time for which a repair is reported.
const MONTH: Duration = Duration::from_hours(30 * 24);

pub(super) fn check(context: &CheckContext<'_>) -> Vec<Finding> {
    let mut findings = vec![whole(context)];
    findings.extend(repairs(context));
    findings
}

fn whole(context: &CheckContext<'_>) -> Finding {
    let path = context.engine.home.database();
    let start = Instant::now();
    let found = Store::open_read_only(&path, BusyTimeout::Command).and_then(|store| store.check());
    match found {
        Ok(found) if found.is_empty() => {
            let files = [&path, &context.engine.home.database_log()];
            let size = files
                .iter()
                .filter_map(|file| Some(fs::metadata(file).ok()?.len()))
                .sum();
            let seconds = start.elapsed().as_secs_f64();
            let size = output::size(size);
            Finding::ok(
                "database",
                format!("integrity ok, {size}, checked in {seconds:.1} s"),
            )
        }
        Ok(found) => damaged(&found.join("; ")),
        // The folder alone proves nothing: `install` also stores its backups there.
        Err(StoreError::Missing(_))
            if !backups::list(&context.engine.home).unwrap_or_default().is_empty() =>
        {
            Finding::warning("database", "missing, but there are backups")
                .remedy("`backstory restore` lists them, `backstory restore FILE` restores one")
        }
        Err(StoreError::Missing(_)) => Finding::note("database", "none yet; the first event creates it"),
        Err(StoreError::Older { found, .. }) => Finding::note(
            "database",
            format!("schema {found} is older; the next command migrates it after a backup"),
        ),
        Err(error @ StoreError::Newer { .. }) => {
            Finding::broken("database", error.to_string()).remedy("update backstory; nothing was changed")
        }
        Err(error) if error.is_damage() => damaged(&error_chain(&error.into())),
        Err(error) => Finding::broken("database", error_chain(&error.into()))
            .remedy("check for a full disk, or another program that locks it"),
    }
}

fn damaged(how: &str) -> Finding {
    Finding::broken("database", format!("damaged: {}", output::one_line(how, 200)))
        .remedy("any command that uses it, such as `backstory sessions`, sets it aside and rebuilds it")
}

fn repairs(context: &CheckContext<'_>) -> Vec<Finding> {
    let receipts = repair::receipts(&context.engine.home).unwrap_or_default();
    receipts
        .into_iter()
        .filter(|rebuilt| context.now.since(rebuilt.at) < MONTH)
        .map(|rebuilt| {
            let when = context.times().ago(rebuilt.at);
            Finding::warning("repair", format!("{when}: {rebuilt}")).remedy(
                "`backstory import claude-code` restores missing sessions; delete the damaged file when nothing is missing",
            )
        })
        .collect()
}
