//! Verified obstacles: a command failed, something changed, the same command passed.

use backstory_model::ObservationType;

use super::command::{command_key, is_compound, is_variant, simple_commands, targets};
use super::draft::{Draft, Source, Statement, choose_title, ended, is_first_person, title_of};
use super::ending::Ending;
use crate::english::{
    Form, MAX_TITLE, Phrases, Words, code, count_names, fit_title, has_cause, has_contrast, imperative,
    is_statement, is_weighing, opens_with_change, verb,
};
use crate::episodes::Timeline;
use crate::prose::SectionRole;
use crate::{Action, ChangeKind, CommandRun, ErrorSignature, PublicationKind, Purpose, RunOutcome};

/// The reasons kept for one obstacle, in characters.
const MAX_REASONS: usize = 600;
/// The longest command or error line that is quoted, in characters.
const MAX_QUOTE: usize = 160;

/// A failure that passes later than this many turns after it was not resolved by what was said in between.
const MAX_TURNS: u32 = 1;
/// An attempt that shares this much with the resolution is part of it.
const SAME_IDEA_PERCENT: u32 = 30;

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
    /// Attempts after which it still failed.
    rejected: Vec<Draft>,
}

/// The obstacles of a session and the failures that nothing resolved.
pub(crate) struct Obstacles<'a> {
    /// Memories of resolved failures and of attempts that did not work.
    pub(crate) drafts: Vec<Draft>,
    /// Failures that a change resolved without a word about it: the report of their turn may explain them.
    pub(crate) unexplained: Vec<Unexplained>,
    /// Failures at the end of the session.
    pub(crate) open: Vec<Failure<'a>>,
}

/// A resolved failure without a reason.
pub(crate) struct Unexplained {
    /// The step of the run that passed.
    pub(crate) at: usize,
    error_signature: String,
    facts: Vec<String>,
    evidence: Vec<String>,
}

/// Adds a resolved failure to the memory that explains it. The failure is told if it was there before the changes of the turn:
/// one on the way is gone with its cause.
pub(super) fn join(ending: &Ending<'_>, obstacle: &Draft, report: &mut Draft) {
    report.error_signature.clone_from(&obstacle.error_signature);
    if !is_before_changes(ending, obstacle.from) {
        return;
    }
    let failure = obstacle
        .facts
        .iter()
        .find(|fact| fact.contains("` failed") && tells_error(fact));
    report
        .facts
        .extend(failure.map(|failure| format!("Before, {failure}")));
    report.evidence.extend(obstacle.evidence.iter().cloned());
}

/// Reports whether a resolved failure can come back: it was there before the turn changed anything, or no change resolved it.
/// One that the work itself brought about is gone with it.
pub(super) fn is_lasting(timeline: &Timeline<'_>, ending: &Ending<'_>, obstacle: &Draft) -> bool {
    let is_check = matches!(timeline.steps[obstacle.at].action(), Some(Action::Run(run))
        if matches!(run.purpose, Purpose::Test | Purpose::Build | Purpose::Lint));
    !is_check || obstacle.kind != Some(ObservationType::Bugfix) || is_before_changes(ending, obstacle.from)
}

/// Reports whether the turn of a step had not changed anything yet.
fn is_before_changes(ending: &Ending<'_>, at: usize) -> bool {
    ending.files(ending.turn(at).start..at).is_empty()
}

impl Unexplained {
    /// Adds the failure to the memory that explains it.
    pub(crate) fn explain(&self, draft: &mut Draft) {
        draft.error_signature = Some(self.error_signature.clone());
        draft.facts.extend(self.facts.iter().cloned());
        draft.evidence.extend(self.evidence.iter().cloned());
    }
}

/// Finds the obstacles of a session.
pub(crate) fn find_obstacles<'a>(timeline: &Timeline<'a>, ending: &Ending<'a>) -> Obstacles<'a> {
    let mut found = Obstacles {
        drafts: Vec::new(),
        unexplained: Vec::new(),
        open: Vec::new(),
    };
    for (at, step) in timeline.steps.iter().enumerate() {
        match step.action() {
            Some(Action::Run(run)) if run.purpose == Purpose::Inspect => {}
            Some(Action::Run(run)) if run.outcome == RunOutcome::Failed && is_expected(ending, run) => {}
            Some(Action::Run(run)) if run.outcome == RunOutcome::Failed => {
                fail(timeline, &mut found, run, at);
            }
            Some(Action::Run(run)) if run.outcome == RunOutcome::Passed => {
                pass(timeline, ending, &mut found, &run.command, at);
                found.open.retain(|failure| !is_outdated(failure, run));
            }
            Some(action) => {
                for command in succeeded(action) {
                    pass(timeline, ending, &mut found, command, at);
                }
            }
            None => {}
        }
    }
    found
}

