//! Changes as they were made: facts about small edits, and the memory of a turn that changed files without a word about it.

use super::draft::{Draft, POINTERS, Source, ended, is_first_person};
use super::ending::Ending;
use super::kind;
use crate::english::{
    Intent, Phrases, Words, code, count_names, fit_title, has_cause, imperative, intent, is_guess, is_output,
    is_statement, is_weighing, lower_head, opens_with_pronoun, sentences,
};
use crate::episodes::{Span, Timeline};
use crate::{Action, FileChange, Purpose, Replacement, RunOutcome, TurnEnd};

/// A turn with more changes than this is described by words, not by its edits.
const MAX_EDITS: usize = 3;
const MAX_FILES: usize = 4;

/// Describes the edits of a turn, if they are few and small.
pub(super) fn small_edits(timeline: &Timeline<'_>, ending: &Ending<'_>, at: usize) -> Vec<String> {
    let changes = changes(timeline, ending, ending.turn(at));
    if changes.len() > MAX_EDITS {
        return Vec::new();
    }
    changes
        .iter()
        .filter_map(|(_, path, change)| Some(edit_line(path, change.replaced.as_ref()?)))
        .collect()
}

/// Drafts the memory of each turn that changed files and that no other draft describes.
pub(super) fn drafts(
    timeline: &Timeline<'_>,
    spans: &[Span],
    ending: &Ending<'_>,
    others: &[Draft],
) -> Vec<Draft> {
    let mut out = Vec::new();
    for log in timeline.logs {
        let first = timeline.steps.partition_point(|step| step.turn < log.number);
        let end = timeline.steps.partition_point(|step| step.turn <= log.number);
        let is_described =
            |draft: &Draft| draft.from < end && draft.at >= first && draft.source != Source::User;
        if !others.iter().any(is_described) {
            // A turn that was interrupted may not have done what was asked.
            let request = spans
                .iter()
                .find(|span| log.end == TurnEnd::Stopped && (span.first..span.end).contains(&first))
                .and_then(|span| span.request.as_deref());
            let draft = draft(request, &changes(timeline, ending, first..end), others.is_empty());
            let draft = draft.filter(|_| ending.is_short && others.is_empty());
            out.extend(draft.and_then(|mut draft| {
                draft.narrative.extend(reason(timeline, ending, first..end));
                // The names of files alone stand in the hand-over.
                if draft.title.starts_with(FILE_LIST) && draft.narrative.is_empty() && draft.facts.is_empty()
                {
                    return None;
                }
                draft.facts.extend(last_check(timeline, first..end));
                Some(draft)
            }));
        }
    }
    out
}

/// Returns the last reason that the agent gave on the way: a turn without a report has no other words.
fn reason(timeline: &Timeline<'_>, ending: &Ending<'_>, range: std::ops::Range<usize>) -> Option<String> {
    const MAX_CHARS: usize = 420;
    let is_reason = |at: usize, text: &str| {
        has_cause(text)
            && count_names(text) > 0
            && text.chars().count() <= MAX_CHARS
            && is_statement(text)
            && !opens_with_pronoun(text)
            && !is_first_person(text)
            && !is_guess(text)
            && !is_weighing(text)
            && !ending.is_stale(text, at)
    };
    range
        .rev()
        .filter(|at| matches!(timeline.steps[*at].action(), Some(Action::Prose(_))))
        .find_map(|at| {
            let mut points = timeline.message(at).points();
            points.rfind(|point| is_reason(at, &point.text))
        })
        .map(|point| ended(point.text.clone()))
}

fn changes<'a>(
    timeline: &Timeline<'a>,
    ending: &Ending<'a>,
    range: std::ops::Range<usize>,
) -> Vec<(usize, &'a str, &'a FileChange)> {
    range
        .filter_map(|at| match timeline.steps[at].action() {
            Some(Action::Change(change)) => Some((at, *ending.files(at..at + 1).first()?, change)),
            _ => None,
        })
        .collect()
}

