//! Open work, each item with evidence that it was left open.

use super::checks::is_check;
use super::done::opening;
use super::requests::{is_request, says_something};
use crate::english::{
    Deferral, Phrases, Words, count_names, deferral, imperative, is_narration, is_question, names_subject,
    outside_code, sentence_case, sentences, strip_openers,
};
use crate::episodes::{Step, StepKind, Timeline};
use crate::memories::{Ending, Failure, Obstacles, describe, is_plan_file};
use crate::prose::{Message, Section, SectionRole, announces_open_work, offered, plain};
use crate::{Action, PublicationAction, PublicationKind, RunOutcome, TaskState, TurnEnd};

const MAX_ITEMS: usize = 9;
/// A longer statement is not one item of open work.
const MAX_ITEM: usize = 240;
/// A later text with this share of an item's words is about the same work.
const SAME_WORK_PERCENT: u32 = 70;

/// Returns the open work of a session.
pub(crate) fn open(timeline: &Timeline<'_>, ending: &Ending<'_>, obstacles: &Obstacles<'_>) -> Vec<String> {
    let mut out = Vec::new();
    let unanswered = unanswered(timeline);
    let plan = unimplemented_plan(timeline, ending);
    out.extend(interrupted(timeline, unanswered.is_some() || plan.is_some()));
    out.extend(tasks(timeline, ending));
    out.extend(plan);
    out.extend(failing(timeline, ending, obstacles));
    out.extend(deferred_by_user(timeline));
    out.extend(stated(timeline, ending));
    out.extend(reported_failures(timeline));
    out.extend(publications(timeline, ending));
    out.extend(unanswered);
    without_repetition(out)
}

fn without_repetition(items: Vec<String>) -> Vec<String> {
    let mut known: Vec<Words> = Vec::new();
    let mut out: Vec<String> = Vec::new();
    for item in items {
        let words = Words::of(&item);
        if out.len() < MAX_ITEMS
            && !known
                .iter()
                .any(|other| words.covered_by(other, SAME_WORK_PERCENT))
        {
            known.push(words);
            out.push(item);
        }
    }
    out
}

/// The work that was under way when the session stopped. Without a word about it, the unanswered request says more.
fn interrupted(timeline: &Timeline<'_>, has_request: bool) -> Option<String> {
    let last_entry = timeline.steps.iter().rev().find_map(|step| step.entry())?;
    let doing = || {
        let intent = last_entry.intent.as_deref()?;
        imperative(intent).or_else(|| Some(plain(intent.trim_end_matches([':', '.']))))
    };
    match timeline.end()? {
        TurnEnd::Background => Some(match doing() {
            Some(doing) => format!("Still running in the background: {doing}"),
            None => "Background work still running".to_owned(),
        }),
        TurnEnd::Interrupted => match doing() {
            Some(doing) => Some(format!("Interrupted: {doing}")),
            None => (!has_request).then(|| "Interrupted by the user".to_owned()),
        },
        TurnEnd::Stopped | TurnEnd::Open => None,
    }
}

/// The entries of the task list that are not done.
fn tasks(timeline: &Timeline<'_>, ending: &Ending<'_>) -> Vec<String> {
    const MAX_LISTED: usize = 7;
    // "Run the tests" is often left unchecked after the tests have passed.
    let last_check = timeline.steps.iter().rev().find_map(|step| match step.action() {
        Some(Action::Run(run)) if is_check(run.purpose) => Some(run.outcome),
        _ => None,
    });
    let has_passed = last_check == Some(RunOutcome::Passed);
    let mut list: Vec<(Option<&str>, &str, TaskState)> = Vec::new();
    for step in &timeline.steps {
        let Some(Action::Task { id, text, state }) = step.action() else {
            continue;
        };
        let known = list.iter_mut().find(|(known, other, _)| {
            (id.is_some() && *known == id.as_deref()) || (id.is_none() && other == text)
        });
        match known {
            Some(known) => {
                known.2 = *state;
                if !text.is_empty() {
                    known.1 = text;
                }
            }
            None => list.push((id.as_deref(), text, *state)),
        }
    }
    // Several tasks are often done in one commit, and only some of them checked off.
    let commits: Vec<Words> = ending
        .commits
        .iter()
        .map(|commit| Words::of(&format!("{} {}", commit.subject, commit.body.unwrap_or_default())))
        .collect();
    let is_committed = |text: &str| {
        let words = Words::of(text);
        commits
            .iter()
            .any(|commit| words.covered_by(commit, COMMITTED_PERCENT))
    };
    let is_open = |(_, text, state): &&(Option<&str>, &str, TaskState)| {
        let is_left = matches!(state, TaskState::Pending | TaskState::InProgress) && !text.is_empty();
        is_left && !(has_passed && CHECK_TASKS.starts(&text.to_lowercase())) && !is_committed(text)
    };
    let open: Vec<&str> = list.iter().filter(is_open).map(|(_, text, _)| *text).collect();
    match open.as_slice() {
        [first, .., last] if open.len() > MAX_LISTED => vec![format!(
            "{} tasks not done, from “{first}” to “{last}”",
            open.len()
        )],
        [] => Vec::new(),
        _ => vec![format!("Tasks not done: {}", open.join("; "))],
    }
}

