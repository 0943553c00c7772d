//! Writes the memories of a session: drafts from every source, checked against the end of the session, without
//! repetition, within a budget.
//!
//! A draft says what its source says; nothing is inferred. Authority decides between two drafts that say the same.

mod change;
mod command;
mod commit;
mod draft;
mod ending;
mod kind;
mod obstacle;
mod report;
mod select;
mod title;
mod user;

use std::collections::HashMap;

use backstory_model::{NewObservation, ObservationType, SessionObservation};

pub(crate) use command::{command_key, simple_commands, targets};
pub(crate) use commit::subject_line;
pub use draft::Source;
pub(crate) use draft::{Draft, ended, is_first_person};
use ending::mentioned;
pub(crate) use ending::{Ending, FinalCommit, FinalPublication};
pub(crate) use obstacle::{Failure, Obstacles, describe, find_obstacles};
pub(crate) use report::{BEFORE, is_praise};
pub(crate) use title::{NAMED_BY_FILES, asked_question};

use crate::Action;
use crate::english::{
    Intent, Phrases, Words, condense, count_names, cut_at_word, intent, is_output, lower_head,
    opens_with_change, sentences,
};
use crate::episodes::{Span, StepKind, Timeline};
use crate::prose::{Message, SectionRole, Topic, offered};

/// Drafts and selects the memories of a session.
pub(crate) fn write(
    timeline: &Timeline<'_>,
    spans: &[Span],
    ending: &Ending<'_>,
    obstacles: &Obstacles<'_>,
    skipped: Option<Source>,
) -> Vec<SessionObservation> {
    let mut drafts = drafts(timeline, spans, ending, obstacles);
    drafts.retain(|draft| {
        let is_revised = draft.source == Source::User && ending.is_stale(&draft.title, draft.at);
        let is_gone = is_overtaken(draft, ending) || is_refuted(timeline, draft, ending) || is_revised;
        Some(draft.source) != skipped && !is_gone
    });
    let keyed = with_keys(drafts, spans);
    let mut chosen = select::choose(keyed);
    chosen.sort_by_key(|(_, draft)| (draft.at, draft.source));
    add_edits(timeline, ending, &mut chosen);
    chosen
        .into_iter()
        .map(|(key, draft)| observation(timeline, spans, ending, key, draft))
        .collect()
}

/// Reports whether a finding was overtaken: a later step changed a file that it is about, so it describes a state that is
/// gone, or it is a review or a choice, whose outcome the work after it shows.
fn is_overtaken(draft: &Draft, ending: &Ending<'_>) -> bool {
    if draft.source != Source::Report || draft.kind.is_some() || ending.changes_in_turn(draft.at) {
        return false;
    }
    let text = draft.text();
    let end = ending.turn(draft.at).end;
    // The next turn acted on the answer, and its own memory tells the result.
    if end < ending.end() && ending.changes_in_turn(end) && ending.is_continued(&text, end) {
        return true;
    }
    let later = ending.files(end..ending.end());
    !mentioned(&later, &text).is_empty() || is_review(&text) || ending.is_acted_on(&text, draft.at)
}

/// Reports whether the user's next message says that a reported change does not work: what the turns after it tell is true.
fn is_refuted(timeline: &Timeline<'_>, draft: &Draft, ending: &Ending<'_>) -> bool {
    if draft.source != Source::Report || draft.kind.is_some() || !ending.changes_in_turn(draft.at) {
        return false;
    }
    let next = timeline.steps[ending.turn(draft.at).end..]
        .iter()
        .find_map(|step| match step.kind {
            StepKind::Prompt(text) => Some(text),
            StepKind::Entry(_) => None,
        });
    next.is_some_and(|text| {
        STILL_BROKEN.within(&lower_head(text).replace('’', "'"))
            || condense(text).is_some_and(|line| is_output(&line) && FAILURES.within(&line.to_lowercase()))
    })
}

static STILL_BROKEN: Phrases = Phrases::new(concat!(
    "still not working|still doesn't|still does not|still fails|still failing|still broken|still happens|still see|",
    "still seeing|still get|still getting|still the same|still shows|still have|same error|same issue|same problem|",
    "same result|doesn't work|does not work|didn't work|did not work|not working|didn't fix|didn't help|is failing now",
));

static FAILURES: Phrases = Phrases::new("error|errors|failed|fail|fatal|panic|exception|traceback");

/// Reports whether a text grades findings or offers options.
fn is_review(text: &str) -> bool {
    const MIN_MARKS: usize = 2;
    const MARKS: [&str; 10] = [
        "Severity",
        "severity",
        "HIGH",
        "MEDIUM",
        "Recommendation",
        "Option ",
        "Verdict",
        "nit:",
        "actionable",
        "looks good",
    ];
    MARKS.iter().map(|mark| text.matches(mark).count()).sum::<usize>() >= MIN_MARKS
}

