//! Verified obstacles: a command failed, something changed, the same command passed.

use backstory_model::ObservationType;

use super::draft::{Draft, Source, Statement, choose_title};
use super::ending::Ending;
use crate::english::{Words, code, count_names, fit_title, has_cause, has_contrast, imperative};
use crate::episodes::Timeline;
use crate::prose::{SectionRole, topics};
use crate::{Action, CommandRun, ErrorSignature, Purpose, RunOutcome};

/// The reasons kept for one obstacle, in characters.
const MAX_REASONS: usize = 420;
/// The longest command or error line that is quoted, in characters.
const MAX_QUOTE: usize = 160;

/// A failure that has not passed yet.
pub(crate) struct Failure<'a> {
    /// The step of the last failing run.
    pub(crate) at: usize,
    /// The step of the first failing run.
    pub(crate) first: usize,
    /// The simple command that failed.
    pub(crate) command: &'a str,
    /// The purpose of the command.
    pub(crate) purpose: Purpose,
    /// The error.
    pub(crate) error: Option<&'a ErrorSignature>,
}

/// The obstacles of a session and the failures that nothing resolved.
pub(crate) struct Obstacles<'a> {
    /// Memories of resolved failures and of attempts that did not work.
    pub(crate) drafts: Vec<Draft>,
    /// Failures at the end of the session.
    pub(crate) open: Vec<Failure<'a>>,
}

/// Finds the obstacles of a session.
pub(crate) fn find<'a>(timeline: &Timeline<'a>, ending: &Ending<'a>) -> Obstacles<'a> {
    let mut found = Obstacles {
        drafts: Vec::new(),
        open: Vec::new(),
    };
    for (at, step) in timeline.steps.iter().enumerate() {
        let Some(Action::Run(run)) = step.action() else { continue };
        if run.purpose == Purpose::Inspect {
            continue;
        }
        match run.outcome {
            RunOutcome::Failed => fail(timeline, &mut found, run, at),
            RunOutcome::Passed => pass(timeline, ending, &mut found, run, at),
            RunOutcome::Unknown => {}
        }
    }
    found
}

fn fail<'a>(timeline: &Timeline<'a>, found: &mut Obstacles<'a>, run: &'a CommandRun, at: usize) {
    let Some(command) = failed_command(run) else { return };
    let failure = Failure {
        at,
        first: at,
        command,
        purpose: run.purpose,
        error: run.error.as_ref(),
    };
    let Some(known) = found.open.iter_mut().find(|known| key(known.command) == key(command)) else {
        found.open.push(failure);
        return;
    };
    let is_same_error = known.error.is_some() && known.error.map(|error| &error.key) == failure.error.map(|error| &error.key);
    if is_same_error && has_change(timeline, known.at, at) {
        found.drafts.extend(rejected(timeline, known, at));
    }
    known.at = at;
    known.command = command;
    if !is_same_error {
        known.error = failure.error;
        known.first = at;
    }
}

fn pass<'a>(timeline: &Timeline<'a>, ending: &Ending<'a>, found: &mut Obstacles<'a>, run: &'a CommandRun, at: usize) {
    for command in simple_commands(&run.command) {
        let is_resolved = |failure: &Failure<'_>| key(failure.command) == key(command) || is_variant(failure.command, command);
        while let Some(position) = found.open.iter().position(is_resolved) {
            let failure = found.open.remove(position);
            found.drafts.extend(resolved(timeline, ending, &failure, command, at));
        }
    }
}

/// Returns the simple command that failed, if that is certain.
fn failed_command(run: &CommandRun) -> Option<&str> {
    run.failed_part.as_deref().or_else(|| {
        let mut parts = simple_commands(&run.command);
        let first = parts.next()?;
        parts.next().is_none().then_some(first)
    })
}

fn simple_commands(command: &str) -> impl Iterator<Item = &str> {
    command
        .split("&&")
        .flat_map(|part| part.split("||"))
        .flat_map(|part| part.split(';'))
        .map(|part| part.split('|').next().unwrap_or(part).trim())
        .filter(|part| !part.is_empty())
}

/// Returns the part of a command that stays when it is run again: program and sub-commands, without options and paths.
pub(crate) fn key(command: &str) -> String {
    const MAX_WORDS: usize = 3;
    command
        .split_whitespace()
        .filter(|word| !word.contains('=') || word.starts_with('-'))
        .take_while(|word| !word.starts_with(['-', '.', '/', '"', '\'', '>', '2', '$']))
        .take(MAX_WORDS)
        .collect::<Vec<_>>()
        .join(" ")
}

/// `python x.py` and `python3 x.py`: another program with the same arguments.
fn is_variant(failed: &str, passed: &str) -> bool {
    match (failed.split_once(' '), passed.split_once(' ')) {
        (Some((one, rest)), Some((other, same))) => one != other && rest == same,
        _ => false,
    }
}

fn has_change(timeline: &Timeline<'_>, after: usize, before: usize) -> bool {
    timeline.steps[after..before].iter().any(|step| matches!(step.action(), Some(Action::Change(_))))
}