/// A commit message with this share of a task's words completed the task.
const COMMITTED_PERCENT: u32 = 85;

static CHECK_TASKS: Phrases = Phrases::new(concat!(
    "run fmt|run lint|run test|run tests|run the tests|run all tests|run the test suite|",
    "run full test suite|run the full test suite|run verification|run format",
));

/// A plan after which nothing was changed.
fn unimplemented_plan(timeline: &Timeline<'_>, ending: &Ending<'_>) -> Option<String> {
    let mut plan: Option<(usize, String)> = None;
    for (at, step) in timeline.steps.iter().enumerate() {
        match step.action() {
            Some(Action::Plan { text, .. }) => plan = Some((at, plan_title(text))),
            Some(Action::Change(change)) if is_plan_file(&change.path) => {
                plan = Some((at, change.path.clone()));
            }
            _ => {}
        }
    }
    let (at, title) = plan?;
    let is_implemented = ending
        .files(at + 1..timeline.steps.len())
        .iter()
        .any(|file| !is_plan_file(file));
    (!is_implemented).then(|| format!("Plan written, nothing implemented yet: {title}"))
}

fn plan_title(text: &str) -> String {
    let first = text
        .lines()
        .map(|line| line.trim_start_matches('#').trim())
        .find(|line| !line.is_empty())
        .unwrap_or_default();
    plain(first.strip_prefix("Plan: ").unwrap_or(first))
}

/// Checks that fail at the end.
fn failing(timeline: &Timeline<'_>, ending: &Ending<'_>, obstacles: &Obstacles<'_>) -> Vec<String> {
    // A check of the same purpose that passed on the same code or later says more than a probe that failed.
    let passes = |step: &Step<'_>, failure: &Failure<'_>| {
        matches!(step.action(), Some(Action::Run(run))
            if run.purpose == failure.purpose && run.outcome == RunOutcome::Passed)
    };
    let has_passed_since = |failure: &Failure<'_>| {
        let unchanged = (0..failure.at)
            .rev()
            .take_while(|at| ending.files(*at..failure.at).is_empty());
        (failure.at..timeline.steps.len())
            .chain(unchanged)
            .any(|at| passes(&timeline.steps[at], failure))
    };
    obstacles
        .open
        .iter()
        .filter(|failure| is_check(failure.purpose) && !ending.is_trial(failure.command))
        .filter(|failure| !has_passed_since(failure))
        .map(describe)
        .collect()
}

/// Work that the user put off: "never mind, we'll look at it later".
fn deferred_by_user(timeline: &Timeline<'_>) -> Vec<String> {
    const MAX_WORDS: usize = 30;
    let mut out = Vec::new();
    let mut previous: Option<String> = None;
    for step in &timeline.steps {
        let Some(words) = step.user_words() else { continue };
        let line = crate::english::condense(words);
        let is_short = words.split_whitespace().count() <= MAX_WORDS;
        if is_short
            // "Could we … ? Fine to do it later" asks for it all the same.
            && !words.contains('?')
            && POSTPONED.within(&words.replace('’', "'").to_lowercase())
            && let (Some(previous), Some(line)) = (&previous, &line)
        {
            out.push(format!("Deferred by the user (“{line}”): {previous}"));
        }
        previous = line.or(previous);
    }
    out
}

