//! Finds the boundaries between episodes.

use std::time::Duration;

use backstory_model::Timestamp;

use super::{Step, StepKind, Timeline};
use crate::english::{Phrases, condense, is_directive, sentences};
use crate::{Action, TaskState};

/// The steps of one episode: `first..end` of the timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// The index of its first step.
    pub(crate) first: usize,
    /// The index after its last step.
    pub(crate) end: usize,
    /// The request in the words of the user: the last thing a human said before or at its start.
    pub(crate) request: Option<String>,
}

/// A pause of this length ends an episode.
const LONG_PAUSE: Duration = Duration::from_mins(30);
/// Fewer tool calls than this do not make an episode of a task, a commit, a compaction or a pause.
const MIN_CALLS: usize = 10;
/// An episode without any boundary is split at the next prose after this many tool calls.
const MAX_CALLS: usize = 40;
/// An answer of this many words is worth an episode even if no tool changed anything.
const MIN_ANSWER_WORDS: usize = 40;

/// Cuts a session into episodes.
pub(crate) fn cut(timeline: &Timeline<'_>) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for piece in pieces(timeline) {
        let steps = &timeline.steps[piece.first..piece.end];
        match spans.last_mut() {
            Some(previous) if !has_substance(steps) => previous.end = piece.end,
            // A session that opens with small talk: the first real request opens the episode.
            Some(previous) if spans_small_talk(timeline, previous) => {
                previous.end = piece.end;
                previous.request = piece.request;
            }
            _ => spans.push(piece),
        }
    }
    spans
}

fn spans_small_talk(timeline: &Timeline<'_>, span: &Span) -> bool {
    span.first == 0 && !has_substance(&timeline.steps[span.first..span.end])
}

/// Cuts at every boundary, before pieces without substance are merged.
fn pieces(timeline: &Timeline<'_>) -> Vec<Span> {
    let mut pieces: Vec<Span> = Vec::new();
    let mut open = Span {
        first: 0,
        end: 0,
        request: None,
    };
    let mut calls = 0;
    let mut is_closed = false;
    let mut last = timeline.steps.first().map_or(Timestamp::EPOCH, |step| step.at);
    let mut question = None;
    for (at, step) in timeline.steps.iter().enumerate() {
        let words = step.user_words().filter(|words| opens_episode(words));
        let is_soft = (is_closed && resumes_work(step))
            || starts_task(step)
            || matches!(step.action(), Some(Action::Compaction(_)))
            || step.at.since(last) >= LONG_PAUSE;
        let is_split = calls >= MAX_CALLS && matches!(step.action(), Some(Action::Prose(_)));
        if at > open.first && (words.is_some() || is_split || (is_soft && calls >= MIN_CALLS)) {
            let request = open.request.clone();
            open.end = at;
            pieces.push(open);
            open = Span {
                first: at,
                end: at,
                request,
            };
            calls = 0;
            is_closed = false;
        }
        if let Some(words) = words {
            open.request = request(words, question).or(open.request);
        }
        if let Some(Action::Report(text)) = step.action() {
            question = Some(text.as_str());
        }
        calls += usize::from(step.is_tool_call());
        is_closed = matches!(step.action(), Some(Action::Commit(_)))
            || completes_task(step)
            || (is_closed && !resumes_work(step));
        last = step.at;
    }
    if !timeline.steps.is_empty() {
        open.end = timeline.steps.len();
        pieces.push(open);
    }
    pieces
}

/// "continue" and "thanks" go on with the work in progress.
fn opens_episode(words: &str) -> bool {
    const MAX_WORDS: usize = 5;
    let lower = words.to_lowercase();
    let is_short = words.split_whitespace().count() <= MAX_WORDS;
    !(is_short && (CONTINUATIONS.within(&lower) || !lower.chars().any(char::is_alphanumeric)))
}

static CONTINUATIONS: Phrases = Phrases::new(
    "continue|go on|carry on|keep going|proceed|resume|thanks|thank you|nice|cool|great|perfect",
);

/// Returns the request of an episode; a bare "yes" is read with the question it answers.
fn request(words: &str, question: Option<&str>) -> Option<String> {
    let line = condense(words)?;
    if !is_confirmation(&line) {
        return Some(line);
    }
    let asked = question
        .and_then(|report| {
            sentences(report.lines().rev().find(|line| line.contains('?'))?)
                .into_iter()
                .rfind(|sentence| sentence.ends_with('?'))
        })
        .map(crate::prose::plain);
    Some(match asked {
        Some(asked) => format!("{asked} {line}"),
        None => line,
    })
}

fn is_confirmation(line: &str) -> bool {
    const MAX_WORDS: usize = 3;
    line.split_whitespace().count() <= MAX_WORDS && CONFIRMATIONS.starts(&line.to_lowercase())
}

static CONFIRMATIONS: Phrases = Phrases::new(concat!(
    "yes|yep|yeah|yup|ok|okay|sure|please do|do it|go ahead|go for it|sounds good|agreed|correct|right|",
    "both|no|nope",
));

/// Reports whether work goes on after a commit or a completed task.
fn resumes_work(step: &Step<'_>) -> bool {
    matches!(
        step.action(),
        Some(Action::Change(_) | Action::Lookup { .. } | Action::Run(_) | Action::Plan { .. })
    )
}

fn starts_task(step: &Step<'_>) -> bool {
    matches!(
        step.action(),
        Some(Action::Task {
            state: TaskState::InProgress,
            ..
        })
    )
}

fn completes_task(step: &Step<'_>) -> bool {
    matches!(
        step.action(),
        Some(Action::Task {
            state: TaskState::Completed,
            ..
        })
    )
}

/// Reports whether steps leave something to remember: a change, a long answer, or words of the user that decide something.
fn has_substance(steps: &[Step<'_>]) -> bool {
    steps.iter().any(|step| match step.action() {
        Some(Action::Change(change)) => !change.scratch,
        Some(
            Action::Commit(_)
            | Action::Publication(_)
            | Action::Plan { .. }
            | Action::SubagentReport { .. }
            | Action::UserAnswer { .. },
        ) => true,
        Some(Action::Report(text)) => text.split_whitespace().count() >= MIN_ANSWER_WORDS,
        Some(Action::UserMessage(text)) => is_directive(text),
        _ => matches!(step.kind, StepKind::Prompt(text) if is_directive(text)),
    })
}
