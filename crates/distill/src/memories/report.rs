//! Drafts from text written for a reader: reports, compaction summaries, sub-agent reports, plans.

use super::draft::{Draft, Source, Statement, choose_title};
use super::ending::Ending;
use crate::english::{Words, count_names, has_cause, has_contrast, is_change_verb, names_subject, verb};
use crate::prose::{SectionRole, Topic, topics};

/// The text of one draft, in characters: about 160 tokens.
const MAX_DRAFT: usize = 640;
/// A longer statement is too long to be one fact.
const MAX_STATEMENT: usize = 420;
/// A statement with fewer words says nothing on its own.
const MIN_WORDS: usize = 4;

/// Drafts memories from a message: one per subject, never across headings with a subject of their own.
pub(super) fn drafts(source: Source, text: &str, at: usize, ending: &Ending<'_>) -> Vec<Draft> {
    let mut out = Vec::new();
    let mut main: Vec<Statement> = Vec::new();
    for topic in topics(text) {
        if !is_memorable(topic.role) {
            continue;
        }
        let statements = statements(&topic, source, at, ending);
        match topic.heading.as_deref() {
            Some(heading) if is_file(heading) => main.extend(labelled(heading, statements)),
            Some(heading) => out.extend(pack(source, at, Some(heading), statements)),
            None => main.extend(statements),
        }
    }
    let mut all = pack(source, at, None, main);
    all.append(&mut out);
    all
}

fn is_memorable(role: SectionRole) -> bool {
    !matches!(
        role,
        SectionRole::Open | SectionRole::Check | SectionRole::Request | SectionRole::Status | SectionRole::Source
    )
}

fn statements(topic: &Topic, source: Source, at: usize, ending: &Ending<'_>) -> Vec<Statement> {
    topic
        .points
        .iter()
        .filter(|point| is_memorable(point.role))
        .filter(|point| is_informative(&point.text, source))
        .filter(|point| !ending.is_stale(&point.text, at))
        .map(|point| Statement {
            text: point.text.clone(),
            is_item: point.is_item,
            role: point.role,
        })
        .collect()
}

/// Prose in the middle of the work counts only where it states a cause, a limit or several names.
fn is_informative(text: &str, source: Source) -> bool {
    if text.split_whitespace().count() < MIN_WORDS || text.chars().count() > MAX_STATEMENT {
        return false;
    }
    source != Source::Prose
        || (names_subject(text) && !is_first_person(text) && (has_cause(text) || has_contrast(text) || count_names(text) >= 2))
}

fn is_first_person(text: &str) -> bool {
    text.split_whitespace().any(|word| {
        matches!(
            word.trim_matches(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’'),
            "I" | "I'm" | "I’m" | "I've" | "I’ve" | "I'd" | "my" | "My"
        )
    })
}

/// Reports whether a heading is the name of a file.
fn is_file(heading: &str) -> bool {
    let name = heading.trim_matches('`');
    !name.contains(' ') && (name.contains('/') || name.rsplit_once('.').is_some_and(|(stem, extension)| !stem.is_empty() && extension.len() <= 5))
}

/// Puts the file in front of each statement that stood under it.
fn labelled(heading: &str, statements: Vec<Statement>) -> Vec<Statement> {
    let name = heading.trim_matches('`');
    let short = name.rsplit('/').next().unwrap_or(name);
    statements
        .into_iter()
        .map(|statement| Statement {
            text: format!("`{short}`: {}", statement.text),
            ..statement
        })
        .collect()
}

/// Packs statements, in order, into as few drafts as fit.
fn pack(source: Source, at: usize, heading: Option<&str>, statements: Vec<Statement>) -> Vec<Draft> {
    let mut out = Vec::new();
    let mut open: Vec<Statement> = Vec::new();
    let mut length = 0;
    for statement in statements {
        let own = statement.text.chars().count();
        if length + own > MAX_DRAFT && !open.is_empty() {
            out.extend(finish(source, at, heading, std::mem::take(&mut open)));
            length = 0;
        }
        length += own;
        open.push(statement);
    }
    out.extend(finish(source, at, heading, open));
    out
}

fn finish(source: Source, at: usize, heading: Option<&str>, statements: Vec<Statement>) -> Option<Draft> {
    let title = choose_title(&statements, heading)?;
    let mut draft = Draft::new(source, at, title);
    let title_words = Words::of(&draft.title);
    for statement in statements {
        const RESTATED_PERCENT: u32 = 90;
        if Words::of(&statement.text).covered_by(&title_words, RESTATED_PERCENT) {
            continue;
        }
        if statement.is_item {
            draft.facts.push(statement.text);
        } else {
            draft.narrative.push(statement.text);
        }
    }
    if let Some(heading) = heading.filter(|heading| !title_words.covered_by(&Words::of(heading), 50) && count_names(heading) > 0) {
        draft.narrative.insert(0, format!("{heading}:"));
    }
    draft.has_content().then_some(draft)
}

/// Reports whether a draft tells of completed changes.
pub(super) fn tells_changes(draft: &Draft) -> bool {
    let changes = |text: &String| {
        let text = text.split_once(": ").map_or(text.as_str(), |(_, rest)| rest);
        verb(text.split_whitespace().next().unwrap_or_default()).is_some_and(|(base, _)| is_change_verb(base))
    };
    let statements = draft.narrative.len() + draft.facts.len();
    let changed = draft.narrative.iter().chain(&draft.facts).filter(|text| changes(text)).count();
    changes(&draft.title) || (statements > 0 && changed * 3 >= statements)
}