static POSTPONED: Phrases = Phrases::new(concat!(
    "look at it later|look into it later|look at that later|do it later|do that later|do this later|",
    "fix it later|come back to|for later|not now|never mind|nevermind|another time|follow-up pr|",
    "separate pr|leave that for|leave it for|park",
));

/// Statements of open work in reports that no later step completed.
fn stated(timeline: &Timeline<'_>, ending: &Ending<'_>) -> Vec<String> {
    let last_report = timeline.last_report();
    let completing = std::cell::OnceCell::new();
    let is_completed_later = |item: &str, at: usize| {
        let words = Words::of(item);
        completing
            .get_or_init(|| completing_words(timeline))
            .iter()
            .any(|(later, text)| *later > at && words.covered_by(text, SAME_WORK_PERCENT))
            || is_taken_up(timeline, item, at)
    };
    let mut out: Vec<String> = Vec::new();
    // The latest statements are the most likely to hold.
    for (at, step) in timeline.steps.iter().enumerate().rev() {
        let is_last = last_report.is_none_or(|last| last <= at);
        let counts = match step.action() {
            Some(Action::Report(_)) => true,
            // A compaction summary lists what was open in the middle of the work: it counts while no work followed.
            Some(Action::Compaction(_)) => !timeline.steps[at..].iter().any(Step::is_tool_call),
            _ => false,
        };
        if !counts {
            continue;
        }
        for (item, deferral) in open_statements(timeline.message(at)) {
            let is_fixed = item.strip_prefix(REVIEW_FINDING).is_some_and(|finding| {
                let matter = Words::of(matter(finding));
                let later = ending.commits.iter().filter(|commit| commit.at > at);
                later
                    .map(|commit| Words::of(commit.subject))
                    .any(|commit| matter.covered_by(&commit, FIXED_PERCENT))
            });
            let is_fixed = is_fixed || has_order_to_fix(timeline, at);
            let counts = !is_fixed && (deferral == Deferral::PutOff || is_last);
            if counts && !is_completed_later(&item, at) {
                out.push(item);
            }
        }
    }
    out
}

/// Reports whether the user asked for all findings of a report to be fixed, and files changed then.
fn has_order_to_fix(timeline: &Timeline<'_>, at: usize) -> bool {
    let later = &timeline.steps[at + 1..];
    let orders = |step: &Step<'_>| {
        step.user_words()
            .is_some_and(|words| FIX_ALL.within(&words.to_lowercase()))
    };
    later.iter().position(orders).is_some_and(|order| {
        later[order..]
            .iter()
            .any(|step| matches!(step.action(), Some(Action::Change(_))))
    })
}

static FIX_ALL: Phrases = Phrases::new(concat!(
    "fix all|fix them|fix these|fix those|fix both|fix everything|address all|address them|address these|do all|",
    "implement all|all of them|all of those|resolve all",
));

/// Returns the statements of a message that leave work open: entries of open sections, and sentences that defer something.
pub(crate) fn open_statements(message: &Message) -> Vec<(String, Deferral)> {
    let mut out = Vec::new();
    for section in &message.sections {
        if matches!(
            section.role,
            SectionRole::Request | SectionRole::Check | SectionRole::Source
        ) {
            continue;
        }
        if let Some(finding) = section.heading.as_deref().filter(|heading| has_severity(heading)) {
            out.extend(review_finding(finding, section).map(|item| (item, Deferral::PutOff)));
            continue;
        }
        let is_open_section = section.role == SectionRole::Open;
        let mut announced = false;
        for block in &section.blocks {
            let is_open =
                is_open_section || block.role == Some(SectionRole::Open) || (announced && block.is_item);
            if !block.is_item {
                announced = block.text.ends_with(':') && announces_open_work(&block.text);
            }
            if is_open && block.is_item {
                let children = block.children.join("; ");
                let text = if children.is_empty() {
                    block.text.clone()
                } else {
                    format!("{} {children}", block.text)
                };
                out.extend(item(&text).map(|item| (item, Deferral::Next)));
                continue;
            }
            for sentence in sentences(&block.text) {
                let deferral = if is_open {
                    Some(Deferral::Next)
                } else if block.is_row {
                    None
                } else {
                    // A quotation does not put anything off.
                    deferral(&outside_quotes(sentence))
                };
                if let Some(deferral) = deferral
                    && !sentence.ends_with(':')
                    && (is_open
                        || count_names(sentence) > 0
                        || (deferral == Deferral::PutOff && names_subject(sentence)))
                    && !OFFERS.within(&sentence.to_lowercase())
                {
                    out.extend(item(sentence).map(|item| (item, deferral)));
                }
            }
        }
    }
    out
}

