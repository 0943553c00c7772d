//! Memories in the user's own words: decisions, corrections, constraints, answers and refusals.

use backstory_model::ObservationType;

use super::draft::{Draft, POINTERS, Source, ended, title_of};
use crate::Action;
use crate::english::{
    Phrases, Words, code, count_names, fit_title, has_cause, is_directive, is_instruction, is_question,
    sentence_case, sentences, strip_openers, without_client_markup,
};
use crate::episodes::{Step, StepKind, Timeline};
use crate::prose::{Message, plain};

/// Longer messages quote plans, logs or reviews: only sentences in the user's own voice count.
const MAX_OWN_WORDS: usize = 320;
/// Still longer ones are documents.
const MAX_MESSAGE: usize = 1_500;
/// A decision needs a subject: about four words, or two of them names.
const MIN_WEIGHT: u32 = 5;
/// A shorter sentence does not say what it decides.
const MIN_WORDS: usize = 4;

/// Drafts a memory for each message of the user that decides something.
pub(super) fn drafts(timeline: &Timeline<'_>) -> Vec<Draft> {
    let mut out: Vec<Draft> = Vec::new();
    let mut last_report: Option<(usize, &str)> = None;
    for (at, step) in timeline.steps.iter().enumerate() {
        let draft = match (step.kind, step.action()) {
            (_, Some(Action::UserAnswer { question, answer })) => answered(question, answer, at),
            (
                _,
                Some(Action::Refused {
                    target,
                    words: Some(words),
                    ..
                }),
            ) => refused(target.as_deref(), words, at),
            (_, Some(Action::UserMessage(text))) => decided(text, at, is_lasting, doing(timeline, at)),
            (StepKind::Prompt(text), _) => {
                let question = last_report.and_then(|(_, report)| open_question(report));
                let decides = if question.is_some() {
                    is_lasting
                } else {
                    is_lasting_directive
                };
                let context = question
                    .map(|question| {
                        // "Which do you prefer?" needs what was proposed.
                        let before = last_report
                            .filter(|_| Words::of(&question).weight() < MIN_WEIGHT)
                            .and_then(|(at, _)| last_statement(timeline.message(at)));
                        match before {
                            Some(before) => format!("Answer to: “{before} {question}”"),
                            None => format!("Answer to: “{question}”"),
                        }
                    })
                    .or_else(|| {
                        last_report
                            .and_then(|(at, _)| last_statement(timeline.message(at)))
                            .map(|statement| format!("Said after: “{statement}”"))
                    });
                decided(text, at, decides, context.clone())
                    .or_else(|| approved(text, last_report?.1, context?, at))
            }
            _ => None,
        };
        if step.user_words().is_some_and(changes_mind) {
            out.pop();
        }
        out.extend(draft);
        match step.action() {
            Some(Action::Report(text)) => last_report = Some((at, text)),
            None => last_report = None,
            _ => {}
        }
    }
    out
}

/// "actually, let's …" replaces the decision before it.
fn changes_mind(words: &str) -> bool {
    REVERSALS.starts(&words.trim_start().to_lowercase())
}

static REVERSALS: Phrases = Phrases::new(concat!(
    "actually|on second thought|scratch that|changed my mind|i changed my mind|no wait|wait no|",
    "forget that",
));

/// "rebase first" and "add this test" steer one step; "don't force-push" lasts.
fn is_lasting(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    is_lasting_directive(sentence)
        || (is_instruction(sentence) && !PASSING.within(&lower) && !POINTERS.within(&lower))
}

fn is_lasting_directive(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    is_directive(sentence) && !MOMENTARY.within(&lower) && !CORRECTIONS.within(&lower)
}

/// "I meant the other one" corrects a sentence that the next reader does not have.
static CORRECTIONS: Phrases = Phrases::new("meant");

/// A question about the next step of the work decides nothing that lasts.
static PROCESS: Phrases = Phrases::new(concat!(
    "do next|ready to|shall i proceed|should i proceed|want to proceed|be committed|commit now|",
    "continue with|next step",
));

/// "Let's not worry about it" needs the sentence before it.
static OBJECTS: Phrases = Phrases::new(concat!(
    "about it|about this|about that|do it|do that|do this|with it|with that|of it|leave it|keep it|fix it|for it|",
    "put it|use it|move it",
));

/// "Don't change anything yet" holds for the moment.
static MOMENTARY: Phrases = Phrases::new(
    "yet|for now|right now|for the moment|this time|take a look|have a look|let's see|we'll see",
);

/// A refusal with a reason is a rule as well.
fn explains_refusal(sentence: &str) -> bool {
    is_lasting(sentence) || has_cause(sentence)
}

static PASSING: Phrases = Phrases::new("first|wait|continue|now|again");

fn draft(at: usize, title: String) -> Draft {
    Draft {
        kind: Some(ObservationType::Decision),
        ..Draft::new(Source::User, at, title)
    }
}

fn answered(question: &str, answer: &str, at: usize) -> Option<Draft> {
    let (question, answer) = (plain(question), plain(answer));
    // The client's mark of the option that the agent prefers.
    let answer = answer.replace(" (Recommended)", "");
    if answer.is_empty() || PROCESS.within(&question.to_lowercase()) {
        return None;
    }
    let last_question = sentences(&question).last().copied().unwrap_or(&question);
    let title = fit_title(&format!("{answer} ({question})"))
        .filter(|title| title.ends_with(')'))
        .or_else(|| fit_title(&format!("{answer} ({last_question})")).filter(|title| title.ends_with(')')))
        .or_else(|| fit_title(&answer))
        .or_else(|| fit_title(question.trim_end_matches('?')))?;
    let mut draft = draft(at, title);
    draft
        .narrative
        .push(format!("The user answered “{question}” with “{answer}”."));
    Some(draft)
}

