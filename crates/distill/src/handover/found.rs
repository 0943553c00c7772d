//! Findings: causes that the reports state, and the answers of a session without changes.

use super::done::{
    FOUND, Outcome, SAME_PERCENT, SHORT_LINE, all_words, described, describes_change, is_settled, results,
};
use crate::Action;
use crate::english::{
    Phrases, Words, count_names, has_cause, is_change_verb, lower_head, opens_with_pronoun, outside_code,
    verb,
};
use crate::episodes::{Step, Timeline};
use crate::memories::{Ending, asked_question};
use crate::prose::{Message, SectionRole, offered};
use backstory_model::{ObservationType, SessionObservation};

/// Returns the last findings that still held at the end and that completed work does not tell.
pub(super) fn remembered_findings(observations: &[SessionObservation], done: &[Outcome]) -> Vec<Outcome> {
    const MAX_FINDINGS: usize = 3;
    let known = all_words(done);
    let is_finding = |one: &&SessionObservation| {
        let title = &one.observation.title;
        one.observation.kind == ObservationType::Discovery
            && !one.rejected
            && one.error_signature.is_none()
            && !title.starts_with("Issue ")
            && !Words::of(title).covered_by(&known, SAME_PERCENT)
    };
    let mut out: Vec<Outcome> = observations
        .iter()
        .rev()
        .filter(is_finding)
        .take(MAX_FINDINGS)
        .map(|one| {
            let mut found = described(&one.observation);
            found.line.insert_str(0, FOUND);
            found
        })
        .collect();
    out.reverse();
    out
}

/// Returns the causes that the reports state, latest first. A session with changes gives its reasons with them: there only
/// what is called the root cause counts.
pub(super) fn causes(timeline: &Timeline<'_>, ending: &Ending<'_>, has_changes: bool) -> Vec<String> {
    let mut out = Vec::new();
    for at in (0..timeline.steps.len()).rev() {
        if !timeline.is_finished_report(at) {
            continue;
        }
        let points = || {
            timeline
                .message(at)
                .topics
                .iter()
                .flat_map(|topic| topic.points.iter().map(|point| (topic.role, point.text.as_str())))
        };
        let is_stated = |text: &str| {
            is_settled(text)
                && count_names(text) > 0
                && !opens_with_pronoun(text)
                && text.chars().count() <= MAX_CAUSE
                && !ending.is_stale(text, at)
                && (!has_changes || ROOT_CAUSES.within(&text.to_lowercase()))
        };
        // A labeled cause sums up the sentences around it.
        let labeled = points().find(|(_, text)| CAUSE_LABELS.starts(&lower_head(text)) && is_stated(text));
        let cause =
            labeled.or_else(|| points().find(|(role, text)| is_cause(*role, text) && is_stated(text)));
        out.extend(cause.map(|(_, text)| text.to_owned()));
    }
    out
}

fn is_cause(role: SectionRole, text: &str) -> bool {
    let lower = text.to_lowercase();
    // "Fixes two bugs due to …" tells a change.
    let first = text.split_whitespace().next().unwrap_or_default();
    if verb(first).is_some_and(|(base, _)| is_change_verb(base)) {
        return false;
    }
    STATED_CAUSES.within(&lower)
        || (REASONS.within(&lower) && PROBLEMS.within(&lower))
        || (role == SectionRole::Cause && has_cause(text))
}

/// The longest statement of a cause, in characters: often a chain of events.
const MAX_CAUSE: usize = 380;

/// "The build was broken because …" states a cause; "we skip it because …" does not.
static REASONS: Phrases = Phrases::new("because|due to");
static PROBLEMS: Phrases = Phrases::new(concat!(
    "fails|failed|failing|broken|breaks|broke|slow|slower|crash|crashes|crashed|hangs|hung|wrong|error|errors|bug|",
    "problem|issue|corrupt|corrupted|missing|lost|leak|leaks|flaky",
));

static CAUSE_LABELS: Phrases =
    Phrases::new("the bug:|bug:|cause:|root cause:|the problem:|problem:|the issue:|issue:|why:");

static ROOT_CAUSES: Phrases =
    Phrases::new("root cause|the cause is|the cause was|was caused by|is caused by");

static STATED_CAUSES: Phrases = Phrases::new(concat!(
    "root cause|the cause|the culprit|the problem is|the problem was|the issue is|the issue was|the bug is|",
    "the bug was|caused by|is because|was because|introduced by|introduced in|happens because|fails because|",
    "failed because",
));

/// Returns the answers of the last reports of a session without changes: each as far as no later one says it again.
pub(super) fn answers(timeline: &Timeline<'_>, ending: &Ending<'_>) -> Vec<Outcome> {
    const MAX_ANSWERS: usize = 5;
    /// A report with fewer content words says nothing.
    const MIN_WEIGHT: u32 = 6;
    let mut out: Vec<Outcome> = Vec::new();
    for at in (0..timeline.steps.len()).rev() {
        if out.len() == MAX_ANSWERS {
            break;
        }
        let Some(Action::Report(text)) = timeline.steps[at].action() else {
            continue;
        };
        if !timeline.is_finished_report(at) {
            continue;
        }
        // Options are open work or decisions.
        let before_options = offered(text).map(|choice| Message::read(&text[..choice.start]));
        let told = results(before_options.as_ref().unwrap_or(timeline.message(at)));
        let mut told: Vec<String> = told
            .into_iter()
            .filter(|text| {
                let is_prose = outside_code(text).len() * 2 >= text.len();
                is_prose
                    && is_settled(text)
                    && !ending.is_stale(text, at)
                    && !ending.is_said_elsewhere(text, at)
            })
            .collect();
        // A labeled cause sums up the sentences around it.
        let cause = told
            .iter()
            .position(|text| CAUSE_LABELS.starts(&lower_head(text)));
        if told.is_empty() {
            continue;
        }
        let first = told.remove(cause.unwrap_or(0));
        let asked = timeline.steps[..at]
            .iter()
            .rev()
            .take_while(|step| step.turn == timeline.steps[at].turn)
            .find_map(Step::user_words)
            .and_then(asked_question);
        let found = Outcome {
            line: match asked {
                Some(question) => format!("{question} {first}"),
                None if describes_change(&first) => first,
                None => format!("{FOUND}{first}"),
            },
            details: told,
        };
        if Words::of(&found.text(SHORT_LINE)).weight() >= MIN_WEIGHT {
            out.push(found);
        }
    }
    out.reverse();
    out
}