/// A later commit with this share of a finding's words in its subject fixed it.
const FIXED_PERCENT: u32 = 60;

/// "Thread 4 — Double parsing in `load` (medium): it reads twice" is about double parsing.
fn matter(finding: &str) -> &str {
    let head = finding.split(" (").next().unwrap_or(finding);
    head.rsplit(" — ").next().unwrap_or(head)
}

fn outside_quotes(text: &str) -> String {
    let text = text.replace(['“', '”'], "\"");
    text.split('"').step_by(2).collect::<Vec<_>>().join(" ")
}

const REVIEW_FINDING: &str = "Review finding: ";

/// Returns a finding of a review with its first sentence.
fn review_finding(heading: &str, section: &Section) -> Option<String> {
    let finding = item(heading)?;
    let first = section
        .blocks
        .first()
        .and_then(|block| sentences(&block.text).into_iter().next())
        .filter(|first| !first.ends_with(':'));
    let whole = first.map(|first| format!("{REVIEW_FINDING}{finding}: {first}"));
    Some(
        whole
            .filter(|whole| whole.chars().count() <= MAX_ITEM)
            .unwrap_or_else(|| format!("{REVIEW_FINDING}{finding}")),
    )
}

/// Reports whether a heading is a finding of a review: "Double parsing in `load` (medium)".
fn has_severity(heading: &str) -> bool {
    let lower = heading.to_lowercase();
    let grade = lower
        .strip_suffix(')')
        .and_then(|text| text.rsplit_once('('))
        .map(|(_, grade)| grade);
    let label = lower.split_once(':').map(|(label, _)| label);
    grade
        .into_iter()
        .chain(label)
        .any(|grade| SEVERITIES.contains(grade.trim_end_matches(" priority").trim_end_matches(" severity")))
}

static SEVERITIES: Phrases =
    Phrases::new("critical|blocker|blocking|major|high|medium|minor|low|nit|trivial");

/// Returns an item of open work as one statement.
fn item(text: &str) -> Option<String> {
    const MIN_WORDS: usize = 2;
    let text = plain(text);
    let text = strip_openers(without_open_label(&text));
    let text = sentence_case(text.trim_end_matches(['.', ' ']));
    let lower = text.to_lowercase();
    // "Backfill — added a migration" is done as well.
    let details = lower.split_once(" — ").or_else(|| lower.split_once(": "));
    let is_done = COMPLETED_STARTS.starts(&lower)
        || details.is_some_and(|(_, details)| COMPLETED_STARTS.starts(details))
        || NOTHING_OPEN.within(&lower);
    let is_item = text.split_whitespace().count() >= MIN_WORDS
        && text.chars().count() <= MAX_ITEM
        && !is_question(&text)
        && !is_narration(&text);
    (is_item && !is_done).then_some(text)
}

/// "Next steps: measure the cache" is about the cache.
fn without_open_label(text: &str) -> &str {
    text.split_once(": ")
        .filter(|(label, _)| SectionRole::of(label) == SectionRole::Open)
        .map_or(text, |(_, rest)| rest)
}

/// An offer leaves the work to the user's choice.
static OFFERS: Phrases = Phrases::new("if you want|if you'd like|if you like|happy to");

