//! The summary of each turn: what the turn added. The last one holds the content of the hand-over.

use std::collections::HashMap;
use std::ops::Range;

use backstory_model::ObservationType;

use super::done::{commit_line, statements};
use super::open::open_statements;
use super::requests::{is_request, requests};
use crate::english::{Deferral, Words};
use crate::episodes::Timeline;
use crate::memories::Ending;
use crate::{Action, Checkpoint, Handover, NewSummary, SessionObservation};

/// The statements of a report that a summary keeps, in characters: all summaries of a session together stay short.
const ALL_STATEMENTS: usize = 4_000;
const MAX_STATEMENTS: usize = 600;
const MIN_STATEMENTS: usize = 120;
const MAX_FILES: usize = 5;
const MAX_LEARNED: usize = 2;
const MAX_OPEN: usize = 2;

/// One turn with what is known about it.
struct Turn<'a> {
    steps: Range<usize>,
    request: Option<&'a String>,
    /// The titles of the findings and obstacles of the turn.
    learned: Vec<&'a str>,
    /// The room for statements of the report, in characters.
    room: usize,
}

/// Summarizes each turn that has something to say.
pub(crate) fn summaries(
    timeline: &Timeline<'_>,
    ending: &Ending<'_>,
    observations: &[SessionObservation],
    handover: &Handover,
) -> Vec<Checkpoint> {
    let mut asked: HashMap<u32, String> = HashMap::new();
    for request in requests(timeline) {
        asked.entry(request.turn).or_insert(request.line);
    }
    let room = (ALL_STATEMENTS / asked.len().max(1)).clamp(MIN_STATEMENTS, MAX_STATEMENTS);
    let mut out: Vec<Checkpoint> = Vec::new();
    for log in timeline.logs {
        let first = timeline.steps.partition_point(|step| step.turn < log.number);
        let end = timeline.steps.partition_point(|step| step.turn <= log.number);
        let turn = Turn {
            steps: first..end,
            request: asked.get(&log.number).filter(|line| is_request(line)),
            learned: learned(observations, log.number),
            room,
        };
        let summary = summarize(timeline, ending, &turn);
        out.extend(summary.map(|summary| Checkpoint {
            turn: log.number,
            summary,
        }));
    }
    if let Some(last) = out.last_mut() {
        last.summary = whole(handover, std::mem::take(&mut last.summary));
    }
    out
}

fn learned(observations: &[SessionObservation], turn: u32) -> Vec<&str> {
    observations
        .iter()
        .filter(|one| one.turn == turn)
        .filter(|one| one.observation.kind == ObservationType::Discovery || one.error_signature.is_some())
        .map(|one| one.observation.title.as_str())
        .collect()
}

fn summarize(timeline: &Timeline<'_>, ending: &Ending<'_>, turn: &Turn<'_>) -> Option<NewSummary> {
    let report = turn
        .steps
        .clone()
        .rev()
        .find(|at| matches!(timeline.steps[*at].action(), Some(Action::Report(_))))
        .map(|at| timeline.message(at));
    let files = ending.files(turn.steps.clone());
    let commits = ending
        .commits
        .iter()
        .filter(|commit| turn.steps.contains(&commit.at));
    let mut completed: Vec<String> = commits.map(commit_line).collect();
    let stated = report
        .map(|report| joined(statements(report), turn.room))
        .unwrap_or_default();
    let mut found: Vec<String> = Vec::new();
    let has_changes = !files.is_empty() || !completed.is_empty();
    if !stated.is_empty() {
        if has_changes { &mut completed } else { &mut found }.push(stated.clone());
    }
    if !has_changes && found.is_empty() {
        return None;
    }
    let known = Words::of(&stated);
    found.extend(
        turn.learned
            .iter()
            .filter(|title| !Words::of(title).covered_by(&known, super::SAME_PERCENT))
            .take(MAX_LEARNED)
            .map(|title| format!("{title}.")),
    );
    let open = report.map(open_statements).unwrap_or_default().into_iter();
    let open: Vec<String> = open
        .filter(|(_, deferral)| *deferral != Deferral::Suggested)
        .map(|(item, _)| item)
        .take(MAX_OPEN)
        .collect();
    Some(NewSummary {
        request: turn.request.cloned(),
        learned: text(&found, " "),
        completed: text(&completed, ". "),
        next_steps: text(&open, "; "),
        files_edited: files.into_iter().take(MAX_FILES).map(str::to_owned).collect(),
        ..NewSummary::default()
    })
}

fn joined(statements: Vec<String>, room: usize) -> String {
    let mut out = String::new();
    for statement in statements {
        if out.chars().count() + statement.chars().count() > room {
            break;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&statement);
    }
    out
}

fn text(lines: &[String], separator: &str) -> Option<String> {
    (!lines.is_empty()).then(|| lines.join(separator))
}

/// Projects the hand-over onto the eight fields.
fn whole(handover: &Handover, last: NewSummary) -> NewSummary {
    let notes: Vec<String> = [
        text(&handover.decisions, "; ").map(|lines| format!("Decisions: {lines}")),
        text(&handover.traps, "; ").map(|lines| format!("Traps: {lines}")),
        text(&handover.checks, "; ").map(|lines| format!("Checks: {lines}")),
        text(&handover.state, "; "),
    ]
    .into_iter()
    .flatten()
    .collect();
    NewSummary {
        request: text(&handover.requests, "\n"),
        learned: last.learned,
        completed: text(&handover.done, "\n"),
        next_steps: text(&handover.open, "\n"),
        files_edited: last.files_edited,
        notes: text(&notes, "\n"),
        ..NewSummary::default()
    }
}
