//! Statements from text written for a reader, grouped by subject: reports, summaries, plans, commit bodies, prose.

use backstory_model::ObservationType;

use super::draft::{CHORES, Draft, Source, Statement, choose_title, ended, is_first_person};
use super::ending::Ending;
use crate::english::{
    Form, Phrases, Words, count_names, fit_title, has_cause, has_contrast, is_change_verb, is_statement,
    names_subject, opens_with_pronoun, sentence_case, verb,
};
use crate::prose::{Message, Point, SectionRole, Topic};

/// The text of one draft, in characters: about 220 tokens.
const MAX_DRAFT: usize = 1_400;
/// A longer statement is too long to be one fact.
const MAX_STATEMENT: usize = 420;
/// A statement with fewer words says nothing on its own.
const MIN_WORDS: usize = 4;

/// A finding in prose needs room for a subject and what was found about it.
const MIN_FINDING_WORDS: usize = 6;

/// Statements about one subject.
pub(super) struct Group {
    heading: Option<String>,
    statements: Vec<Statement>,
}

/// Drafts memories from a message: one per subject, never across headings with a subject of their own.
pub(super) fn drafts(source: Source, message: &Message, at: usize, ending: &Ending<'_>) -> Vec<Draft> {
    let mut out = Vec::new();
    for mut group in groups(source, message, at, ending) {
        // A decision with its reason is a memory of its own.
        let decisions = group
            .statements
            .extract_if(.., |statement| is_decision(&statement.text));
        out.extend(decisions.filter_map(|statement| decision(source, at, statement)));
        out.extend(pack(source, at, group, ending));
    }
    if out.is_empty() && ending.is_short && source == Source::Report && ending.changes_in_turn(at) {
        out.extend(plain_outcome(message, at, ending));
    }
    out
}

/// Returns the first statement of a report about changes that names nothing: "Cache misses are logged at level debug".
fn plain_outcome(message: &Message, at: usize, ending: &Ending<'_>) -> Option<Draft> {
    const MIN_WORDS: usize = 5;
    let is_outcome = |point: &&Point| {
        is_memorable(point.role, Source::Report)
            && point.text.split_whitespace().count() >= MIN_WORDS
            && is_statement(&point.text)
            && !is_first_person(&point.text)
            && !opens_with_pronoun(&point.text)
            && !UNRESOLVED.within(&point.text.to_lowercase())
            && !ending.is_stale(&point.text, at)
    };
    let point = message.points().find(is_outcome)?;
    Some(Draft::new(Source::Report, at, fit_title(&point.text)?))
}

/// Reports whether a statement says what was decided and why.
fn is_decision(text: &str) -> bool {
    DECISIONS.starts(&text.to_lowercase()) && has_cause(text)
}

static DECISIONS: Phrases = Phrases::new(concat!(
    "decided|we decided|i decided|chose|we chose|i chose|opted|we opted|i opted|rejected|we rejected|i rejected|",
    "settled on|we settled on|i settled on|ruled out|we ruled out|i ruled out",
));

fn decision(source: Source, at: usize, statement: Statement) -> Option<Draft> {
    let text = ["We ", "we ", "I ", "i "]
        .iter()
        .find_map(|subject| statement.text.strip_prefix(subject))
        .unwrap_or(&statement.text);
    let title = fit_title(text)?;
    let mut draft = Draft::new(source, at, title);
    draft.kind = Some(ObservationType::Decision);
    draft.push(Statement {
        text: sentence_case(text),
        is_item: false,
        ..statement
    });
    Some(draft)
}

/// Returns all statements of a message, in order.
pub(super) fn statements(
    source: Source,
    message: &Message,
    at: usize,
    ending: &Ending<'_>,
) -> Vec<Statement> {
    groups(source, message, at, ending)
        .into_iter()
        .flat_map(|group| group.statements)
        .collect()
}