static COMPLETED_STARTS: Phrases = Phrases::new(concat!(
    "fixed|added|updated|removed|implemented|resolved|done|completed|created|committed|pushed|changed|",
    "replaced|verified",
));
static NOTHING_OPEN: Phrases = Phrases::new(concat!(
    "nothing remaining|no remaining|nothing left|none remaining|no further|nothing else|no action needed|",
    "no changes needed|not needed|no longer needed|passed|tests pass|acceptable|no change needed|not a problem|could be considered|could be seen|could be argued",
));

/// Reports whether a later turn comes back to a name of the item and changes files in that turn or the next.
fn is_taken_up(timeline: &Timeline<'_>, item: &str, at: usize) -> bool {
    const SAME_MATTER_PERCENT: u32 = 50;
    let names: Vec<&str> = item
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|name| name.len() > 3)
        .collect();
    let matter = Words::of(&outside_code(item.trim_start_matches(REVIEW_FINDING)));
    let turn = timeline.steps[at].turn;
    let later = &timeline.steps[timeline.steps.partition_point(|step| step.turn <= turn)..];
    let is_named = |text: &str| names.iter().any(|name| text.contains(name));
    let mentions = |step: &Step<'_>| match (step.kind, step.action()) {
        (StepKind::Prompt(text), _) => is_named(text),
        (_, Some(Action::Prose(text) | Action::Report(text))) => {
            is_named(text) && matter.covered_by(&Words::of(text), SAME_MATTER_PERCENT)
        }
        _ => false,
    };
    later.iter().filter(|step| mentions(step)).any(|mention| {
        later.iter().any(|step| {
            (mention.turn..=mention.turn + 1).contains(&step.turn)
                && matches!(step.action(), Some(Action::Change(_)))
        })
    })
}

/// Collects the words of each step that can complete open work: a commit, a report, a completed task, a filed issue, a prompt.
fn completing_words(timeline: &Timeline<'_>) -> Vec<(usize, Words)> {
    timeline
        .steps
        .iter()
        .enumerate()
        .filter_map(|(at, step)| {
            let text = match (step.kind, step.action()) {
                (_, Some(Action::Commit(commit))) => Words::of(&format!(
                    "{} {}",
                    commit.subject,
                    commit.body.as_deref().unwrap_or_default()
                )),
                (_, Some(Action::Report(text))) => Words::of(text),
                (
                    _,
                    Some(Action::Task {
                        text,
                        state: TaskState::Completed,
                        ..
                    }),
                ) => Words::of(text),
                (_, Some(Action::Publication(publication))) if publication.kind == PublicationKind::Issue => {
                    Words::of(&format!(
                        "{} {}",
                        publication.title.as_deref().unwrap_or_default(),
                        publication.body.as_deref().unwrap_or_default()
                    ))
                }
                (StepKind::Prompt(text), _) => Words::of(text),
                _ => return None,
            };
            Some((at, text))
        })
        .collect()
}

/// Issues that were filed and left, pull requests that are not merged.
fn publications(timeline: &Timeline<'_>, ending: &Ending<'_>) -> Vec<String> {
    let may_be_merged = |at: usize| {
        let later = timeline.steps[at..].iter().filter_map(Step::user_words);
        later.map(str::to_lowercase).any(|words| MERGED.within(&words))
    };
    ending
        .publications
        .iter()
        .filter_map(|publication| {
            let reference = publication.reference?;
            let title = publication.title.unwrap_or_default();
            let is_left = !matches!(
                publication.action,
                PublicationAction::Closed | PublicationAction::Merged
            );
            match publication.kind {
                PublicationKind::Issue if publication.is_created && is_left => {
                    let line = format!("Issue {reference} filed: {title}");
                    let reason = publication.body.and_then(opening);
                    Some(match reason {
                        Some(reason) => format!("{line}: {reason}"),
                        None => line,
                    })
                }
                PublicationKind::PullRequest if is_left && !may_be_merged(publication.first) => {
                    Some(format!("Pull request {reference} is open, not merged"))
                }
                _ => None,
            }
        })
        .collect()
}

/// A user who speaks of a merge knows more about a pull request than the log.
static MERGED: Phrases = Phrases::new("merged|it's in main|landed");