/// The opening of the title of a plan that names itself by a noun.
pub(super) const PLAN_TITLE: &str = "Carried out the plan: ";

/// The client's own words for a plan that the user approved.
const PLAN_REQUEST: &str = "Implement the following plan: ";

/// Returns the title of the plan that a request asks to carry out.
pub(super) fn planned(request: Option<&str>) -> Option<String> {
    let plan = request?.strip_prefix(PLAN_REQUEST)?;
    imperative(plan)
        .and_then(|order| fit_title(&order))
        .or_else(|| fit_title(&format!("{PLAN_TITLE}{plan}")))
}

/// Returns the title that a request gives to the change it asked for.
pub(super) fn asked(request: Option<&str>) -> Option<String> {
    /// A request with less content, such as "yes, do it", does not say what was changed.
    const MIN_WEIGHT: u32 = 3;
    let request = request?;
    let order = sentences(request).into_iter().find_map(ordered).or_else(|| {
        let first = sentences(request).into_iter().next()?;
        let is_problem = is_statement(first)
            && count_names(first) > 0
            && !is_output(request)
            && !first.contains(": ")
            && (intent(request) == Intent::Fix || PROBLEMS.within(&first.to_lowercase()));
        is_problem.then(|| format!("Fixed: {}", first.trim_end_matches('.')))
    })?;
    fit_title(&order).filter(|title| Words::of(title).weight() >= MIN_WEIGHT && !is_vague(title))
}

/// Returns the order that a sentence gives, politely or not: "I wonder if we could add a flag?" asks to add a flag.
fn ordered(sentence: &str) -> Option<String> {
    let mut rest = sentence.trim().trim_end_matches(['?', '.', '!', ' ']);
    loop {
        let lower = lower_head(rest);
        let Some(opening) = POLITE_ORDERS.at_start(&lower) else {
            break;
        };
        rest = rest.get(opening.len()..)?.trim_start_matches([',', ' ', '-']);
    }
    imperative(rest.strip_suffix(" please").unwrap_or(rest))
}

static POLITE_ORDERS: Phrases = Phrases::new(concat!(
    "can you|could you|can we|could we|would you|please|i want you to|i'd like you to|i would like you to|i'd like to|",
    "i wonder if we could|i wonder if we should|maybe we could|maybe|should we|also|and|then|ok|okay|so|if so|yes|yeah|",
    "great|alright|hmm|hm|now",
));

/// Words of a review comment that reports a problem.
static PROBLEMS: Phrases = Phrases::new(concat!(
    "silently|fails|fail|failing|doesn't|does not|isn't|is not|aren't|never|outdated|wrong|missing|broken|unused|",
    "duplicate|duplicated|misleading|incorrect|inconsistent|redundant|not included|ignored|lost|overwrites|leaks|",
    "crashes|omits|unconditionally|blindly|without context|no longer|stale",
));

/// Reports whether a sentence tells what is or was wrong, not a rule of the outside world.
pub(super) fn tells_problem(sentence: &str) -> bool {
    let lower = sentence.replace('’', "'").to_lowercase();
    PROBLEMS.within(&lower) || PAST_PROBLEMS.within(&lower)
}

static PAST_PROBLEMS: Phrases = Phrases::new(concat!(
    "was|were|didn't|did not|wasn't|weren't|couldn't|failed|instead of|error|errors|only|always|even when|even if|",
    "even though|without|too early|too late|twice|no way|cannot|can't|raises|crash|crashed|overwritten|reused",
));

/// Reports whether a request does not say what it is about: "commit this", "do the other one as well".
pub(super) fn is_vague(request: &str) -> bool {
    let lower = request.to_lowercase();
    let first = lower.split_whitespace().next().unwrap_or_default();
    VAGUE.contains(first) || POINTERS.within(&lower) || ORDINALS.within(&lower) || first.starts_with('/')
}