/// A script that shows a bug fails until the bug is fixed; a missing program is an obstacle all the same.
fn is_expected(ending: &Ending<'_>, run: &CommandRun) -> bool {
    let is_missing = run
        .error
        .as_ref()
        .is_some_and(|error| error.line.contains("command not found"));
    ending.is_trial(&run.command) && !is_missing
}

/// Reports whether a whole suite of the same kind passed after a failure: then it is not known to fail any more.
fn is_outdated(failure: &Failure<'_>, run: &CommandRun) -> bool {
    let is_suite = |command: &str| targets(command).iter().all(|target| *target == "./...");
    failure.purpose == run.purpose
        && matches!(run.purpose, Purpose::Test | Purpose::Build | Purpose::Lint)
        && simple_commands(&run.command).last().is_some_and(is_suite)
}

/// Returns the commands that an action stands for: a commit in the log is a `git commit` that passed, and ends a merge.
const fn succeeded(action: &Action) -> &'static [&'static str] {
    match action {
        Action::Commit(_) => &[
            "git commit",
            "git merge",
            "git rebase",
            "git cherry-pick",
            "git pull",
        ],
        Action::Push { .. } => &["git push"],
        Action::Publication(publication) => match publication.kind {
            PublicationKind::PullRequest => &["gh pr create"],
            PublicationKind::Issue => &["gh issue create"],
            PublicationKind::Comment => &[],
        },
        _ => &[],
    }
}

fn fail<'a>(timeline: &Timeline<'a>, found: &mut Obstacles<'a>, run: &'a CommandRun, at: usize) {
    let command = failed_command(run);
    let failure = Failure {
        at,
        first: at,
        command,
        purpose: run.purpose,
        error: run.error.as_ref(),
        rejected: Vec::new(),
    };
    let is_known = |known: &&mut Failure<'_>| {
        command_key(known.command) == command_key(command)
            && is_compound(known.command) == is_compound(command)
    };
    let Some(known) = found.open.iter_mut().find(is_known) else {
        found.open.push(failure);
        return;
    };
    let is_same_error =
        known.error.is_some() && known.error.map(|error| &error.key) == failure.error.map(|error| &error.key);
    if is_same_error && has_change(timeline, known.at, at) {
        let attempt = rejected(timeline, known, at);
        known.rejected.extend(attempt);
    }
    known.at = at;
    known.command = command;
    if !is_same_error {
        known.error = failure.error;
        known.first = at;
    }
}

fn pass(timeline: &Timeline<'_>, ending: &Ending<'_>, found: &mut Obstacles<'_>, command: &str, at: usize) {
    for command in simple_commands(command).chain(std::iter::once(command)) {
        let is_resolved =
            |failure: &Failure<'_>| resolves(failure, command) || is_variant(failure.command, command);
        while let Some(position) = found.open.iter().position(is_resolved) {
            let mut failure = found.open.remove(position);
            // After other work in between, the resolution is not known.
            if timeline.steps[at].turn > timeline.steps[failure.at].turn + MAX_TURNS {
                continue;
            }
            let Some(draft) = resolved(timeline, ending, &failure, command, at) else {
                found
                    .unexplained
                    .extend(unexplained(timeline, ending, &failure, at));
                continue;
            };
            if found.drafts.iter().any(|known| known.title == draft.title) {
                continue;
            }
            // What comes back in the resolution was right after all, only not complete.
            let idea = |draft: &Draft| Words::of(&format!("{} {}", draft.title, draft.narrative.join(" ")));
            let solution = idea(&draft);
            failure
                .rejected
                .retain(|attempt| !idea(attempt).covered_by(&solution, SAME_IDEA_PERCENT));
            found.drafts.append(&mut failure.rejected);
            found.drafts.push(draft);
        }
    }
}

/// Returns the simple command that failed if that is certain, and the whole command otherwise: then only the whole command can
/// resolve it.
fn failed_command(run: &CommandRun) -> &str {
    let mut parts = simple_commands(&run.command);
    let only = parts.next().filter(|_| parts.next().is_none());
    run.failed_part.as_deref().or(only).unwrap_or(&run.command)
}

