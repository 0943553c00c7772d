//! The findings of `backstory doctor` on the health page. They run on request, because some take seconds. Findings about agents
//! are shown with the agents.

use std::sync::{Arc, PoisonError};

use axum::{
    extract::State,
    response::{IntoResponse as _, Redirect},
};
use maud::{Markup, html};

use super::{
    text::inline_text,
    view::{Paged, View},
};
use crate::{
    checks::{CheckFinding, CheckReport},
    problem::ApiError,
    server::Server,
    stores::run_blocking,
};

fn findings(report: &CheckReport, view: &View) -> Markup {
    let others: Vec<&CheckFinding> = report
        .findings
        .iter()
        .filter(|finding| finding.agent().is_none())
        .collect();
    let groups = others.chunk_by(|one, other| one.group == other.group);
    html! {
        p.muted { "Checked " (view.times.ago(report.at)) "." }
        dl.fields.checks {
            @for group in groups {
                dt { (inline_text(&group[0].group)) }
                dd { @for one in group { (finding(one)) } }
            }
        }
    }
}

/// Renders a finding with its remedy.
pub(super) fn finding(finding: &CheckFinding) -> Markup {
    html! {
        p.finding data-level=(finding.level) {
            span.level { (level_name(&finding.level)) } " " (inline_text(&finding.message))
        }
        @if let Some(remedy) = &finding.remedy { p.muted { "→ " (inline_text(remedy)) } }
    }
}

fn level_name(level: &str) -> &str {
    match level {
        "ok" => "✓",
        "note" => "note:",
        "warning" => "warning:",
        "broken" => "broken:",
        other => other,
    }
}

/// Returns the latest findings.
pub(super) fn latest(server: &Server) -> Option<CheckReport> {
    let report = server.checks.lock().unwrap_or_else(PoisonError::into_inner);
    report.clone()
}

/// Renders the latest findings and the button that runs the checks.
pub(super) fn section(report: Option<&CheckReport>, view: &View) -> Markup {
    html! {
        section #checks aria-labelledby="checks-title" {
            h2 #checks-title { "Checks" }
            @match report {
                Some(report) => (findings(report, view)),
                None => p.muted { "Home, settings, database, backups, capture, worker, agents and a round trip, as by " code { "backstory doctor" } ". Takes some seconds." },
            }
            form.actions method="post" action="/status/check" { button.quiet { "Run all checks" } }
        }
    }
}

/// Runs the checks and shows the page again.
pub(super) async fn check(State(server): State<Arc<Server>>) -> Paged {
    let now = server.now();
    let run = move || CheckReport::run(now).map_err(|error| ApiError::unavailable(&error));
    let report = run_blocking(run).await?;
    *server.checks.lock().unwrap_or_else(PoisonError::into_inner) = Some(report);
    Ok(Redirect::to("/status#checks").into_response())
}