/// Entries of a list that the next reader does not have.
static ORDINALS: Phrases = Phrases::new(
    "the first|the second|the third|the last|the other|the others|the rest|the first two|the last two|option|ones|all",
);

/// Reports whether a request is about the form of the work, not about its matter: "commit this, push".
pub(super) fn is_chore(request: &str) -> bool {
    const MAX_WORDS: usize = 8;
    let lower = request.to_lowercase();
    let first = lower.split_whitespace().next().unwrap_or_default();
    let is_short = lower.split_whitespace().count() <= MAX_WORDS;
    first.starts_with('/') || (is_short && matches!(first, "commit" | "push" | "continue" | "go" | "run"))
}

/// Orders with these verbs do not say what changed.
static VAGUE: Phrases = Phrases::new(
    "follow|clear|implement|review|read|explain|show|tell|figure|find|investigate|research|debug|proceed|start|fetch|want|would|could|can|do|make|go|try|continue|use|look|check|run|commit|push|pull|rebase|merge|address|get|see|take|keep|proceed",
);

/// Describes the last check of a turn.
fn last_check(timeline: &Timeline<'_>, range: std::ops::Range<usize>) -> Option<String> {
    let mut steps = timeline.steps[range].iter().rev();
    let run = steps.find_map(|step| match step.action() {
        Some(Action::Run(run)) if matches!(run.purpose, Purpose::Test | Purpose::Build | Purpose::Lint) => {
            Some(run)
        }
        _ => None,
    })?;
    match run.outcome {
        RunOutcome::Passed => Some(format!("{} passed afterwards", code(&run.command))),
        RunOutcome::Failed => Some(format!("{} failed afterwards", code(&run.command))),
        RunOutcome::Unknown => None,
    }
}

fn draft(request: Option<&str>, changes: &[(usize, &str, &FileChange)], is_alone: bool) -> Option<Draft> {
    let (first, last) = (changes.first()?, changes.last()?);
    let edits: Vec<String> = changes
        .iter()
        .filter_map(|(_, path, change)| Some(edit_line(path, change.replaced.as_ref()?)))
        .take(MAX_EDITS)
        .collect();
    let mut files: Vec<&str> = Vec::new();
    for (_, path, _) in changes {
        if !files.contains(path) {
            files.push(path);
        }
    }
    let only_edit = edits.first().filter(|_| changes.len() == 1);
    let asked = asked(request);
    let aim = asked.as_deref().map_or(Intent::Other, intent);
    // A list of files says nothing that the hand-over does not say, unless it is all there is.
    let title = asked
        .or_else(|| only_edit.and_then(|edit| fit_title(edit)))
        .or_else(|| fit_title(&list(&files)).filter(|_| is_alone))?;
    let mut draft = Draft::new(Source::Change, last.0, title);
    draft.from = first.0;
    draft.kind = Some(kind::of_intent(aim));
    draft.facts = edits.into_iter().filter(|edit| *edit != draft.title).collect();
    draft.facts.extend(
        changes
            .iter()
            .flat_map(|(_, _, change)| &change.values)
            .take(MAX_EDITS)
            .map(|value| code(value)),
    );
    Some(draft)
}

/// The opening of a title that only lists files.
const FILE_LIST: &str = "Changed ";

fn list(files: &[&str]) -> String {
    let named: Vec<String> = files.iter().take(MAX_FILES).map(|file| code(file)).collect();
    let rest = files.len().saturating_sub(MAX_FILES);
    let more = if rest > 0 {
        format!(" and {rest} more")
    } else {
        String::new()
    };
    format!("{FILE_LIST}{}{more}", named.join(", "))
}

fn edit_line(path: &str, edit: &Replacement) -> String {
    format!(
        "In {}, {} became {}",
        code(path),
        code(&edit.before),
        code(&edit.after)
    )
}