fn drafts(
    timeline: &Timeline<'_>,
    spans: &[Span],
    ending: &Ending<'_>,
    obstacles: &Obstacles<'_>,
) -> Vec<Draft> {
    let mut reports = Vec::new();
    let mut plans = Vec::new();
    let mut others = user::drafts(timeline);
    for (at, step) in timeline.steps.iter().enumerate() {
        match (step.kind, step.action()) {
            // A plan that was written down is open work.
            (_, Some(Action::Report(_))) if only_plans(ending, at) => {}
            (_, Some(Action::Report(text))) => {
                let request = spans[episode_of(spans, at) as usize - 1].request.as_deref();
                // Options are open until the user chooses, and then the choice is a memory.
                let before_options = offered(text).map(|choice| Message::read(&text[..choice.start]));
                let message = before_options.as_ref().unwrap_or(timeline.message(at));
                reports.extend(report::drafts(message, at, request, ending));
            }
            (StepKind::Prompt(text), _) if is_document(text) => plans.push((at, Message::read(text))),
            (_, Some(Action::Plan { .. })) => plans.push((at, timeline.message(at).clone())),
            _ => {}
        }
    }
    for failure in &obstacles.unexplained {
        let turn = timeline.steps[failure.at].turn;
        let explains = |draft: &&mut Draft| {
            timeline.steps[draft.at].turn == turn
                && draft.at > failure.at
                && draft.error_signature.is_none()
                && draft.kind.is_none()
        };
        if let Some(report) = reports.iter_mut().find(explains) {
            failure.explain(report);
        }
    }
    for draft in obstacles
        .drafts
        .iter()
        .filter(|draft| !is_vindicated(ending, draft))
        .filter(|draft| draft.rejected || obstacle::is_lasting(timeline, ending, draft))
    {
        match reports
            .iter_mut()
            .find(|report| explains(timeline, report, draft))
        {
            Some(report) => obstacle::join(ending, draft, report),
            None => others.push(draft.clone()),
        }
    }
    for report in &mut reports {
        report::add_reason(timeline, ending, report);
    }
    others.extend(commit::drafts(timeline, ending, &mut reports));
    others.extend(reports);
    for (at, mut plan) in plans {
        carry_out(ending, &mut others, at, &mut plan);
    }
    let silent = change::drafts(timeline, spans, ending, &others);
    others.extend(silent);
    others
}

/// Reports whether the turn of a step changed plans only.
fn only_plans(ending: &Ending<'_>, at: usize) -> bool {
    let files = ending.files(ending.turn(at));
    !files.is_empty() && files.iter().all(|file| is_plan_file(file))
}

/// Reports whether a file holds a plan.
pub(crate) fn is_plan_file(path: &str) -> bool {
    let lower = path.to_lowercase();
    lower.ends_with(".md")
        && (lower.contains("/plans/") || lower.rsplit('/').next().is_some_and(|name| name.contains("plan")))
}

/// Reports whether a report tells what resolved a failure of its turn.
fn explains(timeline: &Timeline<'_>, report: &Draft, obstacle: &Draft) -> bool {
    const TOLD_PERCENT: u32 = 35;
    timeline.steps[report.at].turn == timeline.steps[obstacle.at].turn
        && report.at > obstacle.at
        && report.error_signature.is_none()
        && obstacle.kind == Some(ObservationType::Bugfix)
        && Words::of(&obstacle.narrative.join(" ")).covered_by(&Words::of(&report.text()), TOLD_PERCENT)
}

/// Adds small edits to the first draft of their turn that describes changes.
fn add_edits(timeline: &Timeline<'_>, ending: &Ending<'_>, drafts: &mut [(String, Draft)]) {
    let mut turn = None;
    for (_, draft) in drafts {
        let own = timeline.steps[draft.at].turn;
        if turn != Some(own) && draft.source == Source::Report && report::describes_changes(draft) {
            turn = Some(own);
            draft
                .facts
                .extend(change::small_edits(timeline, ending, draft.at));
        }
    }
}

