//! The summary of each turn: what the turn added. The last one holds the content of the hand-over.

use std::collections::HashMap;

use super::done::{commit_line, statements};
use super::open::open_statements;
use super::requests::{is_request, requests};
use crate::english::Deferral;
use crate::episodes::Timeline;
use crate::memories::Ending;
use crate::{Action, Checkpoint, Handover, NewSummary};

/// The statements of a report that a summary keeps, in characters: all summaries of a session together stay short.
const ALL_STATEMENTS: usize = 4_000;
const MAX_STATEMENTS: usize = 600;
const MIN_STATEMENTS: usize = 120;
const MAX_FILES: usize = 5;

/// Summarizes each turn that has something to say.
pub(crate) fn summaries(
    timeline: &Timeline<'_>,
    ending: &Ending<'_>,
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
        let summary = turn_summary(timeline, ending, first..end, (asked.get(&log.number), room));
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

fn turn_summary(
    timeline: &Timeline<'_>,
    ending: &Ending<'_>,
    range: std::ops::Range<usize>,
    (asked, room): (Option<&String>, usize),
) -> Option<NewSummary> {
    let report = range
        .clone()
        .rev()
        .find(|at| matches!(timeline.steps[*at].action(), Some(Action::Report(_))))
        .map(|at| timeline.message(at));
    let mut files: Vec<String> = ending
        .files(range.clone())
        .into_iter()
        .map(str::to_owned)
        .collect();
    let commits: Vec<String> = ending
        .commits
        .iter()
        .filter(|commit| range.contains(&commit.at))
        .map(commit_line)
        .collect();
    let told = report
        .map(|report| joined(statements(report), room))
        .filter(|told| !told.is_empty());
    let has_changes = !files.is_empty() || !commits.is_empty();
    let is_worth = has_changes || told.is_some();
    if !is_worth {
        return None;
    }
    files.truncate(MAX_FILES);
    let open: Vec<String> = report
        .map(open_statements)
        .unwrap_or_default()
        .into_iter()
        .filter(|(_, deferral)| *deferral != Deferral::Suggested)
        .map(|(item, _)| item)
        .take(2)
        .collect();
    let completed: Vec<String> = commits
        .into_iter()
        .chain(told.clone().filter(|_| has_changes))
        .collect();
    Some(NewSummary {
        request: asked.filter(|line| is_request(line)).cloned(),
        learned: told.filter(|_| !has_changes),
        completed: (!completed.is_empty()).then(|| completed.join(". ")),
        next_steps: (!open.is_empty()).then(|| open.join("; ")),
        files_edited: files,
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

/// Projects the hand-over onto the eight fields.
fn whole(handover: &Handover, last: NewSummary) -> NewSummary {
    let text = |lines: &[String], separator: &str| (!lines.is_empty()).then(|| lines.join(separator));
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
        investigated: None,
        learned: last.learned,
        completed: text(&handover.done, "\n"),
        next_steps: text(&handover.open, "\n"),
        open_steps: None,
        files_read: Vec::new(),
        files_edited: last.files_edited,
        notes: text(&notes, "\n"),
    }
}
