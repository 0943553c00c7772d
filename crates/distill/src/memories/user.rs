//! Memories in the user's own words: decisions, corrections, constraints, answers and refusals.

use backstory_model::ObservationType;

use super::change::asked;
use super::draft::{Draft, POINTERS, Source, ended, is_first_person, title_of};
use crate::english::{
    MAX_TITLE, Phrases, Words, code, count_names, fit_title, has_cause, is_directive, is_instruction,
    is_question, sentence_case, sentences, strip_openers, without_client_markup,
};
use crate::episodes::{Step, StepKind, Timeline};
use crate::prose::{Message, offered, plain};
use crate::{Action, AnswerChoice};

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
            (
                _,
                Some(Action::UserAnswer {
                    question,
                    answer,
                    choice,
                }),
            ) => answered(question, answer, choice.as_ref(), at),
            (
                _,
                Some(Action::Refused {
                    target,
                    words: Some(words),
                    ..
                }),
            ) => refused(target.as_deref(), words, at, doing(timeline, at)),
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
                            .map(|statement| format!("{SAID_AFTER}“{statement}”"))
                    });
                last_report
                    .and_then(|(_, report)| chosen(report, text, at))
                    .or_else(|| decided(text, at, decides, context.clone()))
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
    "continue with|next step|this session|execution|would you like me to proceed|commit these|commit this",
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

fn answered(question: &str, answer: &str, choice: Option<&AnswerChoice>, at: usize) -> Option<Draft> {
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
    if let Some(choice) = choice {
        if let Some(details) = &choice.details {
            draft.narrative.push(ended(plain(details)));
        }
        if !choice.others.is_empty() {
            let others = choice.others.join("; ").replace(" (Recommended)", "");
            draft
                .narrative
                .push(ended(format!("Not chosen: {}", plain(&others))));
        }
    }
    Some(draft)
}

/// Drafts the option that the user picked, with those that were not.
fn chosen(report: &str, reply: &str, at: usize) -> Option<Draft> {
    let choice = offered(report)?;
    let picked = choice.picked(reply);
    // Numbered questions are answered, not chosen from.
    let asks = |text: &str| text.trim_end_matches([')', '*', ' ']).ends_with('?');
    if picked
        .iter()
        .any(|option| asks(&option.name) || asks(&option.details))
    {
        return None;
    }
    let names: Vec<&str> = picked.iter().map(|option| option.name.as_str()).collect();
    let name = names.join("; ");
    let question = choice.question.as_deref().unwrap_or_default();
    if picked.is_empty() || PROCESS.within(&format!("{question} {name}").to_lowercase()) {
        return None;
    }
    let specific = Some(question).filter(|question| Words::of(question).weight() >= MIN_QUESTION_WEIGHT);
    let whole = specific.map(|question| format!("{name} ({question})"));
    let title = whole
        .filter(|title| title.chars().count() <= MAX_TITLE)
        .or_else(|| fit_title(&name))?;
    let mut draft = draft(at, title);
    for option in &picked {
        if !option.details.is_empty() {
            draft
                .narrative
                .push(ended(format!("{}: {}", option.name, option.details)));
        }
    }
    if !draft.title.contains(question) && !question.is_empty() {
        draft.narrative.insert(0, format!("Answer to: “{question}”"));
    }
    let others: Vec<&str> = choice
        .options
        .iter()
        .filter(|option| !picked.contains(option))
        .map(|option| option.name.as_str())
        .collect();
    if !others.is_empty() {
        draft
            .narrative
            .push(ended(format!("Not chosen: {}", others.join("; "))));
    }
    if picked.iter().any(|option| option.is_recommended) && !choice.reasons.is_empty() {
        draft
            .narrative
            .push(ended(format!("Reasons given: {}", choice.reasons.join("; "))));
    }
    let reply = plain(reply.trim());
    if reply.split_whitespace().count() >= MIN_WORDS && reply.chars().count() <= MAX_OWN_WORDS {
        draft.narrative.push(format!("User: “{reply}”"));
    }
    (draft
        .narrative
        .iter()
        .map(|line| line.chars().count())
        .sum::<usize>()
        >= MIN_CHOICE)
        .then_some(draft)
}

/// A question with fewer words, such as "Which do you prefer?", says nothing about its subject.
const MIN_QUESTION_WEIGHT: u32 = 2;
/// A choice with less text, such as "yes or no", says too little without its message, in characters.
const MIN_CHOICE: usize = 60;

fn refused(target: Option<&str>, words: &str, at: usize, doing: Option<String>) -> Option<Draft> {
    // Without a name, the words are about something that the next reader cannot see.
    const MIN_CLEAR_WEIGHT: u32 = 8;
    let is_clear = count_names(words) > 0
        || Words::of(words).weight() >= MIN_CLEAR_WEIGHT
        || doing.as_deref().is_some_and(|doing| count_names(doing) > 0);
    let mut draft = decided(words, at, explains_refusal, doing).filter(|_| is_clear)?;
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
    let whole = own.join(" ");
    // "Rewrite the guide. Also don't give it a number": the sentence before names the subject.
    let named = Some(&title)
        .filter(|title| refers(title) && count_names(title) == 0)
        .and_then(|_| asked(Some(&whole)))
        .filter(|order| !refers(order));
    let mut draft = draft(at, named.unwrap_or(title));
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
    // What was said before explains only words that point to it.
    draft
        .narrative
        .extend(context.filter(|context| !context.starts_with(SAID_AFTER) || refers(&draft.title)));
    Some(draft)
}

/// The opening of the statement that a message follows without answering a question.
const SAID_AFTER: &str = "Said after: ";

/// Reports whether a sentence uses words whose meaning stands outside of it.
fn refers(sentence: &str) -> bool {
    POINTERS.within(&sentence.to_lowercase())
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
    // "I'll check the logs" tells the next reader nothing about the words that interrupted it.
    if is_first_person(intent) && count_names(intent) == 0 {
        return None;
    }
    Some(format!("Said during: “{}”", plain(intent)))
}