/// Groups the statements of a message. A heading starts a subject of its own, unless it is the name of a file, little stands
/// under it, or the whole message is about one change.
fn groups(source: Source, message: &Message, at: usize, ending: &Ending<'_>) -> Vec<Group> {
    /// Less text under a heading is a detail of what stands before it.
    const MIN_SUBJECT: usize = 240;
    let is_one_change = matches!(source, Source::Report | Source::Commit) && ending.changes_in_turn(at);
    let mut out: Vec<Group> = vec![Group {
        heading: None,
        statements: Vec::new(),
    }];
    for topic in message
        .topics
        .iter()
        .filter(|topic| is_memorable(topic.role, source))
    {
        let mut statements = informative(topic, source, at, ending);
        let length: usize = statements
            .iter()
            .map(|statement| statement.text.chars().count())
            .sum();
        match &topic.heading {
            Some(heading) if is_file(heading) => statements = labeled(heading, statements),
            Some(heading) if !is_one_change && (length >= MIN_SUBJECT || source == Source::Subagent) => {
                out.push(Group {
                    heading: Some(heading.clone()),
                    statements,
                });
                continue;
            }
            Some(heading) => introduce(heading, &mut statements),
            None => {
                // What follows without a heading belongs to the message as a whole.
                out[0].statements.append(&mut statements);
                continue;
            }
        }
        let target = if is_one_change { 0 } else { out.len() - 1 };
        out[target].statements.append(&mut statements);
    }
    out
}

/// Puts a heading in front of the first statement under it.
fn introduce(heading: &str, statements: &mut [Statement]) {
    const SAID_PERCENT: u32 = 70;
    if let Some(first) = statements.first_mut()
        && !Words::of(heading).covered_by(&Words::of(&first.text), SAID_PERCENT)
    {
        first.text = format!("{heading}: {}", first.text);
    }
}

fn is_memorable(role: SectionRole, source: Source) -> bool {
    match role {
        SectionRole::Open
        | SectionRole::Check
        | SectionRole::Request
        | SectionRole::Status
        | SectionRole::Praise
        | SectionRole::Choice
        | SectionRole::Source => false,
        // The steps of a plan are not done yet; its reasons hold.
        SectionRole::Other => source != Source::Plan,
        // A compaction summary lists files as they were at that moment; commits and reports describe their final state.
        SectionRole::Change => !matches!(source, Source::Plan | Source::Compaction),
        SectionRole::Problem | SectionRole::Cause | SectionRole::Note | SectionRole::Decision => true,
    }
}

fn informative(topic: &Topic, source: Source, at: usize, ending: &Ending<'_>) -> Vec<Statement> {
    let mut out = Vec::new();
    let mut is_continued = false;
    for point in &topic.points {
        // "It now rounds once" continues the sentence before it.
        let continues = is_continued && source == Source::Report && continues(point);
        is_continued = is_memorable(point.role, source)
            && (continues || is_informative(&point.text, source))
            && !ending.is_stale(&point.text, at);
        if is_continued {
            out.push(Statement {
                text: point.text.clone(),
                title: point.title.clone(),
                is_item: point.is_item,
                role: point.role,
            });
        }
    }
    out
}

fn continues(point: &Point) -> bool {
    let is_short = point.text.chars().count() <= MAX_STATEMENT;
    !point.is_item
        && is_short
        && opens_with_pronoun(&point.text)
        && !is_first_person(&point.text)
        && !PRAISE.within(&point.text.to_lowercase())
}

/// Text for the user counts as it is; text that the agent wrote while working counts only where it states a finding.
fn is_informative(text: &str, source: Source) -> bool {
    if text.split_whitespace().count() < MIN_WORDS || text.chars().count() > MAX_STATEMENT {
        return false;
    }
    let lower = text.to_lowercase();
    if PRAISE.within(&lower) && !has_cause(text) {
        return false;
    }
    match source {
        Source::Prose => {
            let names = count_names(text);
            let words = text.split_whitespace().count();
            let says_enough =
                has_cause(text) || has_contrast(text) || names > 1 || words >= 2 * MIN_FINDING_WORDS;
            names > 0
                && words >= MIN_FINDING_WORDS
                && says_enough
                && is_statement(text)
                && !is_first_person(text)
                && !PLANS.within(&lower)
                && !CHORES.within(&lower)
        }
        Source::Subagent => count_names(text) > 0 && is_statement(text),
        Source::Commit | Source::User => true,
        // Its reader was the agent itself, in the middle of the work.
        Source::Compaction if is_first_person(text) || UNDER_WAY.within(&lower) => false,
        _ => {
            (!is_first_person(text) || has_cause(text))
                && (names_subject(text) || has_cause(text) || has_contrast(text))
        }
    }
}

/// A sentence that weighs or intends is not a finding.
static PLANS: Phrases = Phrases::new(concat!(
    "would be to|simplest|either|maybe|might|hypothesis|suspect|perhaps|probably|wait|going to|we want|we should|",
    "we need to|i should",
));