/// Reports whether a passing command covers what failed: the same program, for a check also the same or a wider target.
fn resolves(failure: &Failure<'_>, passed: &str) -> bool {
    if is_compound(passed) {
        return failure.command == passed;
    }
    // Which part of a compound command failed is not known; its last part ran at most once all others had passed.
    if is_compound(failure.command) {
        return simple_commands(failure.command)
            .last()
            .is_some_and(|last| command_key(last) == command_key(passed));
    }
    // `git merge main` is ended by any merge.
    let is_git = passed.starts_with("git ") && failure.command.starts_with(passed);
    if command_key(failure.command) != command_key(passed) && !is_git {
        return false;
    }
    let is_check = matches!(failure.purpose, Purpose::Test | Purpose::Build | Purpose::Lint);
    let (failed, passed) = (targets(failure.command), targets(passed));
    !is_check
        || passed.iter().all(|target| failed.contains(target))
        || failed.iter().all(|target| passed.contains(target))
        || passed.contains(&"./...")
}

fn has_change(timeline: &Timeline<'_>, after: usize, before: usize) -> bool {
    timeline.steps[after..before]
        .iter()
        .any(|step| matches!(step.action(), Some(Action::Change(_))))
}

/// Collects the statements after a failure that explain it: the first words are the diagnosis, the last ones the resolution,
/// those between count where they give a cause or state something about a name.
fn reasons_between(timeline: &Timeline<'_>, range: std::ops::Range<usize>) -> Vec<Statement> {
    let mut out: Vec<Statement> = Vec::new();
    let prose: Vec<usize> = range
        .filter(|at| matches!(timeline.steps[*at].action(), Some(Action::Prose(_))))
        .collect();
    for (at, step) in prose.iter().enumerate() {
        let is_end = out.is_empty() || at + 1 == prose.len();
        for point in timeline.message(*step).points() {
            let names = count_names(&point.text);
            let explains = has_cause(&point.text)
                || (is_end && (has_contrast(&point.text) || names > 0))
                || (names > 0 && is_statement(&point.text));
            let is_plan = is_first_person(&point.text) && !reports_deed(&point.text);
            let lower = point.text.to_lowercase();
            let is_plan = is_plan || is_weighing(&point.text);
            let is_expected = EXPECTED.within(&lower);
            if explains && !is_plan && !is_expected && point.text.chars().count() <= MAX_REASONS {
                out.push(Statement {
                    text: ended(point.text.clone()),
                    title: point.title.clone(),
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

/// "The test fails as expected" says nothing about the cause.
static EXPECTED: Phrases = Phrases::new(concat!(
    "as expected|expected to fail|should fail|fails first|reproduced|reproduces|test failures|tests pass|more failures|",
    "failures in",
));

/// "I suppressed the error" explains; "I should handle it" intends.
fn reports_deed(sentence: &str) -> bool {
    let words: Vec<&str> = sentence.split_whitespace().collect();
    words.windows(2).any(|pair| {
        matches!(pair[0].trim_matches('('), "I" | "I've")
            && verb(pair[1]).is_some_and(|(_, form)| form == Form::Past)
    })
}

fn resolved(
    timeline: &Timeline<'_>,
    ending: &Ending<'_>,
    failure: &Failure<'_>,
    command: &str,
    at: usize,
) -> Option<Draft> {
    let range = failure.first + 1..at;
    // The reason is given after the last failure, or before it when the last attempt needed no words.
    let mut reasons = reasons_between(timeline, failure.at + 1..at);
    if reasons.is_empty() {
        reasons = reasons_between(timeline, range);
    }
    if is_taken_back(timeline, failure.at, at)
        && let Some(attempt) = taken_back(timeline, failure, &reasons)
    {
        return Some(attempt);
    }
    let is_variant = is_variant(failure.command, command);
    if is_variant {
        let program = failure.command.split_whitespace().next().unwrap_or_default();
        reasons.retain(|reason| reason.text.contains(program));
    }
    let title = if is_variant {
        variant_title(failure, command)
    } else {
        let causes = || reasons.iter().filter(|reason| has_cause(&reason.text));
        causes()
            .find_map(|reason| title_of(reason.title.as_deref()?))
            .or_else(|| failure_title(failure).filter(|_| causes().next().is_some()))
            // A linter says itself what to change.
            .filter(|_| failure.purpose != Purpose::Lint)
    };
    let mut draft = Draft::new(Source::Obstacle, at, title?);
    // Another program was the remedy, not a change.
    let is_fixed = !is_variant && has_change(timeline, failure.first, at);
    draft.from = if is_fixed { failure.first } else { at };
    draft.kind = Some(if is_fixed {
        ObservationType::Bugfix
    } else {
        ObservationType::Discovery
    });
    draft.error_signature = failure.error.map(|error| error.key.clone());
    draft.evidence = calls(timeline, &[failure.at, at]);
    reasons.into_iter().for_each(|reason| draft.push(reason));
    draft.facts.push(describe(failure));
    if is_fixed {
        draft.facts.extend(remedy(timeline, ending, failure, at));
    }
    if command.contains(' ') && succeeds_by_itself(timeline, at) {
        draft.facts.push(format!("Passes now: {}", code(quote(command))));
    }
    Some(draft)
}

/// Records a failure that changes resolved without a word.
fn unexplained(
    timeline: &Timeline<'_>,
    ending: &Ending<'_>,
    failure: &Failure<'_>,
    at: usize,
) -> Option<Unexplained> {
    let error = failure.error?;
    // A lint that was fixed tells nothing about the change.
    let is_worth_it = failure.purpose != Purpose::Lint && has_change(timeline, failure.first, at);
    is_worth_it.then(|| Unexplained {
        at,
        error_signature: error.key.clone(),
        facts: Some(format!("Before, {}", describe(failure)))
            .filter(|fact| tells_error(fact) && is_before_changes(ending, failure.first))
            .into_iter()
            .collect(),
        evidence: calls(timeline, &[failure.at, at]),
    })
}

/// `--- FAIL: TestLoad`, `[build failed]`: the name of what failed is no error.
fn tells_error(description: &str) -> bool {
    let error = description.split("failed: `").nth(1).unwrap_or_default();
    // `a.go:3:9: undefined: x` is an error of the change itself.
    let is_position = |word: &str| {
        let mut parts = word.trim_end_matches(':').rsplit(':');
        let is_number = |part: Option<&str>| part.is_some_and(|part| part.parse::<u32>().is_ok());
        is_number(parts.next()) && is_number(parts.next())
    };
    !error.is_empty()
        && !error.starts_with("--- FAIL")
        && !error.starts_with("FAIL")
        && !error.split_whitespace().next().is_some_and(is_position)
}

fn calls(timeline: &Timeline<'_>, steps: &[usize]) -> Vec<String> {
    steps
        .iter()
        .filter_map(|step| timeline.steps[*step].entry()?.tool_use_id.clone())
        .collect()
}

/// Commits, pushes and publications are logged without their command.
fn succeeds_by_itself(timeline: &Timeline<'_>, at: usize) -> bool {
    matches!(timeline.steps[at].action(), Some(Action::Run(_)))
}

fn failure_title(failure: &Failure<'_>) -> Option<String> {
    const MAX_COMMAND: usize = 50;
    let whole = quote(failure.command);
    let command = if whole.chars().count() <= MAX_COMMAND {
        code(whole)
    } else {
        code(&command_key(failure.command))
    };
    let message = message_of(&failure.error?.line);
    // A long message is named by its beginning: what stands before a bracket, a colon or a comma.
    let ends = [" (", ": ", "; ", ", "]
        .iter()
        .flat_map(|end| message.match_indices(end).map(|(at, _)| at));
    let mut heads: Vec<&str> = std::iter::once(message)
        .chain(ends.map(|at| &message[..at]))
        .filter(|head| head.split_whitespace().count() >= MIN_MESSAGE_WORDS)
        .collect();
    heads.sort_by_key(|head| std::cmp::Reverse(head.len()));
    heads
        .into_iter()
        .filter_map(|head| fit_title(&format!("{command} failed: {}", code(head))))
        .find(|title| title.ends_with('`'))
}

/// A shorter message does not say what is wrong.
const MIN_MESSAGE_WORDS: usize = 3;

/// "`python3` runs `tests/run.py` here; `python` fails: `SyntaxError: invalid syntax`". A one-line probe shows nothing that lasts.
fn variant_title(failure: &Failure<'_>, passed: &str) -> Option<String> {
    let (failed, arguments) = failure.command.split_once(' ')?;
    let works = passed.split_whitespace().next()?;
    let target = arguments.split_whitespace().find(|word| !word.starts_with('-'))?;
    if arguments.starts_with("-c") || arguments.starts_with("-e") {
        return None;
    }
    let whole = failure.error.map(|error| {
        format!(
            "{} fails on {}: {}; {} works",
            code(failed),
            code(target),
            code(quote(&error.line)),
            code(works)
        )
    });
    let short = format!(
        "{} fails on {}; {} works",
        code(failed),
        code(target),
        code(works)
    );
    whole
        .filter(|title| title.chars().count() <= MAX_TITLE)
        .or(Some(short))
        .filter(|title| title.chars().count() <= MAX_TITLE)
}

/// Returns an error line without the position in front of it: `src/a.rs:3:9: message`.
fn message_of(line: &str) -> &str {
    let Some((place, message)) = line.split_once(": ") else {
        return line;
    };
    let file = place.split(':').next().unwrap_or(place);
    let is_place = place.contains(':') && file.contains('.') && !file.contains(' ');
    if is_place { message } else { line }
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

/// Describes the change that resolved a failure: the last one to the file that the error names, or the last one.
fn remedy(timeline: &Timeline<'_>, ending: &Ending<'_>, failure: &Failure<'_>, at: usize) -> Option<String> {
    let line = failure.error.map_or("", |error| error.line.as_str());
    let changes: Vec<(usize, &str)> = (failure.first + 1..at)
        .filter_map(|step| Some((step, *ending.files(step..step + 1).first()?)))
        .collect();
    let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let (step, file) = changes
        .iter()
        .rev()
        .find(|(_, path)| line.contains(&name(path)))?;
    let intent = timeline.steps[*step]
        .entry()
        .and_then(|entry| imperative(entry.intent.as_deref()?))
        .filter(|intent| opens_with_change(intent));
    Some(match intent {
        Some(intent) if intent.contains(&name(file)) => format!("Fix: {intent}"),
        Some(intent) => format!("Fix in {}: {intent}", code(file)),
        None => format!("Fixed in {}", code(file)),
    })
}

/// Reports whether files were put back to their committed state between two steps.
fn is_taken_back(timeline: &Timeline<'_>, after: usize, before: usize) -> bool {
    timeline.steps[after..before].iter().any(
        |step| matches!(step.action(), Some(Action::Change(change)) if change.kind == ChangeKind::Restored),
    )
}

/// Drafts the memory of an attempt that failed and was taken back.
fn taken_back(timeline: &Timeline<'_>, failure: &Failure<'_>, reasons: &[Statement]) -> Option<Draft> {
    let mut draft = attempt(reasons, failure.at)?;
    draft.error_signature = failure.error.map(|error| error.key.clone());
    draft.evidence = calls(timeline, &[failure.at]);
    draft.facts.push(describe(failure));
    draft.facts.push("Taken back".to_owned());
    Some(draft)
}

/// Drafts the memory of an attempt after which the command still failed with the same error.
fn rejected(timeline: &Timeline<'_>, failure: &Failure<'_>, at: usize) -> Option<Draft> {
    let mut draft = attempt(&reasons_between(timeline, failure.at + 1..at), at)?;
    draft.from = failure.at;
    draft.error_signature = failure.error.map(|error| error.key.clone());
    draft.facts.push(format!("Afterwards {}", describe(failure)));
    Some(draft)
}

/// Drafts an attempt that did not work from the reasons given for it.
fn attempt(reasons: &[Statement], at: usize) -> Option<Draft> {
    let causes: Vec<Statement> = reasons
        .iter()
        .filter(|reason| has_cause(&reason.text))
        .cloned()
        .collect();
    let guess = choose_title(&causes, None)?;
    let guess = guess.strip_prefix("That does not work: ").unwrap_or(&guess);
    let title = fit_title(&format!("Tried, did not work: {guess}")).or_else(|| fit_title(guess))?;
    let mut draft = Draft::new(Source::Obstacle, at, title);
    draft.rejected = true;
    draft.kind = Some(ObservationType::Discovery);
    let title_words = Words::of(&draft.title);
    draft.narrative = reasons
        .iter()
        .map(|reason| reason.text.clone())
        .filter(|reason| !Words::of(reason).covered_by(&title_words, 90))
        .collect();
    Some(draft)
}