/// Moves the problem that a plan states to the memory of the change that solved it, if the plan was carried out in its turn: a
/// solved problem is not a fact any more, but the reason for the change.
fn carry_out(ending: &Ending<'_>, drafts: &mut [Draft], at: usize, plan: &mut Message) {
    let turn = ending.turn(at);
    let host = drafts
        .iter_mut()
        .filter(|draft| matches!(draft.source, Source::Commit | Source::Report) && turn.contains(&draft.at))
        .filter(|draft| report::describes_changes(draft))
        .max_by_key(|draft| draft.at);
    if let Some(host) = host.filter(|_| ending.changes_in_turn(at)) {
        let is_problem = |topic: &mut Topic| {
            let tells_cause = |heading: &String| heading.to_lowercase().contains("cause");
            topic.role == SectionRole::Problem
                || (topic.role == SectionRole::Cause && topic.heading.as_ref().is_none_or(tells_cause))
        };
        let problem = Message {
            topics: plan.topics.extract_if(.., is_problem).collect(),
            ..Message::default()
        };
        report::add_problem(host, report::statements(Source::Commit, &problem, at, ending));
    }
}

/// Reports whether an attempt that failed at first is described by a later commit.
fn is_vindicated(ending: &Ending<'_>, draft: &Draft) -> bool {
    const SAME_IDEA_PERCENT: u32 = 40;
    let idea = Words::of(&draft.title);
    let later = ending.commits.iter().filter(|commit| commit.at > draft.at);
    draft.rejected
        && later
            .map(|commit| Words::of(&format!("{} {}", commit.subject, commit.body.unwrap_or_default())))
            .any(|commit| idea.covered_by(&commit, SAME_IDEA_PERCENT))
}

/// Reports whether a prompt carries a document, such as a plan, rather than a message.
fn is_document(prompt: &str) -> bool {
    const MIN_CHARS: usize = 600;
    prompt.len() >= MIN_CHARS && prompt.lines().filter(|line| line.starts_with('#')).count() >= 2
}

/// Gives each draft its key: episode and subject. A second draft with the same subject gets a number.
fn with_keys(drafts: Vec<Draft>, spans: &[Span]) -> Vec<(String, Draft)> {
    let mut seen: HashMap<String, u32> = HashMap::new();
    drafts
        .into_iter()
        .map(|draft| {
            let base = format!("{}/{}", episode_of(spans, draft.at), slug(&draft.subject));
            let count = seen.entry(base.clone()).or_default();
            *count += 1;
            let key = if *count == 1 {
                base
            } else {
                format!("{base}-{count}")
            };
            (key, draft)
        })
        .collect()
}

fn slug(subject: &str) -> String {
    const MAX_WORDS: usize = 8;
    let words: Vec<String> = subject
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().count() > 2)
        .take(MAX_WORDS)
        .map(str::to_lowercase)
        .collect();
    words.join("-")
}

fn episode_of(spans: &[Span], at: usize) -> u32 {
    let position = spans.partition_point(|span| span.end <= at);
    u32::try_from(position.min(spans.len().saturating_sub(1)) + 1).unwrap_or(u32::MAX)
}

fn observation(
    timeline: &Timeline<'_>,
    spans: &[Span],
    ending: &Ending<'_>,
    key: String,
    draft: Draft,
) -> SessionObservation {
    const MAX_FILES: usize = 12;
    let episode = episode_of(spans, draft.at);
    let span = &spans[episode as usize - 1];
    let text = draft.text();
    let range = match draft.source {
        Source::Report => turn_start(timeline, draft.at)..draft.at + 1,
        _ => draft.from.min(span.first)..(draft.at + 1).max(span.end),
    };
    let is_change = !matches!(draft.kind, Some(ObservationType::Decision));
    let changed = if is_change {
        ending.files(range.clone())
    } else {
        Vec::new()
    };
    let has_changes = !changed.is_empty();
    let mut files_modified = if draft.source == Source::Commit {
        // A commit is about all its files, sources before tests.
        let mut files = ending.files(draft.from..draft.at + 1);
        files.sort_by_key(|file| kind::is_test_or_text(file));
        files
    } else {
        mentioned(&changed, &text)
    };
    if files_modified.is_empty() {
        files_modified = match draft.source {
            Source::Commit | Source::Obstacle | Source::Change => ending.files(draft.from..draft.at + 1),
            _ => Vec::new(),
        };
    }
    if draft.source == Source::Report {
        // A report is about the files that it names, even if an earlier turn changed them, and about all files of its turn.
        let named = mentioned(&ending.files(0..draft.at + 1), &text);
        for file in named.into_iter().chain(changed) {
            if !files_modified.contains(&file) {
                files_modified.push(file);
            }
        }
    }
    files_modified.truncate(MAX_FILES);
    let mut evidence = draft.evidence.clone();
    if evidence.is_empty() {
        evidence = changing_calls(timeline, ending, range.clone(), &files_modified);
    }
    let read: Vec<&str> = timeline.steps[range]
        .iter()
        .filter_map(|step| match step.action() {
            Some(Action::Lookup { path }) => Some(path.as_str()),
            _ => None,
        })
        .collect();
    let mut files_read = mentioned(&read, &text);
    files_read.retain(|file| !files_modified.contains(file));
    files_read.truncate(MAX_FILES);
    // A commit answers the request under which the work began.
    let origin = &spans[episode_of(spans, draft.from.min(draft.at)) as usize - 1];
    let request = origin.request.as_deref().map_or(Intent::Other, intent);
    let kind = draft
        .kind
        .unwrap_or_else(|| kind_of(&draft, request, &files_modified, has_changes));
    let step = timeline.steps[draft.at];
    let owned = |files: Vec<&str>| files.into_iter().map(str::to_owned).collect();
    SessionObservation {
        key,
        turn: step.turn,
        episode,
        rejected: draft.rejected,
        error_signature: draft.error_signature,
        at: step.at,
        observation: NewObservation {
            kind,
            concepts: kind::concepts(kind, &text),
            title: draft.title,
            subtitle: circumstances(span, &text),
            narrative: (!draft.narrative.is_empty()).then(|| draft.narrative.join(" ")),
            facts: draft.facts,
            files_read: owned(files_read),
            files_modified: owned(files_modified),
            evidence,
            supersedes: Vec::new(),
        },
    }
}