/// A reviewer's praise tells the next reader nothing.
static PRAISE: Phrases = Phrases::new(concat!(
    "well-structured|well structured|well-tested|well-written|well-designed|clean refactoring|is correct|are correct|",
    "is the right approach|clearly explains|looks correct|look correct|looks solid|good coverage|good test coverage|",
    "nicely|no concerns",
));

/// The state at one moment.
static UNDER_WAY: Phrases = Phrases::new("currently|in progress|so far|just completed|was about to");

/// Reports whether a heading is the name of a file.
fn is_file(heading: &str) -> bool {
    const MAX_EXTENSION: usize = 5;
    let name = heading.trim_matches('`');
    let has_extension = name
        .rsplit_once('.')
        .is_some_and(|(stem, extension)| !stem.is_empty() && (1..=MAX_EXTENSION).contains(&extension.len()));
    !name.contains(' ') && (name.contains('/') || has_extension)
}

/// Puts the file in front of each statement that stood under it.
fn labeled(heading: &str, statements: Vec<Statement>) -> Vec<Statement> {
    let name = heading.trim_matches('`');
    let short = name.rsplit('/').next().unwrap_or(name);
    let label = |text: String| format!("`{short}`: {text}");
    statements
        .into_iter()
        .map(|statement| Statement {
            text: label(statement.text),
            title: statement.title.map(label),
            ..statement
        })
        .collect()
}

/// Packs statements, in order, into as few drafts as fit. Statements without any title among them join the draft before them.
fn pack(source: Source, at: usize, group: Group, ending: &Ending<'_>) -> Vec<Draft> {
    let mut out: Vec<Draft> = Vec::new();
    for statements in chunks(group.statements, |statement| statement.text.chars().count()) {
        match finish(source, at, group.heading.as_deref(), statements) {
            Ok(draft) => out.extend(draft.filter(|draft| is_complete(draft, ending))),
            Err(statements) => {
                if let Some(last) = out.last_mut() {
                    statements.into_iter().for_each(|statement| last.push(statement));
                }
            }
        }
    }
    out
}

/// Splits a list into runs of at most [`MAX_DRAFT`] characters.
fn chunks<T>(list: Vec<T>, chars: impl Fn(&T) -> usize) -> Vec<Vec<T>> {
    let mut out: Vec<Vec<T>> = Vec::new();
    let mut length = MAX_DRAFT;
    for one in list {
        let own = chars(&one);
        if length + own > MAX_DRAFT {
            out.push(Vec::new());
            length = 0;
        }
        length += own;
        if let Some(open) = out.last_mut() {
            open.push(one);
        }
    }
    out
}

/// Adds findings to the memory of their episode while there is room, reasons first, and returns those that are left.
pub(super) fn add_findings(host: &mut Draft, findings: Vec<(usize, Statement)>) -> Vec<(usize, Statement)> {
    let mut room = MAX_DRAFT.saturating_sub(host.text().chars().count());
    let mut known = Words::of(&host.text());
    let (reasons, remarks): (Vec<_>, Vec<_>) = findings
        .into_iter()
        .partition(|(_, statement)| has_cause(&statement.text));
    let mut rest = Vec::new();
    for (at, statement) in reasons.into_iter().chain(remarks) {
        let words = Words::of(&statement.text);
        if words.covered_by(&known, RESTATED_PERCENT) {
            continue;
        }
        let length = statement.text.chars().count() + 1;
        if length > room {
            rest.push((at, statement));
            continue;
        }
        room -= length;
        known.extend(&words);
        host.push(Statement {
            is_item: false,
            ..statement
        });
    }
    rest.sort_by_key(|(at, _)| *at);
    rest
}

/// Puts the problem that a change solved in front of its memory while there is room.
pub(super) fn add_problem(host: &mut Draft, statements: Vec<Statement>) {
    let mut room = MAX_DRAFT.saturating_sub(host.text().chars().count());
    let mut lines: Vec<String> = Vec::new();
    for statement in statements {
        let line = ended(statement.text);
        let line = if lines.is_empty() {
            format!("Before the change: {line}")
        } else {
            line
        };
        let length = line.chars().count() + 1;
        if length > room {
            break;
        }
        room -= length;
        lines.push(line);
    }
    host.narrative.splice(0..0, lines);
}

/// A finding with this share of its words in a memory is part of it.
const RESTATED_PERCENT: u32 = 70;

