//! Capture: who was heard of last, what waits in the spool, what was lost.

use std::fs;

use backstory_capture::drop_counters::{self, DropReason};
use backstory_store::{BusyTimeout, Store, StoreError};

use super::finding::{CheckContext, Finding};
use crate::output::{self, count};

pub(super) fn check(patient: &CheckContext<'_>) -> Vec<Finding> {
    let mut findings = switched_off(patient);
    findings.extend(last_events(patient));
    findings.extend(lost(patient));
    findings.extend(torn(patient));
    findings
}

fn switched_off(patient: &CheckContext<'_>) -> Vec<Finding> {
    ["BACKSTORY_DISABLED", "BACKSTORY_INTERNAL"]
        .into_iter()
        .filter(|name| patient.engine.environment.is_on(name))
        .map(|name| {
            Finding::warning(
                "switched-off",
                format!("{name} is set here: hooks record nothing"),
            )
            .remedy(format!("unset {name}"))
        })
        .collect()
}

/// The last hook of each host.
fn last_events(patient: &CheckContext<'_>) -> Vec<Finding> {
    let hosts = Store::open_read_only(&patient.engine.home.database(), BusyTimeout::Command)
        .and_then(|store| store.hosts());
    let hosts = match hosts {
        Ok(hosts) => hosts,
        Err(StoreError::Missing(_)) => Vec::new(),
        // What is wrong with the database is said elsewhere.
        Err(_) => return Vec::new(),
    };
    let live: Vec<Finding> = hosts
        .iter()
        .filter(|seen| seen.host != "import")
        .map(|seen| {
            let message = format!(
                "{}: last event {}, {} recorded",
                seen.host,
                output::ago(patient.now, seen.last_at),
                count(seen.sessions, "session")
            );
            Finding::ok("last-hook", message)
        })
        .collect();
    match live.is_empty()
        && patient
            .engine
            .home
            .spool()
            .waiting()
            .unwrap_or_default()
            .is_empty()
    {
        true => vec![
            Finding::note("last-hook", "no events received yet")
                .remedy("`backstory install` sets hooks up; then start a new session"),
        ],
        false => live,
    }
}

fn lost(patient: &CheckContext<'_>) -> Vec<Finding> {
    let counts = match drop_counters::read(&patient.engine.home.spool()) {
        Ok(counts) => counts,
        Err(error) => {
            return vec![Finding::warning(
                "lost",
                format!("spool/counts cannot be read: {error}"),
            )];
        }
    };
    let log = patient.engine.home.log("hook.log").display().to_string();
    let findings: Vec<Finding> = counts
        .into_iter()
        .filter(|&(_, number)| number > 0)
        .map(|(loss, number)| {
            let events = count(number, "event");
            let find = |why: &str| format!("{events} not recorded: {why}");
            match loss {
                DropReason::Dropped => Finding::warning("lost", find("the spool could not be written"))
                    .remedy(format!("make room on the disk; {log} says when")),
                DropReason::Unreadable => Finding::warning("lost", find("no JSON object")).remedy(format!(
                    "{log} says when; is your agent newer than this backstory?"
                )),
                DropReason::Torn => Finding::warning("lost", find("half written when the power went"))
                    .remedy("`backstory config set capture.durability full` survives that, at a price"),
                DropReason::UnknownEvent => {
                    Finding::note("lost", find("of a kind that this version does not know"))
                        .remedy("update backstory, or take the hook out of your agent's settings")
                }
                DropReason::NoSession => Finding::note("lost", find("it named no session")),
            }
        })
        .collect();
    match findings.is_empty() {
        true => vec![Finding::ok("lost", "no events lost")],
        false => findings,
    }
}

fn torn(patient: &CheckContext<'_>) -> Option<Finding> {
    let torn = patient.engine.home.spool().torn().unwrap_or_default().len() as u64;
    let folder = patient.engine.home.spool().root().join("torn");
    let holds = fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_some());
    (torn > 0 && holds).then(|| {
        Finding::note(
            "torn",
            format!("{} set aside in {}", count(torn, "torn file"), folder.display()),
        )
        .remedy("nothing can be made of them; delete them")
    })
}
