//! The last result of each test, build and lint command, and the state of the working tree.

use crate::english::code;
use crate::episodes::Timeline;
use crate::memories::{Ending, command_key};
use crate::{Action, CommandRun, Purpose, RunOutcome};

const MAX_CHECKS: usize = 4;
const MAX_FILES: usize = 4;

/// Returns the last result of each check, oldest first.
pub(crate) fn checks(timeline: &Timeline<'_>) -> Vec<String> {
    let mut last: Vec<(String, &CommandRun)> = Vec::new();
    for step in &timeline.steps {
        if let Some(Action::Run(run)) = step.action()
            && is_check(run.purpose)
            && run.outcome != RunOutcome::Unknown
        {
            let key = command_key(&run.command);
            last.retain(|(known, _)| *known != key);
            last.push((key, run));
        }
    }
    let skipped = last.len().saturating_sub(MAX_CHECKS);
    last[skipped..].iter().map(|(_, run)| line(run)).collect()
}

pub(super) const fn is_check(purpose: Purpose) -> bool {
    matches!(purpose, Purpose::Test | Purpose::Build | Purpose::Lint)
}

fn line(run: &CommandRun) -> String {
    const MAX_COMMAND: usize = 100;
    let command = run.command.lines().next().unwrap_or_default();
    let command = code(&command[..command.floor_char_boundary(MAX_COMMAND)]);
    let detail = match run.outcome {
        RunOutcome::Failed => run.error.as_ref().map(|error| error.line.as_str()).or(run.result_line.as_deref()),
        _ => run.result_line.as_deref(),
    };
    let verdict = if run.outcome == RunOutcome::Failed { "failed" } else { "passed" };
    match detail.filter(|detail| detail.len() <= MAX_COMMAND) {
        Some(detail) => format!("{command} {verdict}: {}", code(detail)),
        None => format!("{command} {verdict}"),
    }
}

/// Describes the working tree: commits that were not pushed, files changed after the last commit and after the last check.
pub(crate) fn state(timeline: &Timeline<'_>, ending: &Ending<'_>) -> Vec<String> {
    let mut out = Vec::new();
    let end = timeline.steps.len();
    let last_commit = ending.commits.last();
    let unpushed = ending.commits.iter().filter(|commit| !commit.is_pushed).count();
    if unpushed > 0 && unpushed < ending.commits.len() {
        out.push(format!("{unpushed} commits not pushed"));
    } else if unpushed > 0 {
        out.push("Not pushed".to_owned());
    }
    let uncommitted = ending.files(last_commit.map_or(0, |commit| commit.at + 1)..end);
    if !uncommitted.is_empty() {
        out.push(format!("Changed, not committed: {}", list(&uncommitted)));
    }
    let last_check = timeline
        .steps
        .iter()
        .rposition(|step| matches!(step.action(), Some(Action::Run(run)) if is_check(run.purpose)));
    let unchecked: Vec<&str> = ending
        .files(last_check.map_or(0, |at| at + 1)..end)
        .into_iter()
        .filter(|file| !is_text(file))
        .collect();
    if !unchecked.is_empty() {
        out.push(format!("Changed after the last test, build or lint run: {}", list(&unchecked)));
    }
    out
}

fn is_text(file: &str) -> bool {
    file.rsplit_once('.').is_some_and(|(_, extension)| matches!(extension, "md" | "txt" | "rst" | "adoc"))
}

fn list(files: &[&str]) -> String {
    let mut out = files.iter().take(MAX_FILES).map(|file| code(file)).collect::<Vec<_>>().join(", ");
    if files.len() > MAX_FILES {
        out.push_str(&format!(" and {} more", files.len() - MAX_FILES));
    }
    out
}
