//! Completed work: commits, pull requests, and what the reports say about work without a commit.

use crate::english::{
    Deferral, Form, Phrases, Words, code, count_names, deferral, fit_title, has_cause, imperative,
    is_change_verb, is_guess, names_subject, opens_with_change, opens_with_pronoun, sentences, verb,
};
use crate::episodes::Timeline;
use crate::memories::{
    BEFORE, Ending, FinalCommit, FinalPublication, NAMED_BY_FILES, ended, is_first_person, is_praise,
    subject_line,
};
use crate::prose::{Message, SectionRole, plain};
use crate::{PublicationAction, PublicationKind};
use backstory_model::{NewObservation, ObservationType, SessionObservation};

/// A line with this share of another line's words says the same.
pub(super) const SAME_PERCENT: u32 = 60;

/// More commits than this are counted, not listed.
const MAX_COMMITS: usize = 8;

/// One piece of completed work, and what was said about it.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    pub(super) line: String,
    pub(super) details: Vec<String>,
}

impl Outcome {
    /// Returns the line with as many details as fit into a length and say something new.
    pub(super) fn text(&self, max_chars: usize) -> String {
        const RESTATED_PERCENT: u32 = 65;
        let mut line = self.line.trim_end_matches('.').to_owned();
        let mut known = Words::of(&line);
        let mut is_first = true;
        for detail in &self.details {
            let words = Words::of(detail);
            // The sentence that the line was taken from says it whole.
            let said = line.strip_prefix(FOUND).unwrap_or(&line);
            if is_first && detail.starts_with(said) && detail.chars().count() <= max_chars {
                let start = line.len() - said.len();
                line.replace_range(start.., detail.trim_end_matches(['.', ';', ':']));
                known = words;
                continue;
            }
            if words.covered_by(&known, RESTATED_PERCENT) {
                continue;
            }
            if line.chars().count() + detail.chars().count() > max_chars {
                break;
            }
            line.push_str(if is_first { ": " } else { ". " });
            line.push_str(detail.trim_end_matches(['.', ';', ':']));
            known.extend(&words);
            is_first = false;
        }
        line
    }

    fn words(&self) -> Words {
        Words::of(&self.text(SHORT_LINE))
    }
}

impl From<String> for Outcome {
    fn from(line: String) -> Self {
        Self {
            line,
            details: Vec::new(),
        }
    }
}

/// The opening of a line about a finding.
pub(super) const FOUND: &str = "Found: ";

/// The length of a line by which outcomes are compared, in characters.
pub(super) const SHORT_LINE: usize = 400;

/// Returns the commits, pull requests and closed issues, oldest first.
pub(super) fn committed(
    timeline: &Timeline<'_>,
    ending: &Ending<'_>,
    observations: &[SessionObservation],
) -> Vec<Outcome> {
    let commits = &ending.commits;
    let hidden = commits.len().saturating_sub(MAX_COMMITS);
    let mut out = Vec::new();
    if hidden > 0 {
        out.push(format!("{hidden} earlier commits").into());
    }
    let mut shown: Vec<Outcome> = commits[hidden..]
        .iter()
        .map(|commit| with_message(commit, observations))
        .collect();
    add_reports(timeline, ending, &commits[hidden..], &mut shown);
    out.append(&mut shown);
    out.extend(
        ending
            .publications
            .iter()
            .filter_map(publication_line)
            .map(Outcome::from),
    );
    out
}

/// Describes a commit in one line.
pub(crate) fn commit_line(commit: &FinalCommit<'_>) -> String {
    let subject = plain(subject_line(commit.headline()).trim_end_matches('.'));
    let hash = commit
        .hash
        .map(|hash| format!("{} ", code(hash)))
        .unwrap_or_default();
    let pushed = if commit.is_pushed { " (pushed)" } else { "" };
    format!("{hash}{subject}{pushed}")
}

/// Adds the message to the line of a commit: the subject alone rarely gives the reason.
fn with_message(commit: &FinalCommit<'_>, observations: &[SessionObservation]) -> Outcome {
    let mut details = results(&Message::read(commit.body.unwrap_or_default()));
    let subject = subject_line(&plain(commit.headline()));
    let title = fit_title(&subject).unwrap_or(subject);
    let is_its_memory = |one: &&SessionObservation| one.observation.title == title;
    if let Some(memory) = observations.iter().find(is_its_memory) {
        details.extend(described(&memory.observation).details);
    }
    Outcome {
        line: commit_line(commit),
        details,
    }
}