/// Collects the statements between two runs that explain the failure, latest last.
fn reasons(timeline: &Timeline<'_>, range: std::ops::Range<usize>) -> Vec<Statement> {
    let mut out: Vec<Statement> = Vec::new();
    for step in &timeline.steps[range] {
        let Some(Action::Prose(text)) = step.action() else { continue };
        for point in topics(text).into_iter().flat_map(|topic| topic.points) {
            let explains = has_cause(&point.text) || has_contrast(&point.text) || count_names(&point.text) > 0;
            if explains && point.text.chars().count() <= MAX_REASONS {
                out.push(Statement {
                    text: point.text,
                    is_item: false,
                    role: SectionRole::Cause,
                });
            }
        }
    }
    let mut length = 0;
    let kept = out
        .iter()
        .rev()
        .take_while(|statement| {
            length += statement.text.chars().count();
            length <= MAX_REASONS
        })
        .count();
    out.split_off(out.len() - kept)
}

fn resolved(timeline: &Timeline<'_>, ending: &Ending<'_>, failure: &Failure<'_>, command: &str, at: usize) -> Option<Draft> {
    let range = failure.first + 1..at;
    let reasons = reasons(timeline, range.clone());
    let is_variant = is_variant(failure.command, command);
    let title = if is_variant {
        let program = |command: &str| code(command.split_whitespace().next().unwrap_or_default());
        Some(format!("{} fails here; {} works", program(failure.command), program(command)))
    } else {
        choose_title(&reasons, None).or_else(|| failure_title(failure).filter(|_| !reasons.is_empty()))
    };
    let mut draft = Draft::new(Source::Obstacle, at, title?);
    draft.from = failure.first;
    draft.kind = Some(if has_change(timeline, failure.first, at) {
        ObservationType::Bugfix
    } else {
        ObservationType::Discovery
    });
    draft.error_signature = failure.error.map(|error| error.key.clone());
    draft.evidence = [failure.at, at]
        .into_iter()
        .filter_map(|step| timeline.steps[step].entry()?.tool_use_id.clone())
        .collect();
    draft.narrative = reasons.into_iter().map(|reason| reason.text).filter(|reason| *reason != draft.title).collect();
    draft.facts.push(describe(failure));
    draft.facts.extend(remedy(timeline, ending, range));
    draft.facts.push(format!("Passes now: {}", code(quote(command))));
    Some(draft)
}

fn failure_title(failure: &Failure<'_>) -> Option<String> {
    let error = failure.error?;
    fit_title(&format!("{} failed with {}", code(&key(failure.command)), code(quote(&error.line))))
}

/// Describes a failure: the command and its error line.
pub(crate) fn describe(failure: &Failure<'_>) -> String {
    let command = code(quote(failure.command));
    match failure.error {
        Some(error) => format!("{command} failed: {}", code(quote(&error.line))),
        None => format!("{command} failed"),
    }
}

fn quote(text: &str) -> &str {
    let line = text.lines().next().unwrap_or(text);
    line[..line.floor_char_boundary(MAX_QUOTE)].trim()
}

/// Describes the last change before the command passed.
fn remedy(timeline: &Timeline<'_>, ending: &Ending<'_>, range: std::ops::Range<usize>) -> Option<String> {
    let files = ending.files(range.clone());
    let intent = timeline.steps[range]
        .iter()
        .rev()
        .filter_map(|step| step.entry())
        .filter(|entry| matches!(entry.action, Action::Change(_)))
        .find_map(|entry| imperative(entry.intent.as_deref()?));
    let place = files.first().map(|file| format!("in {}", code(file)));
    match (intent, place) {
        (Some(intent), Some(place)) if !intent.contains(files[0].rsplit('/').next().unwrap_or(files[0])) => Some(format!("Fix {place}: {intent}")),
        (Some(intent), _) => Some(format!("Fix: {intent}")),
        (None, Some(place)) => Some(format!("Fixed {place}")),
        (None, None) => None,
    }
}

/// Drafts the memory of an attempt after which the command still failed with the same error.
fn rejected(timeline: &Timeline<'_>, failure: &Failure<'_>, at: usize) -> Option<Draft> {
    let reasons = reasons(timeline, failure.at + 1..at);
    let guess = choose_title(&reasons, None)?;
    let title = fit_title(&format!("Tried, did not work: {guess}")).unwrap_or(guess);
    let mut draft = Draft::new(Source::Obstacle, at, title);
    draft.from = failure.at;
    draft.rejected = true;
    draft.kind = Some(ObservationType::Discovery);
    draft.error_signature = failure.error.map(|error| error.key.clone());
    let title_words = Words::of(&draft.title);
    draft.narrative = reasons
        .into_iter()
        .map(|reason| reason.text)
        .filter(|reason| !Words::of(reason).covered_by(&title_words, 90))
        .collect();
    draft.facts.push(format!("Afterwards {}", describe(failure)));
    Some(draft)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_known_by_program_and_sub_commands() {
        for (command, wanted) in [
            ("mise run lint 2>&1", "mise run lint"),
            ("go test ./cmd/... -run X", "go test"),
            ("gh pr create --draft --base main", "gh pr create"),
            ("FOO=1 cargo test -p x", "cargo test"),
        ] {
            assert_eq!(key(command), wanted);
        }
        assert!(is_variant("python a.py", "python3 a.py"));
        assert!(!is_variant("cargo test", "cargo build"));
    }
}
