//! Checks capture: the last events of each host, the spool, and dropped events.

use std::fs;

use backstory_capture::drop_counters::{self, DropReason};
use backstory_engine::{
    connection::Connection, hook_settings, project_claims, record, settings::hook_cache::Validity,
};
use backstory_store::HostSeen;

use super::finding::{CheckContext, Finding};
use crate::output::count;

pub(super) fn check(context: &CheckContext<'_>) -> Vec<Finding> {
    let mut findings = switched_off(context);
    findings.extend(switched_off_here(context));
    findings.extend(settings(context));
    findings.extend(last_events(context));
    findings.extend(lost(context));
    findings.extend(torn(context));
    findings.extend(claims(context));
    findings
}

/// Reports folders that only claim to belong to a known project.
fn claims(context: &CheckContext<'_>) -> Vec<Finding> {
    let pending = project_claims::pending(context.engine).into_iter();
    pending
        .map(|claim| {
            let message = format!("{} names {} and has its own memories", claim.root, claim.key);
            Finding::warning("project-claim", message).remedy(format!(
                "if it is yours: backstory project confirm {}",
                claim.root
            ))
        })
        .collect()
}

fn switched_off(context: &CheckContext<'_>) -> Vec<Finding> {
    ["BACKSTORY_DISABLED", "BACKSTORY_INTERNAL"]
        .into_iter()
        .filter(|name| context.engine.environment.is_on(name))
        .map(|name| {
            Finding::warning(
                "switched-off",
                format!("{name} is set here: hooks record nothing"),
            )
            .remedy(format!("unset {name}"))
        })
        .collect()
}

/// Reports that sessions in the current folder are not recorded.
fn switched_off_here(context: &CheckContext<'_>) -> Option<Finding> {
    let folder = std::env::current_dir().ok()?;
    let reason = record::switched_off_in(context.engine, &folder)?;
    let message = format!("sessions in this folder are not recorded: {reason}");
    Some(Finding::note("switched-off", message).remedy("remove that to record them"))
}

/// Reports a mistake in the settings that keeps them from applying to capture.
fn settings(context: &CheckContext<'_>) -> Option<Finding> {
    const REMEDY: &str = "correct the lines of config.toml that are listed under settings";
    let finding = match hook_settings::load(context.engine).validity {
        Validity::Valid => return None,
        Validity::LastValid => Finding::warning(
            "capture-settings",
            "config.toml has a mistake: hooks use the last valid capture settings",
        ),
        Validity::Unknown => Finding::broken(
            "capture-settings",
            "config.toml has a mistake and what it excludes is not known: hooks record nothing",
        ),
    };
    Some(finding.remedy(REMEDY))
}

/// Reports the last event of each host.
fn last_events(context: &CheckContext<'_>) -> Vec<Finding> {
    let hosts = match &context.connection {
        // The check of the database reports its errors.
        None => return Vec::new(),
        Some(Connection::NotConnected) => {
            return vec![
                Finding::note("last-hook", "not connected: no hook is installed")
                    .remedy("`backstory setup` connects your agents"),
            ];
        }
        Some(Connection::Waiting) => {
            return vec![
                Finding::note(
                    "last-hook",
                    "waiting for the first session: no event received yet",
                )
                .remedy("start a new session in your agent; running ones do not load new hooks"),
            ];
        }
        Some(Connection::Connected(hosts)) => hosts,
    };
    let last = |seen: &HostSeen| {
        let message = format!(
            "{}: last event {}, {} recorded",
            seen.host,
            context.times().ago(seen.last_at),
            count(seen.sessions, "session")
        );
        Finding::ok("last-hook", message)
    };
    hosts.iter().map(last).collect()
}

fn lost(context: &CheckContext<'_>) -> Vec<Finding> {
    let counts = match drop_counters::read(&context.engine.home.spool()) {
        Ok(counts) => counts,
        Err(error) => {
            return vec![Finding::warning(
                "lost",
                format!("spool/counts cannot be read: {error}"),
            )];
        }
    };
    let log = context.engine.home.log("hook.log").display().to_string();
    let findings: Vec<Finding> = counts
        .into_iter()
        .filter(|&(_, number)| number > 0)
        .map(|(loss, number)| {
            let events = count(number, "event");
            let find = |why: &str| format!("{events} not recorded: {why}");
            match loss {
                DropReason::Dropped => Finding::warning("lost", find("the spool could not be written"))
                    .remedy(format!("free disk space; see {log}")),
                DropReason::Unreadable => Finding::warning("lost", find("not a JSON object"))
                    .remedy(format!("see {log}; the agent may be newer than this backstory")),
                DropReason::Torn => Finding::warning("lost", find("incomplete after a power failure"))
                    .remedy("`backstory config set capture.durability full` prevents that, but is slower"),
                DropReason::UnknownEvent => Finding::note("lost", find("unknown to this version"))
                    .remedy("update backstory, or remove the hook from the agent's settings"),
                DropReason::NoSession => Finding::note("lost", find("no session id")),
            }
        })
        .collect();
    match findings.is_empty() {
        true => vec![Finding::ok("lost", "no events lost")],
        false => findings,
    }
}

fn torn(context: &CheckContext<'_>) -> Option<Finding> {
    let torn = context.engine.home.spool().torn().unwrap_or_default().len() as u64;
    let folder = context.engine.home.spool().root().join("torn");
    let holds = fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_some());
    (torn > 0 && holds).then(|| {
        Finding::note(
            "torn",
            format!("{} set aside in {}", count(torn, "torn file"), folder.display()),
        )
        .remedy("they cannot be recovered; delete them")
    })
}
