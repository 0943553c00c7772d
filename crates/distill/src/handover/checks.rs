//! The last result of each test, build and lint command, and the state of the working tree.

use crate::english::code;
use crate::episodes::{Step, Timeline};
use crate::memories::{Ending, command_key, simple_commands, targets};
use crate::{Action, CommandRun, Purpose, RunOutcome};

const MAX_CHECKS: usize = 4;
const MAX_FILES: usize = 4;

/// Returns the last result of each check, oldest first.
pub(crate) fn checks(timeline: &Timeline<'_>, ending: &Ending<'_>) -> Vec<String> {
    let mut last: Vec<(String, String, Option<Purpose>)> = Vec::new();
    for (at, step) in timeline.steps.iter().enumerate() {
        let Some(Action::Run(run)) = step.action() else {
            continue;
        };
        if !is_check(run.purpose) || run.outcome == RunOutcome::Unknown || ending.is_trial(&run.command) {
            continue;
        }
        // A command that passed passed in all its parts.
        let parts: Vec<&str> = match (run.outcome, &run.failed_part) {
            (RunOutcome::Passed, _) => simple_commands(&run.command).collect(),
            (_, Some(part)) => vec![part.as_str()],
            // Which part failed is not known: the command counts under its last part, the usual check.
            _ => simple_commands(&run.command).last().into_iter().collect(),
        };
        // A suite that passed outdates the failures before it.
        if run.outcome == RunOutcome::Passed && parts.last().is_some_and(|part| targets(part).is_empty()) {
            last.retain(|(_, _, failed)| *failed != Some(run.purpose));
        }
        for part in parts.into_iter().filter(|part| !is_preparation(part)) {
            let key = command_key(part);
            last.retain(|(known, _, _)| *known != key);
            let shown = if run.outcome == RunOutcome::Passed {
                part
            } else {
                run.failed_part.as_deref().unwrap_or(&run.command)
            };
            let failed = (run.outcome == RunOutcome::Failed).then_some(run.purpose);
            let mut line = line(shown, run);
            if run.outcome == RunOutcome::Passed && !unchecked(ending, at).is_empty() {
                line.push_str(", before the last changes");
            }
            last.push((key, line, failed));
        }
    }
    let skipped = last.len().saturating_sub(MAX_CHECKS);
    last.drain(..skipped);
    last.into_iter().map(|(_, line, _)| line).collect()
}

/// Reports whether a part of a command only prepares the check: it changes folders or files, or prints something.
fn is_preparation(part: &str) -> bool {
    let program = part.split_whitespace().next().unwrap_or_default();
    const PREPARATIONS: [&str; 22] = [
        "cd", "pushd", "popd", "mkdir", "rm", "cp", "mv", "touch", "echo", "cat", "ls", "export", "source",
        "git", "sleep", "printf", "set", "head", "tail", "grep", "chmod", "true",
    ];
    // A path outside of the project is a trial, not a check of it.
    PREPARATIONS.contains(&program) || program.starts_with('/')
}

/// Returns the branch at the end: the one of the last turn, or one that was created in it.
pub(crate) fn branch(timeline: &Timeline<'_>) -> Option<String> {
    let (turn, known) = timeline
        .logs
        .iter()
        .rev()
        .find_map(|log| Some((log.number, log.branch.as_deref()?)))?;
    let created = timeline.steps.iter().rev().take_while(|step| step.turn >= turn);
    let created = created.filter_map(|step| match step.action() {
        Some(Action::Run(run)) if run.outcome != RunOutcome::Failed => {
            simple_commands(&run.command).filter_map(new_branch).last()
        }
        _ => None,
    });
    Some(created.into_iter().next().unwrap_or(known).to_owned())
}

/// Returns the branch that a command creates and switches to.
fn new_branch(command: &str) -> Option<&str> {
    [
        "git checkout -b ",
        "git checkout -B ",
        "git switch -c ",
        "git switch --create ",
    ]
    .iter()
    .find_map(|opening| command.strip_prefix(opening))
    .and_then(|rest| rest.split_whitespace().next())
}

pub(super) const fn is_check(purpose: Purpose) -> bool {
    matches!(purpose, Purpose::Test | Purpose::Build | Purpose::Lint)
}

fn line(command: &str, run: &CommandRun) -> String {
    const MAX_COMMAND: usize = 80;
    let command = code(&short(command, MAX_COMMAND));
    if run.outcome == RunOutcome::Failed {
        let error = run
            .error
            .as_ref()
            .map(|error| error.line.as_str())
            .or(run.result_line.as_deref());
        return match error.filter(|error| error.len() <= MAX_COMMAND) {
            Some(error) => format!("{command} failed: {}", code(error)),
            None => format!("{command} failed"),
        };
    }
    // Only a count of results says more than that the command passed.
    match run.result_line.as_deref().filter(|line| counts_results(line)) {
        Some(result) => format!("{command} passed: {}", code(result)),
        None => format!("{command} passed"),
    }
}

