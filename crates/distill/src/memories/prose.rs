//! Findings in agent prose in the middle of the work, collected per episode.

use std::collections::HashSet;

use super::draft::{Source, Statement};
use super::ending::Ending;
use super::report;
use crate::Action;
use crate::english::{sentences, without_intention};
use crate::episodes::{Span, Timeline};
use crate::prose::Message;

/// Returns the findings of an episode that no other memory states word by word, with their steps.
pub(super) fn findings(
    timeline: &Timeline<'_>,
    ending: &Ending<'_>,
    span: &Span,
    used: &HashSet<&str>,
) -> Vec<(usize, Statement)> {
    let mut findings = Vec::new();
    for at in span.first..span.end {
        let Some(Action::Prose(text)) = timeline.steps[at].action() else {
            continue;
        };
        let statements = match settled(timeline, text, at) {
            Some(text) => report::statements(Source::Prose, &Message::read(&text), at, ending),
            None => report::statements(Source::Prose, timeline.message(at), at, ending),
        };
        findings.extend(
            statements
                .into_iter()
                .filter(|statement| !used.contains(statement.text.trim_end_matches('.')))
                .map(|statement| (at, statement)),
        );
    }
    findings
}

/// Returns prose with its intentions turned into statements, if a change followed: then they state what was done and why.
fn settled(timeline: &Timeline<'_>, text: &str, at: usize) -> Option<String> {
    if !is_followed_by_change(timeline, at) {
        return None;
    }
    let mut is_settled = false;
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        for sentence in sentences(line) {
            let statement = without_intention(sentence);
            is_settled |= statement.is_some();
            out.push_str(statement.as_deref().unwrap_or(sentence));
            out.push(' ');
        }
        out.push('\n');
    }
    is_settled.then_some(out)
}

fn is_followed_by_change(timeline: &Timeline<'_>, at: usize) -> bool {
    timeline.steps[at + 1..]
        .iter()
        .take_while(|step| !matches!(step.action(), None | Some(Action::Prose(_) | Action::Report(_))))
        .any(|step| matches!(step.action(), Some(Action::Change(_))))
}