/// Packs findings from several places of an episode that give a reason or set a limit; the last one completes the draft.
pub(super) fn pack_findings(mut findings: Vec<(usize, Statement)>) -> Vec<Draft> {
    findings.retain(|(_, statement)| {
        has_cause(&statement.text) || (has_contrast(&statement.text) && count_names(&statement.text) > 1)
    });
    let mut out = Vec::new();
    for run in chunks(findings, |(_, statement)| statement.text.chars().count()) {
        let (Some((first, _)), Some((last, _))) = (run.first(), run.last()) else {
            continue;
        };
        let (first, last) = (*first, *last);
        let statements: Vec<Statement> = run.into_iter().map(|(_, statement)| statement).collect();
        // Passing remarks are not worth a memory, unless one of them gives a reason.
        if !statements.iter().any(|statement| has_cause(&statement.text)) {
            continue;
        }
        if let Ok(draft) = finish(Source::Prose, last, None, statements) {
            let draft = draft.filter(Draft::has_content);
            out.extend(draft.map(|draft| Draft { from: first, ..draft }));
        }
    }
    out
}

/// Makes a draft of statements; returns them as an error if none of them can be the title.
pub(super) fn finish(
    source: Source,
    at: usize,
    heading: Option<&str>,
    statements: Vec<Statement>,
) -> Result<Option<Draft>, Vec<Statement>> {
    const ABOUT_PERCENT: u32 = 60;
    let Some(title) = choose_title(&statements, heading) else {
        return Err(statements);
    };
    let mut draft = Draft::new(source, at, title);
    // A list of names from a sub-agent is a catalog of the code, which the code itself shows better.
    let items = statements.iter().filter(|statement| statement.is_item).count();
    let is_catalog = source == Source::Subagent
        && ((items > 0 && statements.len() - items < 2)
            || !statements.iter().any(|statement| has_cause(&statement.text)));
    if source == Source::Plan
        && statements
            .iter()
            .any(|statement| statement.role == SectionRole::Decision)
    {
        draft.kind = Some(ObservationType::Decision);
    }
    let statement_words = Words::of(
        &statements
            .iter()
            .map(|statement| statement.text.as_str())
            .collect::<Vec<_>>()
            .join(" "),
    );
    let is_specific = |heading: &&str| heading.split_whitespace().count() > 2 || count_names(heading) > 0;
    // The headings of a compaction summary are the same in every session.
    if let Some(heading) = heading
        .filter(|_| source != Source::Compaction)
        .filter(is_specific)
        .filter(|heading| !Words::of(heading).covered_by(&statement_words, ABOUT_PERCENT))
    {
        draft.narrative.push(format!("{heading}:"));
    }
    statements.into_iter().for_each(|statement| draft.push(statement));
    Ok((!is_catalog).then_some(draft))
}

/// Reports whether a draft is worth a memory. A single sentence of a report is, if it gives its reason or describes a change:
/// then the changed files are its content.
fn is_complete(draft: &Draft, ending: &Ending<'_>) -> bool {
    // In a long session, a single sentence without a reason says too little beside its other memories.
    let is_outcome = || {
        has_cause(&draft.title)
            || (ending.is_short
                && (describes_changes(draft)
                    || (ending.changes_in_turn(draft.at) && !UNRESOLVED.within(&draft.title.to_lowercase()))))
    };
    let is_told = match draft.source {
        Source::Report => is_outcome(),
        Source::Subagent => has_cause(&draft.title),
        _ => false,
    };
    is_told || draft.has_content()
}

/// Words of a sentence that reports a problem, not an outcome.
static UNRESOLVED: Phrases =
    Phrases::new("still|fail|fails|failed|failing|cannot|can't|could not|couldn't|not yet|broken");

/// "Now uses x", "compares y now": the state after a change.
static NOW: Phrases = Phrases::new("now");

/// Reports whether a draft describes completed changes.
pub(super) fn describes_changes(draft: &Draft) -> bool {
    /// "`a.rs`: `load()` — Added a flag" has two.
    const MAX_LABELS: usize = 2;
    let changes = |text: &str| {
        let after_labels = text
            .match_indices([':', '—', '-'])
            .filter_map(|(at, label)| text[at + label.len()..].strip_prefix(' '));
        std::iter::once(text)
            .chain(after_labels.take(MAX_LABELS))
            .any(|text| {
                let opening = verb(text.split_whitespace().next().unwrap_or_default());
                opening.is_some_and(|(base, form)| is_change_verb(base) || form == Form::Past)
            })
            || NOW.within(&text.to_lowercase())
            || text.starts_with("The fix ")
    };
    let texts = || draft.narrative.iter().chain(&draft.facts);
    let changed = texts().filter(|text| changes(text)).count();
    changes(&draft.title) || (changed > 0 && changed * 4 >= texts().count())
}
