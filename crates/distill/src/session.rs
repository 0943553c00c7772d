//! The memory of one session: the output of the built-in distiller.

pub use backstory_model::{Checkpoint, Episode, Handover, ItemRef, SessionMemory, SessionObservation};

use crate::TurnLog;
use crate::command_results::command_results;
use crate::command_rules::command_rules;
use crate::english::{MAX_TITLE, fit_title};
use crate::episodes::{self, Span, Timeline};
use crate::handover;
use crate::memories::{self, Ending, Source};

/// Derives the memory of a session from the work logs of its turns, in order. Pure: the same logs give the same memory.
pub fn compose(logs: &[TurnLog]) -> SessionMemory {
    compose_without(logs, None)
}

/// Derives the memory of a session without the memories of one source: shows what the source contributes.
pub fn compose_without(logs: &[TurnLog], skipped: Option<Source>) -> SessionMemory {
    let timeline = Timeline::new(logs);
    let spans = episodes::cut(&timeline);
    let ending = Ending::of(&timeline);
    let obstacles = memories::find_obstacles(&timeline, &ending);
    let observations = memories::write(&timeline, &spans, &ending, &obstacles, skipped);
    let handover = handover::write(&timeline, &ending, &obstacles, &observations);
    SessionMemory {
        title: subject(&handover.requests).map(title),
        subtitle: handover.done.last().map(|outcome| headline(outcome)),
        episodes: spans
            .iter()
            .enumerate()
            .map(|(at, span)| episode(&timeline, &ending, at, span))
            .collect(),
        summaries: handover::summaries(&timeline, &ending, &observations, &handover),
        observations,
        handover,
        commands: command_results(logs),
        rules: command_rules(logs),
    }
}

/// Returns what a line of completed work is about, without its details.
fn headline(outcome: &str) -> String {
    const MIN_WORDS: usize = 4;
    let head = outcome.split_once(": ").map_or(outcome, |(head, _)| head);
    let head = head.trim_end_matches(" (pushed)");
    let has_subject = head.split_whitespace().count() >= MIN_WORDS;
    title(if has_subject { head } else { outcome })
}

/// Returns the request that names the session: the first one, unless it is a command without arguments.
fn subject(requests: &[String]) -> Option<&str> {
    const MIN_WORDS: usize = 4;
    let is_bare_command = |line: &&String| line.starts_with('/') && !line.contains(' ');
    let first = requests.first()?;
    if !is_bare_command(&first) {
        return Some(first);
    }
    let next = requests
        .iter()
        .find(|line| !line.starts_with('/') && line.split_whitespace().count() >= MIN_WORDS);
    Some(next.unwrap_or(first))
}

fn episode(timeline: &Timeline<'_>, ending: &Ending<'_>, at: usize, span: &Span) -> Episode {
    let commit = ending
        .commits
        .iter()
        .rev()
        .find(|commit| (span.first..span.end).contains(&commit.first));
    let subject = commit.map(|commit| commit.subject).or(span.request.as_deref());
    let place = |at: usize| {
        let step = timeline.steps[at];
        ItemRef {
            turn: step.turn,
            item: step.item,
        }
    };
    Episode {
        number: u32::try_from(at + 1).unwrap_or(u32::MAX),
        request: span.request.clone(),
        title: subject.map(title).unwrap_or_default(),
        first: place(span.first),
        last: place(span.end - 1),
    }
}

/// Fits a line into a title: a whole clause, or as many words as fit.
fn title(line: &str) -> String {
    fit_title(line).unwrap_or_else(|| {
        let mut out = String::new();
        for word in line.split_whitespace() {
            if out.chars().count() + word.chars().count() >= MAX_TITLE {
                break;
            }
            if !out.is_empty() {
                out.push(' ');
            }
            out.push_str(word);
        }
        out
    })
}
