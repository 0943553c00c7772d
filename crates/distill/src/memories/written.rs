//! Drafts from code that was written and survives: header comments, reasons in comments, values.

use super::draft::{Draft, Source, ended, title_of};
use super::ending::Ending;
use crate::english::{code, has_cause, imperative, sentences};
use crate::episodes::{Span, Timeline};
use crate::prose::plain;
use crate::{Action, FileChange};

const MAX_COMMENTS: usize = 3;
const MAX_VALUES: usize = 3;
const MAX_TEXT: usize = 300;

/// Drafts a memory per episode and file that says why or with which values it was written.
pub(super) fn drafts(timeline: &Timeline<'_>, ending: &Ending<'_>, span: &Span) -> Vec<Draft> {
    let mut out: Vec<Draft> = Vec::new();
    for path in ending.files(span.first..span.end) {
        let changes: Vec<(usize, &FileChange)> = (span.first..span.end)
            .filter(|at| ending.files(*at..at + 1) == [path])
            .filter_map(|at| match timeline.steps[at].action() {
                Some(Action::Change(change)) => Some((at, change)),
                _ => None,
            })
            .collect();
        out.extend(file_draft(path, &changes, ending));
    }
    out
}

fn file_draft(path: &str, changes: &[(usize, &FileChange)], ending: &Ending<'_>) -> Option<Draft> {
    let (at, _) = *changes.last()?;
    let name = path.rsplit('/').next().unwrap_or(path);
    let survives = |text: &&str| text.len() <= MAX_TEXT && !ending.is_stale(text, at);
    let header = changes
        .iter()
        .rev()
        .find_map(|(_, change)| change.header.as_deref());
    let header = header.map(plain);
    let header_sentences: Vec<&str> = header.as_deref().map(sentences).unwrap_or_default();
    let comments: Vec<&str> = changes
        .iter()
        .flat_map(|(_, change)| change.comments.iter().map(String::as_str))
        .filter(survives)
        .collect();
    // The code shows what it does; only a reason is worth a memory. A comment that gives an order tells the steps.
    let title = header_sentences
        .first()
        .into_iter()
        .chain(&comments)
        .filter(|sentence| has_cause(sentence) && imperative(sentence).is_none())
        .find_map(|sentence| title_of(&format!("`{name}`: {}", sentence.trim_end_matches('.'))))?;
    let mut draft = Draft::new(Source::Written, at, title);
    draft.from = changes[0].0;
    draft.narrative = header_sentences
        .iter()
        .skip(1)
        .chain(comments.iter().rev().take(MAX_COMMENTS))
        .map(|text| ended(plain(text)))
        .filter(|text| !draft.title.contains(text.trim_end_matches('.')))
        .collect();
    draft.facts = changes
        .iter()
        .flat_map(|(_, change)| &change.values)
        .rev()
        .take(MAX_VALUES)
        .map(|value| code(value))
        .collect();
    draft.has_content().then_some(draft)
}
