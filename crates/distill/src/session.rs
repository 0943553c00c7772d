//! The memory of one session: the output of the built-in distiller.

use backstory_model::NewObservation;

use crate::english::{MAX_TITLE, fit_title};
use crate::episodes::{self, Span, Timeline};
use crate::handover;
use crate::memories::{self, Ending};
use crate::{NewSummary, TurnLog};

/// Derives the memory of a session from the work logs of its turns, in order. Pure: the same logs give the same memory.
pub fn compose(logs: &[TurnLog]) -> SessionMemory {
    let timeline = Timeline::new(logs);
    let spans = episodes::cut(&timeline);
    let ending = Ending::of(&timeline);
    let obstacles = memories::find_obstacles(&timeline, &ending);
    let observations = memories::write(&timeline, &spans, &ending, &obstacles);
    let handover = handover::write(&timeline, &ending, &obstacles, &observations);
    SessionMemory {
        title: subject(&handover.requests).map(title),
        subtitle: handover.done.last().map(|outcome| title(outcome)),
        episodes: spans
            .iter()
            .enumerate()
            .map(|(at, span)| episode(&timeline, &ending, at, span))
            .collect(),
        summaries: handover::summaries(&timeline, &ending, &handover),
        observations,
        handover,
    }
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

/// Everything that is remembered of a session, derived from the work logs of all its turns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionMemory {
    /// The subject of the session in one line: the first request of the user.
    pub title: Option<String>,
    /// The latest outcome in one line.
    pub subtitle: Option<String>,
    /// The contiguous pieces of work, in order.
    pub episodes: Vec<Episode>,
    /// The observations, in the order of their episodes.
    pub observations: Vec<SessionObservation>,
    /// The checkpoint of each turn that has one: the work log up to that turn as eight fields.
    pub summaries: Vec<TurnSummary>,
    /// The state of the work at the end of the session.
    pub handover: Handover,
}

/// A contiguous piece of work inside a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Episode {
    /// The position in the session, from 1. Stable: later turns only append episodes or extend the last one.
    pub number: u32,
    /// The last thing a human said before or at its start.
    pub request: Option<String>,
    /// The subject in one line.
    pub title: String,
    /// The first evidence item.
    pub first: ItemRef,
    /// The last evidence item.
    pub last: ItemRef,
}

/// The position of an evidence item in a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ItemRef {
    /// The number of the turn.
    pub turn: u32,
    /// The position of the item within the turn.
    pub item: u32,
}

/// An observation with its place in the session.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionObservation {
    /// The stable key within the session (episode and subject): distilling again updates the memory with the same key.
    pub key: String,
    /// The number of the turn it belongs to.
    pub turn: u32,
    /// The number of the episode it belongs to.
    pub episode: u32,
    /// Set for something that was tried and did not work.
    pub rejected: bool,
    /// The normalized error that it resolves: the merge key across sessions.
    pub error_signature: Option<String>,
    /// The time of the evidence that completes it, in milliseconds since 1970.
    pub at_ms: i64,
    /// The memory.
    pub observation: NewObservation,
}

/// The checkpoint of a session at the end of a turn.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnSummary {
    /// The number of the turn.
    pub turn: u32,
    /// The eight fields.
    pub summary: NewSummary,
}

/// The state of the work at the end of a session, for the next session.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Handover {
    /// The requests, in the user's words, oldest first.
    pub requests: Vec<String>,
    /// Completed work, with commit hashes and pull requests.
    pub done: Vec<String>,
    /// The last result of each test, build and lint command.
    pub checks: Vec<String>,
    /// The state of branch and working tree: pushed or not, changed but never run.
    pub state: Vec<String>,
    /// Open work, each supported by evidence and not completed later.
    pub open: Vec<String>,
    /// Decisions that the next session must know.
    pub decisions: Vec<String>,
    /// Traps: failures with their remedy, attempts that did not work.
    pub traps: Vec<String>,
    /// The branch at the end.
    pub branch: Option<String>,
}
