//! The summary of each turn: what the turn added. The last one holds the content of the hand-over.

use std::collections::HashMap;
use std::ops::Range;

use backstory_model::{Checkpoint, Handover, NewSummary, ObservationType, SessionObservation};

use super::done::{SAME_PERCENT, commit_line, describes_change, results};
use super::open::open_statements;
use super::requests::{is_request, requests};
use crate::english::{Deferral, Phrases, Words, code};
use crate::episodes::Timeline;
use crate::memories::{Ending, ended, is_first_person};
use crate::prose::{SectionRole, Topic};
use crate::{Action, TurnEnd};

/// The statements of a report that a summary keeps, in characters: all summaries of a session together stay short.
const ALL_STATEMENTS: usize = 9_000;
const MAX_STATEMENTS: usize = 1_500;
const MIN_STATEMENTS: usize = 200;
const MAX_FILES: usize = 5;
const MAX_LEARNED: usize = 3;
const MAX_OPEN: usize = 2;

/// One turn with what is known about it.
struct Turn<'a> {
    steps: Range<usize>,
    request: Option<&'a String>,
    /// The titles of the findings and obstacles of the turn.
    learned: Vec<&'a str>,
    /// The room for statements of the report, in characters.
    room: usize,
    end: TurnEnd,
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
            end: log.end,
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
        .map(|report| joined(results(report), turn.room))
        .unwrap_or_default();
    if completed.is_empty() && stated.is_empty() && !files.is_empty() {
        let named: Vec<String> = files.iter().take(MAX_FILES).map(|file| code(file)).collect();
        completed.push(format!("Changed so far: {}", named.join(", ")));
    }
    let read = files_read(timeline, turn.steps.clone());
    let mut found: Vec<String> = Vec::new();
    let has_changes = !files.is_empty() || !completed.is_empty() || describes_change(&stated);
    if !stated.is_empty() {
        if has_changes { &mut completed } else { &mut found }.push(stated.clone());
    }
    found.extend(compacted(timeline, turn));
    let is_unfinished = turn.end != TurnEnd::Stopped && turn.request.is_some();
    if !has_changes && found.is_empty() && turn.learned.is_empty() && !is_unfinished {
        return None;
    }
    let known = Words::of(&stated);
    found.extend(
        turn.learned
            .iter()
            .filter(|title| !Words::of(title).covered_by(&known, SAME_PERCENT))
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
        investigated: (!read.is_empty()).then(|| {
            format!(
                "Read {}.",
                read.iter().map(|file| code(file)).collect::<Vec<_>>().join(", ")
            )
        }),
        learned: text(&found, " "),
        completed: text(&completed, ". "),
        next_steps: text(&open, "; "),
        files_read: read.into_iter().map(str::to_owned).collect(),
        files_edited: files.into_iter().take(MAX_FILES).map(str::to_owned).collect(),
        notes: match turn.end {
            TurnEnd::Interrupted => Some(INTERRUPTED.to_owned()),
            TurnEnd::Background => Some(BACKGROUND.to_owned()),
            TurnEnd::Stopped | TurnEnd::Open => None,
        },
        ..NewSummary::default()
    })
}

/// Returns what the summary before a compaction says about errors, causes and the code: the turn itself may be too long to
/// tell.
fn compacted(timeline: &Timeline<'_>, turn: &Turn<'_>) -> Option<String> {
    let at = turn
        .steps
        .clone()
        .rfind(|at| matches!(timeline.steps[*at].action(), Some(Action::Compaction(_))))?;
    let is_learned = |topic: &&Topic| {
        matches!(
            topic.role,
            SectionRole::Problem | SectionRole::Cause | SectionRole::Note | SectionRole::Decision
        ) || topic
            .heading
            .as_deref()
            .is_some_and(|heading| CONCEPTS.within(&heading.to_lowercase()))
    };
    let topics = timeline.message(at).topics.iter().filter(is_learned);
    let lines: Vec<String> = topics
        .flat_map(|topic| &topic.points)
        .filter(|point| !is_first_person(&point.text) && !UNDER_WAY.within(&point.text.to_lowercase()))
        .map(|point| ended(point.text.clone()))
        .collect();
    Some(joined(lines, MAX_COMPACTED)).filter(|text| !text.is_empty())
}

/// The part of a compaction summary that is kept, in characters.
const MAX_COMPACTED: usize = 2_400;
/// The state at one moment.
static UNDER_WAY: Phrases = Phrases::new("currently|in progress|so far|just completed|was about to");
static CONCEPTS: Phrases = Phrases::new("concepts|errors|problem solving|fixes|learned");

const INTERRUPTED: &str = "Interrupted before the agent was done.";
const BACKGROUND: &str = "Background work was still running.";

/// Returns the files that a turn read and did not change, the first ones.
fn files_read<'a>(timeline: &Timeline<'a>, steps: Range<usize>) -> Vec<&'a str> {
    let mut out: Vec<&str> = Vec::new();
    for step in &timeline.steps[steps] {
        match step.action() {
            Some(Action::Lookup { path })
                if backstory_model::is_file_path(path) && !out.contains(&path.as_str()) =>
            {
                out.push(path);
            }
            Some(Action::Change(change)) => out.retain(|path| *path != change.path),
            _ => {}
        }
    }
    out.truncate(MAX_FILES);
    out
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
        last.notes,
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
        investigated: last.investigated,
        learned: last.learned.filter(|learned| !is_said(learned, &handover.done)),
        completed: text(&handover.done, "\n"),
        next_steps: text(&handover.open, "\n"),
        open_steps: Some(
            handover
                .open
                .iter()
                .filter(|item| is_work(item))
                .cloned()
                .collect(),
        ),
        files_read: last.files_read,
        files_edited: last.files_edited,
        notes: text(&notes, "\n"),
    }
}

/// A question or an interruption is no work to do.
fn is_work(item: &str) -> bool {
    const NO_WORK: [&str; 5] = [
        "Asked, not answered: ",
        "Last request without",
        "Interrupted",
        "Still running",
        "Background work",
    ];
    !NO_WORK.iter().any(|opening| item.starts_with(opening))
}

fn is_said(text: &str, lines: &[String]) -> bool {
    Words::of(text).covered_by(&Words::of(&lines.join(" ")), SAME_PERCENT)
}