/// Adds what the report of a turn says to the commit of that turn that it is about: a subject alone does not tell how.
fn add_reports(
    timeline: &Timeline<'_>,
    ending: &Ending<'_>,
    commits: &[FinalCommit<'_>],
    outcomes: &mut [Outcome],
) {
    for at in (0..timeline.steps.len()).filter(|at| timeline.is_finished_report(*at)) {
        let turn = ending.turn(at);
        let told: Vec<String> = results(timeline.message(at))
            .into_iter()
            .filter(|text| !ending.is_stale(text, at))
            .collect();
        let words = Words::of(&told.join(" "));
        let about = (0..commits.len())
            .filter(|nth| turn.contains(&commits[*nth].at))
            .max_by_key(|nth| (outcomes[*nth].words().shared(&words), *nth));
        if let Some(nth) = about {
            outcomes[nth].details.extend(told);
        }
    }
}

/// Returns the opening of a text for other people: its first sentence, or the first entries of its list.
pub(super) fn opening(body: &str) -> Option<String> {
    const MAX_OPENING: usize = 220;
    let message = Message::read(body);
    let blocks = || {
        message
            .sections
            .iter()
            .filter(|section| is_result(section.role))
            .flat_map(|section| &section.blocks)
    };
    let first = blocks().next()?;
    if !first.is_item {
        let sentence = sentences(&first.text).into_iter().next()?.trim_end_matches('.');
        if !sentence.ends_with(':') {
            let fits = |text: &&str| text.chars().count() <= MAX_OPENING;
            let head = sentence.split_once(": ").map(|(head, _)| head);
            return Some(sentence)
                .filter(fits)
                .or(head.filter(fits))
                .map(str::to_owned);
        }
    }
    let mut out = String::new();
    for entry in blocks().filter(|block| block.is_item) {
        let entry = entry.text.trim_end_matches(['.', ';', ':']);
        if out.chars().count() + entry.chars().count() > MAX_OPENING {
            break;
        }
        if !out.is_empty() {
            out.push_str("; ");
        }
        out.push_str(entry);
    }
    (!out.is_empty()).then_some(out)
}

fn publication_line(publication: &FinalPublication<'_>) -> Option<String> {
    let reference = publication.reference?;
    let title = publication.title.unwrap_or_default();
    let verb = match publication.action {
        PublicationAction::Created => "opened",
        PublicationAction::Updated => "updated",
        PublicationAction::Closed => "closed",
        PublicationAction::Merged => "merged",
    };
    match publication.kind {
        PublicationKind::PullRequest => Some(
            format!("Pull request {reference} {verb}: {title}")
                .trim_end_matches([':', ' '])
                .to_owned(),
        ),
        // An issue that was filed here and left is open work.
        PublicationKind::Issue
            if publication.action == PublicationAction::Closed || !publication.is_created =>
        {
            Some(
                format!("Issue {reference} {verb}: {title}")
                    .trim_end_matches([':', ' '])
                    .to_owned(),
            )
        }
        _ => None,
    }
}

/// Returns the outcome of each turn that changed files after the last commit, oldest first: the first one says what the
/// session was about, the latest ones where it stands.
pub(super) fn uncommitted(
    timeline: &Timeline<'_>,
    ending: &Ending<'_>,
    observations: &[SessionObservation],
    committed: &[Outcome],
) -> Vec<Outcome> {
    const MAX_OUTCOMES: usize = 6;
    let start = ending.commits.last().map_or(0, |commit| commit.at + 1);
    let mut known: Vec<Words> = committed.iter().map(Outcome::words).collect();
    let mut out = Vec::new();
    // The latest statement about a matter holds.
    for log in timeline.logs.iter().rev() {
        let first = timeline.steps.partition_point(|step| step.turn < log.number);
        let end = timeline.steps.partition_point(|step| step.turn <= log.number);
        if end <= start || ending.files(first.max(start)..end).is_empty() {
            continue;
        }
        let report = (first.max(start)..end)
            .rev()
            .find(|at| timeline.is_finished_report(*at));
        let mut stated = remembered_changes(observations, log.number, |title| !title.starts_with(FILE_LIST));
        if stated.is_empty() {
            let told = report.map_or_else(Vec::new, |at| {
                outcomes(timeline.message(at), |text| ending.is_stale(text, at))
            });
            stated = told.into_iter().map(Outcome::from).collect();
        }
        let is_silent = report.is_none_or(|at| timeline.message(at).points().next().is_none());
        if stated.is_empty() && is_silent {
            stated.extend(announced_change(timeline, ending, first.max(start)..end).map(Outcome::from));
        }
        if stated.is_empty() {
            stated = remembered_changes(observations, log.number, |_| true);
        }
        for outcome in stated.into_iter().rev() {
            let words = outcome.words();
            if !known.iter().any(|known| words.covered_by(known, SAME_PERCENT)) {
                known.push(words);
                out.push(outcome);
            }
        }
    }
    out.reverse();
    if out.len() > MAX_OUTCOMES {
        out.drain(1..=out.len() - MAX_OUTCOMES);
    }
    out
}

/// Returns the changes that the memories of a turn describe.
fn remembered_changes(
    observations: &[SessionObservation],
    turn: u32,
    counts: impl Fn(&str) -> bool,
) -> Vec<Outcome> {
    let is_change = |one: &&SessionObservation| {
        let kind = one.observation.kind;
        let is_obstacle = one.observation.facts.iter().any(|fact| fact.contains("` failed"))
            && !one
                .observation
                .facts
                .iter()
                .any(|fact| fact.starts_with("Before, "));
        one.turn == turn
            && !(is_obstacle && one.error_signature.is_some())
            && !matches!(kind, ObservationType::Discovery | ObservationType::Decision)
            && counts(&one.observation.title)
    };
    observations
        .iter()
        .filter(is_change)
        .map(|one| described(&one.observation))
        .collect()
}

/// Returns the words of all outcomes.
pub(super) fn all_words(done: &[Outcome]) -> Words {
    let mut words = Words::default();
    for outcome in done {
        words.extend(&outcome.words());
    }
    words
}

/// Describes a change by the title and the text of its memory.
pub(super) fn described(observation: &NewObservation) -> Outcome {
    let narrative = observation
        .narrative
        .as_deref()
        .map(sentences)
        .unwrap_or_default();
    let narrative = narrative.into_iter().map(str::to_owned);
    // The reason for a change is told by its memory; the hand-over tells the state.
    let facts = observation.facts.iter().filter(|fact| {
        !fact.starts_with(BEFORE)
            && !fact.starts_with("Before, ")
            && !fact.starts_with("In `")
            && !fact.ends_with(" passed afterwards")
            && !fact.starts_with("Commit `")
            && !fact.starts_with("Pull request #")
            && !fact.starts_with("Committed")
    });
    let facts = facts.cloned();
    let details = if observation.title.starts_with(NAMED_BY_FILES) {
        // The facts are the changes, the rest is about them.
        facts.chain(narrative).collect()
    } else {
        narrative.chain(facts).collect()
    };
    Outcome {
        line: observation.title.clone(),
        details,
    }
}

/// The opening of a memory that only lists the changed files.
const FILE_LIST: &str = "Changed `";

/// Returns the change of a turn that was announced in most words, for a turn without any other words about its changes.
fn announced_change(
    timeline: &Timeline<'_>,
    ending: &Ending<'_>,
    steps: std::ops::Range<usize>,
) -> Option<String> {
    steps
        .filter(|at| !ending.files(*at..at + 1).is_empty())
        .filter_map(|at| imperative(timeline.steps[at].entry()?.intent.as_deref()?))
        .filter(|order| opens_with_change(order) && count_names(order) > 0 && has_subject(order))
        .max_by_key(|order| Words::of(order).weight())
}

/// Returns what a report says about completed changes: the headings that name changes, each with its first detail, or the
/// first statement about a change.
fn outcomes(report: &Message, is_stale: impl Fn(&str) -> bool) -> Vec<String> {
    const MAX_HEADINGS: usize = 3;
    let mut headings = Vec::new();
    let mut lead = None;
    for topic in report.topics.iter().filter(|topic| is_result(topic.role)) {
        let mut details = topic
            .points
            .iter()
            .filter(|point| is_result(point.role))
            .map(|point| without_label(&point.text))
            .filter(|text| is_settled(text) && !is_stale(text));
        let is_change = |heading: &&str| reports_change(heading) && count_names(heading) > 0;
        if let Some(heading) = topic.heading.as_deref().filter(is_change) {
            let whole = details.next().map(|first| format!("{heading}: {first}"));
            let whole = whole.filter(|whole| whole.chars().count() <= MAX_STATEMENT);
            headings.push(whole.unwrap_or_else(|| heading.to_owned()));
        } else if lead.is_none() && headings.is_empty() {
            lead = details
                .filter(|text| reports_change(text) && names_subject(text) && has_subject(text))
                .find_map(shortened);
        }
    }
    headings.truncate(MAX_HEADINGS);
    lead.into_iter().chain(headings).collect()
}

/// Reports whether a statement tells a completed change, not an order or an announcement: "Added x", "x now does y", "x has
/// been moved", "Files renamed: x".
pub(super) fn reports_change(statement: &str) -> bool {
    const MAX_SUBJECT_WORDS: usize = 5;
    let lower = statement.to_lowercase();
    if ANNOUNCED.within(&lower) {
        return false;
    }
    let is_past = |word: &str| {
        verb(word.trim_matches(|c: char| !c.is_alphanumeric()))
            .is_some_and(|(base, form)| form == Form::Past && is_change_verb(base))
    };
    let mut words = statement.split_whitespace();
    words.next().is_some_and(is_past)
        || lower.contains(" now ")
        || ((lower.contains(" has been ") || lower.contains(" have been ")) && words.clone().any(is_past))
        || words
            .take(MAX_SUBJECT_WORDS)
            .any(|word| word.ends_with(':') && is_past(word))
}

/// Announcements of later work and of mere lists.
static ANNOUNCED: Phrases = Phrases::new(concat!(
    "will now|will|would|can now be|should now|now when|now if|",
    "files changed|files modified|files updated|changes made",
));

/// "It now rounds" and "Documented this limit" need the sentence before them; "Both `a` and `b` now round" does not.
fn has_subject(statement: &str) -> bool {
    let second = statement.split_whitespace().nth(1).unwrap_or_default();
    if matches!(second, "this" | "that" | "these" | "those" | "it" | "them") {
        return false;
    }
    !opens_with_pronoun(statement)
        || (statement.starts_with("Both ")
            && (second.starts_with('`') || second.starts_with(char::is_uppercase)))
}

/// "The page now explains" says nothing without its list.
fn ends_with_verb(text: &str) -> bool {
    let last = text.split_whitespace().last().unwrap_or_default();
    last.ends_with('s') && verb(last).is_some()
}

/// Fits a statement into a line: whole, or without the list that it introduces.
fn shortened(statement: &str) -> Option<String> {
    const MIN_WORDS: usize = 5;
    let fits = |text: &&str| text.chars().count() <= MAX_STATEMENT && !text.contains("following");
    let head = || {
        statement
            .split_once(": ")
            .or_else(|| statement.split_once(" with the following"))
            .map(|(head, _)| head)
            .map(|head| head.split(" - ").next().unwrap_or(head))
            .filter(|head| head.contains(['`', '"']) && !ends_with_verb(head))
    };
    Some(statement)
        .filter(fits)
        .or_else(|| {
            head()
                .filter(fits)
                .filter(|head| head.split_whitespace().count() >= MIN_WORDS || count_names(head) > 0)
        })
        .map(str::to_owned)
}

/// The longest statement of a hand-over, in characters.
const MAX_STATEMENT: usize = 240;

/// "Now: shows the reason" states the new behavior by itself.
fn without_label(text: &str) -> &str {
    ["Now: ", "After: ", "Fix: ", "Result: ", "Summary: "]
        .iter()
        .find_map(|label| text.strip_prefix(label))
        .unwrap_or(text)
}

/// Reports whether a statement tells neither a guess nor the state before a change.
pub(super) fn is_settled(statement: &str) -> bool {
    let lower = statement.to_lowercase();
    !EARLIER.starts(&lower) && !is_guess(statement) && !UNSURE.within(&lower) && !is_first_person(statement)
}

static EARLIER: Phrases = Phrases::new("previously|before|old|was|earlier|current behavior|currently");
/// Words of an impression or a condition, not of a result.
static UNSURE: Phrases = Phrases::new("might|seems|could be|would");

pub(super) fn describes_change(statement: &str) -> bool {
    opens_with_change(statement) || statement.contains(" now ")
}

/// Reports whether a section of a report is about results.
const fn is_result(role: SectionRole) -> bool {
    !matches!(
        role,
        SectionRole::Open
            | SectionRole::Check
            | SectionRole::Source
            | SectionRole::Request
            | SectionRole::Choice
            | SectionRole::Praise
    )
}

/// Returns all that a report says about results, in order.
pub(super) fn results(report: &Message) -> Vec<String> {
    const MIN_WORDS: usize = 3;
    let points = report.points().filter(|point| {
        is_result(point.role)
            && !is_praise(&point.text)
            && (has_cause(&point.text) || !is_first_person(&point.text))
            && point.text.split_whitespace().count() >= MIN_WORDS
            && deferral(&point.text) != Some(Deferral::PutOff)
    });
    points.map(|point| ended(point.text.clone())).collect()
}