/// Failures that the last report admits: they may not show in the result of a command.
fn reported_failures(timeline: &Timeline<'_>) -> Vec<String> {
    const MAX_FAILURES: usize = 2;
    let Some(report) = timeline.last_report() else {
        return Vec::new();
    };
    let admits = |text: &str| {
        let lower = text.to_lowercase();
        FAILING.within(&lower) && !RESOLVED.within(&lower)
    };
    timeline
        .message(report)
        .points()
        .filter(|point| point.text.chars().count() <= MAX_ITEM && admits(&point.text))
        .map(|point| point.text.trim_end_matches('.').to_owned())
        .take(MAX_FAILURES)
        .collect()
}

static FAILING: Phrases =
    Phrases::new("failing|still fail|still fails|still failing|tests fail|test fails|not working");
static RESOLVED: Phrases = Phrases::new(concat!(
    "was|were|fixed|resolved|now|no longer|pre-existing|before|because|passes|pass|instead of|if|when|would|",
    "without failing|not failing|stop failing",
));

/// The question at the end of the last report, or a request without any answer.
fn unanswered(timeline: &Timeline<'_>) -> Option<String> {
    let last_prompt = timeline
        .steps
        .iter()
        .rposition(|step| matches!(step.kind, StepKind::Prompt(_)));
    let last_report = timeline.last_report();
    if let Some(at) = last_prompt.filter(|at| last_report.is_none_or(|report| report < *at))
        && let StepKind::Prompt(text) = timeline.steps[at].kind
        && let Some(request) = crate::english::condense(text).filter(|line| is_request(line))
    {
        let has_plan = timeline.steps[at..]
            .iter()
            .any(|step| matches!(step.action(), Some(Action::Plan { .. })));
        // "What is left?" is no work.
        let is_idle = is_question(&request) && !says_something(&request);
        return (!has_plan && !is_idle).then(|| format!("Last request without a final report: {request}"));
    }
    let Some(Action::Report(report)) = last_report.and_then(|at| timeline.steps[at].action()) else {
        return None;
    };
    let question = match offered(report) {
        Some(choice) if choice.options.iter().any(|option| option.key.is_alphabetic()) => {
            let options: Vec<String> = choice
                .options
                .iter()
                .map(|option| format!("{}. {}", option.key, option.name))
                .collect();
            format!("{} {}", choice.question.unwrap_or_default(), options.join("; "))
        }
        _ => last_question(report)?,
    };
    (question.chars().count() <= MAX_QUESTION).then(|| format!("Asked, not answered: {question}"))
}

/// The longest question with its options, in characters.
const MAX_QUESTION: usize = 420;
const MAX_HEADING: usize = 120;

/// Returns the question at the end of a report, with the options that it lists.
fn last_question(report: &str) -> Option<String> {
    let is_option = |line: &str| {
        let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
        line.starts_with("- ")
            || line.starts_with("* ")
            || (digits.len() < line.len() && (digits.starts_with(". ") || digits.starts_with(") ")))
    };
    let lines: Vec<&str> = report
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let options = lines.iter().rev().take_while(|line| is_option(line)).count();
    let at = lines.len().checked_sub(options + 1)?;
    let lead = plain(sentences(lines[at]).last()?);
    let asks = lead.trim_end_matches('*').ends_with('?')
        || (options > 0 && lead.ends_with(':') && OFFERED.within(&lead.to_lowercase()));
    if !asks {
        return None;
    }
    let mut options: Vec<String> = lines[at + 1..].iter().map(|line| plain(line)).collect();
    // "Should I implement option 1?" needs the heading of that option.
    for number in ["1", "2", "3", "4", "A", "B", "C"] {
        let name = format!("option {}", number.to_lowercase());
        if lead.to_lowercase().contains(&name) {
            let heading = lines[..at]
                .iter()
                .map(|line| plain(line.trim_start_matches('#').trim()))
                .find(|line| line.to_lowercase().starts_with(&name) && line.chars().count() <= MAX_HEADING);
            options.extend(heading.map(|heading| format!("({heading})")));
        }
    }
    Some(format!("{lead} {}", options.join(" ")).trim_end().to_owned())
}

static OFFERED: Phrases = Phrases::new("would you|want me|do you|shall i|should i|prefer|you like me");