fn refused(target: Option<&str>, words: &str, at: usize) -> Option<Draft> {
    let mut draft = decided(words, at, explains_refusal, None)?;
    if let Some(target) = target.map(|target| target.lines().next().unwrap_or(target)) {
        const MAX_TARGET: usize = 120;
        let target = &target[..target.floor_char_boundary(MAX_TARGET)];
        draft
            .narrative
            .push(format!("Said when refusing {}.", code(target)));
    }
    Some(draft)
}

/// Drafts the directives of one message; they stay verbatim.
fn decided(text: &str, at: usize, decides: fn(&str) -> bool, context: Option<String>) -> Option<Draft> {
    let text = without_client_markup(text);
    let length = text.chars().count();
    let is_document = text
        .lines()
        .any(|line| line.starts_with('#') || line.starts_with("```"));
    if length > MAX_MESSAGE
        || (length > MAX_OWN_WORDS && is_document)
        || text.trim_start().starts_with(['<', '/'])
    {
        return None;
    }
    let own: Vec<String> = text
        .lines()
        .filter(|line| !line.trim_start().starts_with(['>', '|', '❯']))
        .flat_map(|line| sentences(line).into_iter().map(plain).collect::<Vec<_>>())
        .collect();
    let directives: Vec<&String> = own
        .iter()
        .filter(|sentence| {
            !is_question(sentence) && decides(sentence) && sentence.split_whitespace().count() >= MIN_WORDS
        })
        .filter(|sentence| length <= MAX_OWN_WORDS || OWN_VOICE.within(&sentence.to_lowercase()))
        .collect();
    let title = directives
        .iter()
        .filter(|sentence| !POSTPONING.starts(&sentence.to_lowercase()))
        .find_map(|sentence| fit_title(&strip_openers(sentence)))
        .filter(|title| Words::of(title).weight() >= MIN_WEIGHT)?;
    // "That should be a table" needs a subject from what it answers.
    if count_names(&title) == 0 && OBJECTS.within(&title.to_lowercase()) {
        return None;
    }
    if points_back(&title) && context.as_deref().is_none_or(|context| count_names(context) == 0) {
        return None;
    }
    let mut draft = draft(at, title);
    let whole = own.join(" ");
    let verbatim = if length <= MAX_OWN_WORDS {
        whole
    } else {
        directives
            .iter()
            .map(|sentence| sentence.as_str())
            .collect::<Vec<_>>()
            .join(" ")
    };
    if verbatim.chars().count() > draft.title.chars().count() + MIN_WORDS {
        draft.narrative.push(format!("User: “{verbatim}”"));
    }
    draft.narrative.extend(context);
    Some(draft)
}

fn points_back(title: &str) -> bool {
    let lower = title.to_lowercase();
    let mut words = lower.split([' ', ',']).filter(|word| !word.is_empty());
    words
        .find(|word| !AGREEMENTS.contains(word))
        .is_some_and(|word| matches!(word, "this" | "that" | "these" | "those" | "it" | "they"))
}

static AGREEMENTS: Phrases = Phrases::new("yes|yeah|yep|ok|okay|sure|no|nope|right|so|and|but|well");

static OWN_VOICE: Phrases = Phrases::new("i|i'd|i'm|we|let's|please|don't|never|always|you");

/// Work that is put off is open work, not a decision about how to do it.
static POSTPONING: Phrases = Phrases::new("never mind|nevermind|not now|later");

/// Drafts the proposal that the user approved.
fn approved(text: &str, report: &str, context: String, at: usize) -> Option<Draft> {
    const MAX_WORDS: usize = 12;
    let is_short = text.split_whitespace().count() <= MAX_WORDS;
    if !is_short || !APPROVALS.starts(&text.to_lowercase()) {
        return None;
    }
    let proposal = report
        .lines()
        .flat_map(sentences)
        .map(plain)
        .rfind(|sentence| !is_question(sentence) && PROPOSALS.within(&sentence.to_lowercase()))?;
    let title = title_of(&proposal)?;
    let mut draft = draft(at, title);
    draft.narrative.push(ended(proposal));
    draft
        .narrative
        .push(format!("Approved by the user: “{}”", text.trim()));
    draft.narrative.push(context);
    Some(draft)
}

static APPROVALS: Phrases = Phrases::new(concat!(
    "yes|yeah|yep|ok|okay|sure|agreed|sounds good|go ahead|do it|let's do|perfect|makes sense|good idea|",
    "right",
));
static PROPOSALS: Phrases = Phrases::new(concat!(
    "recommend|recommendation|suggest|propose|i'd lean|cleaner solution|better approach|cleaner approach|",
    "simplest approach|the fix should|the fix would|the right fix|i'd go with|best option|should be|",
    "we should|would be to|might be to",
));

/// Returns the last question of a report.
fn open_question(report: &str) -> Option<String> {
    let line = report
        .lines()
        .rev()
        .find(|line| line.trim_end_matches(['*', ' ']).ends_with('?'))?;
    let question = plain(sentences(line).last()?);
    Some(sentence_case(&question))
}

/// Returns the last statement of a report, which a message without a question answers.
fn last_statement(report: &Message) -> Option<String> {
    const MAX_STATEMENT: usize = 200;
    let last = report
        .points()
        .rev()
        .find(|point| point.text.chars().count() <= MAX_STATEMENT)?;
    Some(last.text.clone())
}

/// Describes the work that a message interrupted.
fn doing(timeline: &Timeline<'_>, at: usize) -> Option<String> {
    let before = timeline.steps[..at].iter().rev().find_map(Step::entry)?;
    let intent = before.intent.as_deref()?.trim_end_matches([':', '.']);
    Some(format!("Said during: “{}”", plain(intent)))
}