/// Returns the tool calls that changed these files.
fn changing_calls(
    timeline: &Timeline<'_>,
    ending: &Ending<'_>,
    range: std::ops::Range<usize>,
    files: &[&str],
) -> Vec<String> {
    const MAX_CALLS: usize = 8;
    range
        .filter(|at| ending.files(*at..at + 1).iter().any(|file| files.contains(file)))
        .filter_map(|at| timeline.steps[at].entry()?.tool_use_id.clone())
        .take(MAX_CALLS)
        .collect()
}

/// Judges the type of a memory whose source does not decide it.
fn kind_of(draft: &Draft, request: Intent, files_modified: &[&str], has_changes: bool) -> ObservationType {
    if !has_changes || draft.source == Source::Obstacle {
        return ObservationType::Discovery;
    }
    let is_supporting =
        !files_modified.is_empty() && files_modified.iter().all(|file| kind::is_test_or_text(file));
    if !is_supporting && request == Intent::Fix && kind::tells_fix(&draft.text()) {
        return ObservationType::Bugfix;
    }
    let title = draft::without_code_label(&draft.title);
    match kind::of_change(None, title, files_modified) {
        ObservationType::Change if is_supporting || draft.source == Source::Commit => ObservationType::Change,
        ObservationType::Change if kind::tells_fix(&draft.text()) => ObservationType::Bugfix,
        // "Removed the cache" adds nothing, whatever was asked for.
        ObservationType::Change if request == Intent::Add && opens_with_change(title) => {
            ObservationType::Change
        }
        ObservationType::Change => kind::of_intent(request),
        own => own,
    }
}

/// Returns the request that an observation answers, in the words of the user: it often names what a report takes for known.
fn circumstances(span: &Span, text: &str) -> Option<String> {
    const SAID_PERCENT: u32 = 75;
    /// A shorter request, such as "yes, do that", says nothing about the circumstances.
    const MIN_WORDS: usize = 4;
    let request = span.request.as_deref()?;
    let words = request
        .split_whitespace()
        .filter(|word| word.contains(char::is_alphabetic));
    if words.count() < MIN_WORDS || change::is_chore(request) || is_approval(request) {
        return None;
    }
    let is_said = Words::of(request).covered_by(&Words::of(text), SAID_PERCENT);
    (!is_said).then(|| quoted(request))
}

/// "Want me to make that change? yes" and "yes, do it please" agree to something that the next reader does not have.
fn is_approval(request: &str) -> bool {
    const MIN_WEIGHT: u32 = 6;
    let lower = request.to_lowercase();
    let agrees = AGREEMENTS.starts(&lower) || lower.starts_with("want me to ");
    agrees && (count_names(request) == 0 || Words::of(request).weight() < MIN_WEIGHT)
}

static AGREEMENTS: Phrases =
    Phrases::new("yes|yeah|yep|ok|okay|sure|go ahead|sounds good|perfect|great|please do|do it");

/// Returns the part of a request that a memory quotes: whole sentences, as many as fit.
fn quoted(request: &str) -> String {
    const MAX_CHARS: usize = 320;
    let mut out = String::new();
    for sentence in sentences(request) {
        if out.chars().count() + sentence.chars().count() >= MAX_CHARS {
            break;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(sentence);
    }
    if out.is_empty() {
        cut_at_word(request, MAX_CHARS)
    } else {
        out
    }
}

fn turn_start(timeline: &Timeline<'_>, at: usize) -> usize {
    let turn = timeline.steps[at].turn;
    timeline.steps.partition_point(|step| step.turn < turn)
}
