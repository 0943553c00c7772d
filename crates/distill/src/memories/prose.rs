//! Agent prose in the middle of the work.

use crate::Action;
use crate::english::{sentences, without_intention};
use crate::episodes::Timeline;

/// Returns prose with intentions turned into statements where a change followed: then they tell what was done and why.
pub(super) fn settled(timeline: &Timeline<'_>, text: &str, at: usize) -> String {
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