/// Cuts a command between two words.
fn short(command: &str, max: usize) -> String {
    let line = command.lines().next().unwrap_or_default();
    if line.len() <= max {
        return line.to_owned();
    }
    let head = &line[..line.floor_char_boundary(max)];
    let cut = head.rfind(char::is_whitespace).unwrap_or(head.len());
    format!("{} …", head[..cut].trim_end())
}

fn counts_results(line: &str) -> bool {
    const MAX_RESULT: usize = 60;
    let lower = line.to_lowercase();
    line.len() <= MAX_RESULT && lower.contains("pass") && lower.contains(|c: char| c.is_ascii_digit())
}

/// Describes the working tree: commits that were not pushed, files changed after the last commit and after the last check.
pub(crate) fn state(timeline: &Timeline<'_>, ending: &Ending<'_>) -> Vec<String> {
    let mut out = Vec::new();
    let last_commit = ending.commits.last();
    let unpushed = ending.commits.iter().filter(|commit| !commit.is_pushed).count();
    if unpushed > 0 && unpushed < ending.commits.len() {
        out.push(format!("{unpushed} commits not pushed"));
    } else if unpushed > 0 {
        out.push("Not pushed".to_owned());
    }
    // The user may have committed without the agent.
    let is_clean = |step: &Step<'_>| {
        matches!(step.action(), Some(Action::Run(run))
            if run.result_line.as_deref().is_some_and(|line| line.contains("nothing to commit")))
    };
    let clean = timeline.steps.iter().rposition(is_clean);
    let saved = last_commit.map(|commit| commit.at).max(clean);
    let uncommitted = uncommitted(timeline, ending, saved.map_or(0, |at| at + 1));
    if !uncommitted.is_empty() {
        out.push(format!("Changed, not committed: {}", list(&uncommitted)));
    }
    let last_check = timeline
        .steps
        .iter()
        .rposition(|step| matches!(step.action(), Some(Action::Run(run)) if is_check(run.purpose)));
    let unchecked = last_check.map_or_else(Vec::new, |at| unchecked(ending, at));
    if !unchecked.is_empty() {
        out.push(format!(
            "Changed after the last test, build or lint run: {}",
            list(&unchecked)
        ));
    }
    out
}

/// Returns the files that changed from a step on and are not committed. What the last `git status` does not list was committed
/// or taken back without the agent.
fn uncommitted<'a>(timeline: &Timeline<'_>, ending: &Ending<'a>, from: usize) -> Vec<&'a str> {
    let listed = |step: &Step<'_>| match step.action() {
        Some(Action::Run(run)) => run.changed_files.clone(),
        _ => None,
    };
    let status = (from..timeline.steps.len())
        .rev()
        .find_map(|at| Some((at, listed(&timeline.steps[at])?)));
    let Some((at, listed)) = status else {
        return ending.files(from..ending.end());
    };
    let later = ending.files(at + 1..ending.end());
    let mut files = ending.files(from..ending.end());
    files.retain(|file| later.contains(file) || listed.iter().any(|path| is_same_file(file, path)));
    files
}

/// Compares a path of the project with one that `git status` printed, which is relative to the folder of the command and may
/// stand for a whole folder.
fn is_same_file(file: &str, path: &str) -> bool {
    let path = path.trim_start_matches("../");
    let ends = |long: &str, short: &str| {
        long.strip_suffix(short)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    };
    ends(file, path)
        || ends(path, file)
        || (path.ends_with('/') && format!("/{file}").contains(&format!("/{path}")))
}

/// Returns the code that changed after a step.
fn unchecked<'a>(ending: &Ending<'a>, at: usize) -> Vec<&'a str> {
    let mut files = ending.files(at + 1..ending.end());
    files.retain(|file| !is_text(file));
    files
}

fn is_text(file: &str) -> bool {
    file.rsplit_once('.')
        .is_some_and(|(_, extension)| matches!(extension, "md" | "txt" | "rst" | "adoc"))
}

fn list(files: &[&str]) -> String {
    let mut out = files
        .iter()
        .take(MAX_FILES)
        .map(|file| code(file))
        .collect::<Vec<_>>()
        .join(", ");
    if files.len() > MAX_FILES {
        out.push_str(&format!(" and {} more", files.len() - MAX_FILES));
    }
    out
}
