//! Verified obstacles: a command failed, something changed, the same command passed.

use backstory_model::ObservationType;

use super::draft::{Draft, Source, Statement, choose_title, ended, is_first_person};
use super::ending::Ending;
use crate::english::{Phrases, Words, code, count_names, fit_title, has_cause, has_contrast, imperative};
use crate::episodes::Timeline;
use crate::prose::{SectionRole, topics};
use crate::{Action, CommandRun, ErrorSignature, PublicationKind, Purpose, RunOutcome};

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
        match step.action() {
            Some(Action::Run(run)) if run.purpose == Purpose::Inspect => {}
            Some(Action::Run(run)) if run.outcome == RunOutcome::Failed => fail(timeline, &mut found, run, at),
            Some(Action::Run(run)) if run.outcome == RunOutcome::Passed => pass(timeline, ending, &mut found, &run.command, at),
            Some(action) => {
                if let Some(command) = succeeded(action) {
                    pass(timeline, ending, &mut found, command, at);
                }
            }
            None => {}
        }
    }
    found
}

/// Returns the command that an action stands for: a commit in the log is a `git commit` that passed.
const fn succeeded(action: &Action) -> Option<&'static str> {
    match action {
        Action::Commit(_) => Some("git commit"),
        Action::Push { .. } => Some("git push"),
        Action::Publication(publication) => match publication.kind {
            PublicationKind::PullRequest => Some("gh pr create"),
            PublicationKind::Issue => Some("gh issue create"),
            PublicationKind::Comment => None,
        },
        _ => None,
    }
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

fn pass(timeline: &Timeline<'_>, ending: &Ending<'_>, found: &mut Obstacles<'_>, command: &str, at: usize) {
    for command in simple_commands(command) {
        let is_resolved = |failure: &Failure<'_>| resolves(failure, command) || is_variant(failure.command, command);
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

/// Returns the simple commands of a compound command.
pub(crate) fn simple_commands(command: &str) -> impl Iterator<Item = &str> {
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

/// Reports whether a passing command covers what failed: the same program, for a check also the same or a wider target.
fn resolves(failure: &Failure<'_>, passed: &str) -> bool {
    if key(failure.command) != key(passed) {
        return false;
    }
    let is_check = matches!(failure.purpose, Purpose::Test | Purpose::Build | Purpose::Lint);
    let (failed, passed) = (targets(failure.command), targets(passed));
    !is_check
        || passed.iter().all(|target| failed.contains(target))
        || failed.iter().all(|target| passed.contains(target))
        || passed.contains(&"./...")
}

/// Returns the arguments that choose what a command works on.
fn targets(command: &str) -> Vec<&str> {
    let skipped = key(command).split_whitespace().count();
    command
        .split_whitespace()
        .filter(|word| !word.contains('=') || word.starts_with('-'))
        .skip(skipped)
        .filter(|word| !word.starts_with('-') && !word.contains('>'))
        .collect()
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

/// Collects the statements after a failure that explain it: the first ones are the diagnosis.
fn reasons_between(timeline: &Timeline<'_>, range: std::ops::Range<usize>) -> Vec<Statement> {
    let mut out: Vec<Statement> = Vec::new();
    for step in &timeline.steps[range] {
        let Some(Action::Prose(text)) = step.action() else { continue };
        for point in topics(text).into_iter().flat_map(|topic| topic.points) {
            let explains = has_cause(&point.text) || has_contrast(&point.text) || count_names(&point.text) > 0;
            let is_plan = is_first_person(&point.text) && INTENTIONS.within(&point.text.to_lowercase());
            if explains && !is_plan && point.text.chars().count() <= MAX_REASONS {
                out.push(Statement {
                    text: ended(point.text),
                    title: point.title,
                    is_item: false,
                    role: SectionRole::Cause,
                });
            }
        }
    }
    let mut length = 0;
    out.retain(|statement| {
        length += statement.text.chars().count();
        length <= MAX_REASONS
    });
    out
}

/// "I suppressed the error" explains; "I should handle it" intends.
const INTENTIONS: Phrases = Phrases(&["i need", "i should", "i could", "i can", "i want", "i'll", "i will", "i would", "i'd", "i'm", "i think", "i have to"]);

fn resolved(timeline: &Timeline<'_>, ending: &Ending<'_>, failure: &Failure<'_>, command: &str, at: usize) -> Option<Draft> {
    let range = failure.first + 1..at;
    // The reason is given after the last failure, or before it when the last attempt needed no words.
    let mut reasons = reasons_between(timeline, failure.at + 1..at);
    if reasons.is_empty() {
        reasons = reasons_between(timeline, range.clone());
    }
    let is_variant = is_variant(failure.command, command);
    let title = if is_variant {
        let program = |command: &str| code(command.split_whitespace().next().unwrap_or_default());
        Some(format!("{} fails here; {} works", program(failure.command), program(command)))
    } else {
        choose_title(&reasons, None).or_else(|| Some(failure_title(failure)).filter(|_| !reasons.is_empty()))
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
    reasons.into_iter().for_each(|reason| draft.push(reason));
    draft.facts.push(describe(failure));
    draft.facts.extend(remedy(timeline, ending, range));
    draft.facts.push(format!("Passes now: {}", code(quote(command))));
    Some(draft)
}

fn failure_title(failure: &Failure<'_>) -> String {
    let command = code(&key(failure.command));
    let (place, message) = failure.error.map_or((None, None), |error| split_location(&error.line));
    let with_message = message.and_then(|message| fit_title(&format!("{command} failed: {}", code(message))));
    let with_place = place.and_then(|place| fit_title(&format!("{command} failed in {}", code(place))));
    with_message.or(with_place).unwrap_or_else(|| format!("{command} failed"))
}

/// Splits `src/a.rs:3:9: message` into the file and the message.
fn split_location(line: &str) -> (Option<&str>, Option<&str>) {
    let Some((place, message)) = line.split_once(": ") else {
        return (None, Some(line));
    };
    let file = place.split(':').next().unwrap_or(place);
    let is_place = place.contains(':') && file.contains('.') && !file.contains(' ');
    if is_place {
        (file.rsplit('/').next(), Some(message))
    } else {
        (None, Some(line))
    }
}

/// Describes a failure: the command and its error line.
pub(crate) fn describe(failure: &Failure<'_>) -> String {
    let command = code(quote(failure.command));
    match failure.error {
        Some(error) => format!("{command} failed: {}", code(quote(&error.line))),
        None => format!("{command} failed"),
    }
}

/// Returns the part of a command or error line that is worth quoting: without the text that is passed in quotes.
fn quote(text: &str) -> &str {
    let line = text.lines().next().unwrap_or(text);
    let line = line.split(" --body ").next().unwrap_or(line);
    let line = line.split("\"$(").next().unwrap_or(line);
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
    let reasons = reasons_between(timeline, failure.at + 1..at);
    let causes: Vec<Statement> = reasons.iter().filter(|reason| has_cause(&reason.text)).cloned().collect();
    let guess = choose_title(&causes, None)?;
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
