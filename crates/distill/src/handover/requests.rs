//! The requests of a session in the user's words.

use crate::english::{Phrases, condense};
use crate::episodes::{Step, StepKind, Timeline};

/// A request with its place.
pub(crate) struct Request {
    /// The turn of the prompt.
    pub(crate) turn: u32,
    /// The condensed prompt.
    pub(crate) line: String,
}

/// The first requests say what the session is about, the last ones what it was about at the end.
const FIRST: usize = 3;
const LAST: usize = 6;

/// Returns all prompts that a human wrote, condensed.
pub(crate) fn requests(timeline: &Timeline<'_>) -> Vec<Request> {
    let mut out: Vec<Request> = Vec::new();
    for step in &timeline.steps {
        let StepKind::Prompt(text) = step.kind else {
            continue;
        };
        let Some(line) = condense(text) else { continue };
        // A prompt that a hook or the user stopped is often sent again, word by word.
        out.pop_if(|earlier| earlier.line == line);
        out.push(Request {
            turn: step.turn,
            line,
        });
    }
    out
}

/// Returns the requests for the hand-over: without confirmations and small talk, the first and the last ones.
pub(crate) fn chosen(timeline: &Timeline<'_>) -> Vec<String> {
    let all = requests(timeline);
    let mut lines: Vec<String> = all
        .iter()
        .filter(|request| is_request(&request.line))
        .map(|request| request.line.clone())
        .collect();
    lines.dedup();
    // Small talk alone is no request, unless work came of it.
    if lines.is_empty() && timeline.steps.iter().any(Step::is_tool_call) {
        lines = all.into_iter().map(|request| request.line).take(1).collect();
    }
    if lines.len() > FIRST + LAST {
        lines.drain(FIRST..lines.len() - LAST);
    }
    lines
}

/// Reports whether a line asks for something of its own.
pub(crate) fn is_request(line: &str) -> bool {
    const MIN_WORDS: usize = 2;
    const MAX_SMALL_TALK: usize = 6;
    let lower = line.to_lowercase();
    let words = line.split_whitespace().count();
    let is_small = words < MIN_WORDS && !line.starts_with('/');
    let is_small_talk = words <= MAX_SMALL_TALK && SMALL_TALK.starts(&lower);
    !(is_small || is_small_talk)
}

static SMALL_TALK: Phrases = Phrases::new(concat!(
    "yes|yep|yeah|ok|okay|sure|thanks|thank you|great|perfect|nice|cool|continue|please continue|",
    "go ahead|go on|let's continue|sorry, continue|looks good|lgtm|sounds good|do it|hi|hello|hey|/exit|",
    "/clear|/compact|/model|/resume|/login|/config|/status|/help",
));
