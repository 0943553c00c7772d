//! The requests of a session in the user's words.

use crate::Action;
use crate::english::{Phrases, Words, condense, is_output, is_question};
use crate::episodes::{Step, StepKind, Timeline};

/// A request with its place.
pub(crate) struct Request {
    /// The turn of the prompt.
    pub(crate) turn: u32,
    /// The condensed prompt.
    pub(crate) line: String,
}

/// The first requests say what the session is about, the last ones what it was about at the end.
const FIRST: usize = 2;
const LAST: usize = 8;

/// A prompt with this share of another one's words repeats it.
const REPEATED_PERCENT: u32 = 80;
/// A shorter prompt has its words in many others.
const MIN_WEIGHT: u32 = 6;

/// Returns all prompts, queued messages and words of refusal that a human wrote, condensed.
pub(crate) fn requests(timeline: &Timeline<'_>) -> Vec<Request> {
    let mut out: Vec<Request> = Vec::new();
    for step in &timeline.steps {
        let text = match (step.kind, step.action()) {
            (StepKind::Prompt(text), _) => text,
            (_, Some(Action::UserMessage(text))) => text,
            (
                _,
                Some(Action::Refused {
                    words: Some(words), ..
                }),
            ) => words,
            _ => continue,
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

/// Returns the requests for the hand-over, in order.
pub(crate) fn chosen(timeline: &Timeline<'_>) -> Vec<String> {
    let all = requests(timeline);
    let mut chosen: Vec<&Request> = all.iter().filter(|request| is_request(&request.line)).collect();
    chosen.dedup_by(|later, earlier| later.line == earlier.line);
    // A prompt that repeats an earlier one adds nothing.
    let words: Vec<Words> = chosen.iter().map(|request| Words::of(&request.line)).collect();
    let mut at = 0;
    chosen.retain(|_| {
        at += 1;
        let (earlier, own) = (&words[..at - 1], &words[at - 1]);
        own.weight() < MIN_WEIGHT
            || !earlier
                .iter()
                .any(|known| own.covered_by(known, REPEATED_PERCENT))
    });
    // Pasted output is no request beside words.
    if !chosen.iter().all(|request| is_output(&request.line)) {
        chosen.retain(|request| !is_output(&request.line));
    }
    // Questions on the way belong to the conversation, if there were orders besides.
    let is_order =
        |request: &&Request| !is_question(&request.line) || ORDERS.within(&request.line.to_lowercase());
    if chosen.iter().skip(1).filter(|request| is_order(request)).count() >= MIN_ORDERS {
        let first = chosen.first().map(|request| request.line.clone());
        chosen.retain(|request| is_order(request) || Some(&request.line) == first.as_ref());
    }
    let mut lines: Vec<String> = chosen.into_iter().map(|request| request.line.clone()).collect();
    // Small talk alone is no request, unless work came of it.
    if lines.is_empty() && timeline.steps.iter().any(Step::is_tool_call) {
        lines = all.into_iter().map(|request| request.line).take(1).collect();
    }
    lines
}

/// With fewer orders, the questions say what the session was about.
const MIN_ORDERS: usize = 2;

/// Words of a question that asks for work.
static ORDERS: Phrases =
    Phrases::new("can you|could you|can we|could we|please|let's|would you|should we|i want|we need");

/// Joins short requests that follow each other; of very many lines the first and the last ones stay.
pub(super) fn joined(requests: Vec<String>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut is_joined = false;
    for request in requests {
        let is_short = request.chars().count() <= MAX_SHORT;
        match lines.last_mut() {
            Some(last) if is_joined && is_short && last.chars().count() <= MAX_JOINED => {
                last.push_str("; ");
                last.push_str(&request);
            }
            _ => lines.push(request),
        }
        is_joined = is_short && lines.len() > 1;
    }
    if lines.len() > FIRST + LAST {
        lines.drain(FIRST..lines.len() - LAST);
    }
    lines
}

/// Requests up to this length share a line, in characters.
const MAX_SHORT: usize = 60;
const MAX_JOINED: usize = 160;

/// "do we have them there?" says nothing to a reader who does not know the message before it.
pub(super) fn says_something(line: &str) -> bool {
    const MIN_WEIGHT: u32 = 3;
    Words::of(line).weight() >= MIN_WEIGHT
}

/// Reports whether a line asks for something of its own.
pub(crate) fn is_request(line: &str) -> bool {
    const MIN_WORDS: usize = 2;
    const MAX_SMALL_TALK: usize = 7;
    const MAX_CHOICE: usize = 4;
    let lower = line.to_lowercase();
    let words = line.split_whitespace().count();
    let is_small = words < MIN_WORDS && !line.starts_with('/');
    let is_small_talk = words <= MAX_SMALL_TALK && SMALL_TALK.starts(&lower);
    // "let's do 1" points to a list that the next reader does not have.
    let is_number = |word: &str| {
        word.trim_matches(|c: char| !c.is_alphanumeric())
            .parse::<u8>()
            .is_ok()
    };
    let is_choice = words <= MAX_CHOICE && line.split_whitespace().any(is_number);
    !(is_small || is_small_talk || is_choice)
}

static SMALL_TALK: Phrases = Phrases::new(concat!(
    "yes|yep|yeah|ok|okay|sure|thanks|thank you|great|perfect|nice|cool|continue|please continue|",
    "go ahead|go on|let's continue|sorry, continue|looks good|lgtm|sounds good|do it|hi|hello|hey|/exit|",
    "/clear|/compact|/model|/resume|/login|/config|/status|/help|what are you doing|are you done|are you sure|done",
));
