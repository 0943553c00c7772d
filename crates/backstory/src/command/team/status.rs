//! `backstory team status`: what is shared, what waits, and what failed a check.

use anstream::println;
use anyhow::Result;
use backstory_engine::{engine::Engine, team::overview::TeamOverview};
use backstory_store::{QuarantinedRecord, Share, ShareState, TeamProject};
use serde_json::{Value, json};

use crate::{
    command::{ExitStatus, open_store},
    json_output::print_json,
    output::{BOLD, DIM, Times, count, one_line, width},
};

/// Show what is shared, what waits for you, and what failed a check
#[derive(clap::Args)]
pub(super) struct Status {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(engine: &Engine, arguments: &Status) -> Result<ExitStatus> {
    let Some(store) = open_store(engine)? else {
        println!("No memories yet.");
        return Ok(ExitStatus::Done);
    };
    let overview = TeamOverview::read(engine, &store)?;
    if arguments.json {
        print_json(as_json(&overview));
        return Ok(ExitStatus::Done);
    }
    println!(
        "{BOLD}{} shared{BOLD:#}, {} waiting for your approval, {} blocked, {} withdrawn; {} received",
        overview.shared,
        overview.pending.len(),
        blocked(&overview),
        overview.withdrawn,
        overview.received
    );
    if let Some(url) = &overview.server {
        println!("{url} {DIM}{} to send{DIM:#}", overview.unsent);
    }
    let times = Times::new(engine)?;
    for project in &overview.projects {
        let contact = project
            .synced_at
            .map(|at| format!(", last contact {}", times.ago(at)));
        println!(
            "{} {DIM}mode {}{}{DIM:#}",
            project.shared_key,
            project.share_mode,
            contact.unwrap_or_default()
        );
        print_problems(project, &overview.refused);
    }
    if !overview.pending.is_empty() {
        println!("{DIM}`backstory team review` shows what waits.{DIM:#}");
    }
    if !overview.conflicts.is_empty() {
        println!(
            "{} {DIM}(`backstory team conflicts` lists them){DIM:#}",
            count(overview.conflicts.len() as u64, "conflict")
        );
    }
    print_quarantine(&overview.quarantined);
    Ok(ExitStatus::Done)
}

fn blocked(overview: &TeamOverview) -> usize {
    let is_blocked = |share: &&Share| share.state == ShareState::Blocked;
    overview.refused.iter().filter(is_blocked).count()
}

fn as_json(overview: &TeamOverview) -> Value {
    let projects: Vec<_> = overview
        .projects
        .iter()
        .map(|project| json!({"project": project.project_key, "shared_as": project.shared_key, "mode": project.share_mode,
            "cursor": project.cursor, "role": project.role, "policy": project.policy, "error": project.last_error}))
        .collect();
    let quarantined: Vec<_> = overview
        .quarantined
        .iter()
        .map(|one| json!({"id": one.handle, "author": one.author, "title": one.title, "reason": one.reason}))
        .collect();
    json!({"server": overview.server, "unsent": overview.unsent, "projects": projects, "shared": overview.shared,
        "pending": overview.pending.len(), "blocked": blocked(overview), "withdrawn": overview.withdrawn,
        "received": overview.received, "quarantined": quarantined, "conflicts": overview.conflicts.len()})
}

/// Prints the last failure of a project and the records that the server refused.
fn print_problems(project: &TeamProject, shares: &[Share]) {
    if let Some(error) = &project.last_error {
        println!("  {error}");
    }
    let is_refused = |share: &&Share| {
        share.project_key == project.project_key
            && share.state == ShareState::Approved
            && share.reason.is_some()
    };
    for share in shares.iter().filter(is_refused) {
        println!(
            "  #{} {}",
            share.handle,
            share.reason.as_deref().unwrap_or_default()
        );
    }
}

fn print_quarantine(quarantined: &[QuarantinedRecord]) {
    if quarantined.is_empty() {
        return;
    }
    println!("\n{BOLD}Kept from agents{BOLD:#} {DIM}(`backstory forget HANDLE` removes one){DIM:#}");
    for one in quarantined {
        println!(
            "{} {} {} {DIM}{}{DIM:#}",
            one.handle,
            one_line(&one.author, 30),
            one_line(&one.title, width() / 2),
            one.reason
        );
    }
}
