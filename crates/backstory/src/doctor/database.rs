//! The database: its schema, whether it is whole, and whether it ever was not.

use std::{
    fs,
    time::{Duration, Instant},
};

use backstory_engine::error::error_chain;
use backstory_engine::{backups, repair};
use backstory_store::{BusyTimeout, Store, StoreError};

use super::finding::{CheckContext, Finding};
use crate::output;

/// A repair is worth mentioning for so long.
const MONTH: Duration = Duration::from_hours(30 * 24);

pub(super) fn check(patient: &CheckContext<'_>) -> Vec<Finding> {
    let mut findings = vec![whole(patient)];
    findings.extend(repairs(patient));
    findings
}

fn whole(patient: &CheckContext<'_>) -> Finding {
    let path = patient.engine.home.database();
    let start = Instant::now();
    let found = Store::open_read_only(&path, BusyTimeout::Command).and_then(|store| store.check());
    match found {
        Ok(found) if found.is_empty() => {
            let files = [&path, &patient.engine.home.database_log()];
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
        // The folder alone says nothing: `install` keeps its copies there too.
        Err(StoreError::Missing(_))
            if !backups::list(&patient.engine.home).unwrap_or_default().is_empty() =>
        {
            Finding::warning("database", "there is none, but there are backups")
                .remedy("`backstory restore` lists them, `backstory restore FILE` brings one back")
        }
        Err(StoreError::Missing(_)) => {
            Finding::note("database", "there is none yet: the first event makes it")
        }
        Err(StoreError::Older { found, .. }) => Finding::note(
            "database",
            format!(
                "schema {found} is older; the next command that uses it brings it up to date, after a backup"
            ),
        ),
        Err(error @ StoreError::Newer { .. }) => {
            Finding::broken("database", error.to_string()).remedy("update backstory; nothing was changed")
        }
        Err(error) if error.is_damage() => damaged(&error_chain(&error.into())),
        Err(error) => Finding::broken("database", error_chain(&error.into()))
            .remedy("is the disk full, or another program at it?"),
    }
}

fn damaged(how: &str) -> Finding {
    Finding::broken("database", format!("damaged: {}", output::one_line(how, 200)))
        .remedy("any command that uses it, such as `backstory sessions`, sets it aside and rebuilds it")
}

fn repairs(patient: &CheckContext<'_>) -> Vec<Finding> {
    let receipts = repair::receipts(&patient.engine.home).unwrap_or_default();
    receipts
        .into_iter()
        .filter(|rebuilt| patient.now.since(rebuilt.at) < MONTH)
        .map(|rebuilt| {
            let when = output::ago(patient.now, rebuilt.at);
            Finding::warning("repair", format!("{when}: {rebuilt}")).remedy(
                "`backstory import claude-code` brings back sessions that are missing; delete the damaged file when nothing is",
            )
        })
        .collect()
}
