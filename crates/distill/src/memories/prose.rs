//! Findings in agent prose in the middle of the work, collected per episode.

use std::collections::HashSet;

use super::draft::{Draft, Source};
use super::ending::Ending;
use super::report;
use crate::Action;
use crate::english::{sentences, without_intention};
use crate::episodes::{Span, Timeline};

/// Drafts memories from the findings of an episode that no other memory states word by word.
pub(super) fn drafts(timeline: &Timeline<'_>, ending: &Ending<'_>, span: &Span, told: &HashSet<&str>) -> Vec<Draft> {
    let mut findings = Vec::new();
    for at in span.first..span.end {
        let Some(Action::Prose(text)) = timeline.steps[at].action() else {
            continue;
        };
        let statements = report::statements(Source::Prose, &settled(timeline, text, at), at, ending);
        findings.extend(
            statements
                .into_iter()
                .filter(|statement| !told.contains(statement.text.trim_end_matches('.')))
                .map(|statement| (at, statement)),
        );
    }
    report::pack_findings(findings)
}

/// Returns prose with intentions turned into statements where a change followed: then they tell what was done and why.
fn settled(timeline: &Timeline<'_>, text: &str, at: usize) -> String {
    if !is_followed_by_change(timeline, at) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        for sentence in sentences(line) {
            out.push_str(&without_intention(sentence).unwrap_or_else(|| sentence.to_owned()));
            out.push(' ');
        }
        out.push('\n');
    }
    out
}

fn is_followed_by_change(timeline: &Timeline<'_>, at: usize) -> bool {
    timeline.steps[at + 1..]
        .iter()
        .take_while(|step| !matches!(step.action(), None | Some(Action::Prose(_) | Action::Report(_))))
        .any(|step| matches!(step.action(), Some(Action::Change(_))))
}
