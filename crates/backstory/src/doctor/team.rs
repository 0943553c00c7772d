//! Checks the exchange with the team's server.

use backstory_engine::team::identity;
use backstory_store::{BusyTimeout, ShareState, Store};

use super::finding::{CheckContext, Finding};
use crate::output;

/// Reports nothing on a machine that shares nothing.
pub(super) fn check(context: &CheckContext<'_>) -> Vec<Finding> {
    let member = match identity::membership(context.engine) {
        Ok(member) => member,
        Err(error) => return vec![Finding::broken("team", format!("{error:#}"))],
    };
    // The check of the database reports its errors.
    let Ok(store) = Store::open_read_only(&context.engine.home.database(), BusyTimeout::Command) else {
        return Vec::new();
    };
    let Some(member) = member else {
        return Vec::new();
    };
    let projects = store.team_projects().unwrap_or_default();
    let shares = store.shares(None).unwrap_or_default();
    let unsent = |withdrawn: bool| {
        let is_unsent = |share: &&backstory_store::Share| {
            share.acked_version < share.version
                && (share.state == ShareState::Withdrawn) == withdrawn
                && matches!(share.state, ShareState::Approved | ShareState::Withdrawn)
        };
        shares.iter().filter(is_unsent).count()
    };
    let last = projects.iter().filter_map(|project| project.synced_at).max();
    let contact = match last {
        Some(at) => format!("last contact {}", context.times().ago(at)),
        None => "no contact yet".to_owned(),
    };
    let state = format!("{}, {contact}, {} to send", member.url, unsent(false));
    let mut findings = vec![Finding::ok("team", state)];
    if unsent(true) > 0 {
        findings.push(Finding::note(
            "team deletions",
            format!(
                "{} not confirmed by the server yet",
                output::count(unsent(true) as u64, "deletion")
            ),
        ));
    }
    for project in projects {
        if let Some(error) = project.last_error {
            findings.push(
                Finding::warning("team sync", format!("{}: {error}", project.shared_key))
                    .remedy("retried automatically; `backstory team sync` tries now"),
            );
        }
    }
    findings
}
