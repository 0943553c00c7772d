//! What the agent said in a turn: every sentence with what it says, where it stands, and the statement in it.

use super::claim::{self, Says};
use super::markdown::{self, Item};
use super::section::Section;
use super::sentence::sentences;
use super::text::{self, count_names, has_any, lower_first, sentence_case};
use super::title::{Statement, stands_alone, statement, tidy};
use super::verbs::{self, Form};
use crate::{Step, Turn};

/// One sentence of the agent.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    /// The step in which it was said.
    pub(super) step: usize,
    /// What it says.
    pub(super) says: Says,
    /// The sentence as it was said, without its opening.
    pub(super) sentence: String,
    /// What it states, when that can be read by itself.
    pub(super) statement: Option<Statement>,
    /// The section it stands in.
    pub(super) section: Section,
    /// A heading or parent bullet that names code.
    pub(super) context: Option<String>,
    /// Whether it is an entry of a list.
    pub(super) bullet: bool,
    /// Whether it is of the last message.
    pub(super) last: bool,
    /// Whether it is said with doubt.
    pub(super) hedged: bool,
}

/// Everything the agent said.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// Sentences in order, without fillers.
    pub(super) claims: Vec<Claim>,
    /// The last message, whole.
    pub(super) last_message: Option<String>,
}

const MAX_CLAIMS: usize = 1500;

/// Reads the prose of a turn.
pub(super) fn read(turn: &Turn) -> Reading {
    let spoken = turn
        .steps
        .iter()
        .enumerate()
        .filter_map(|(step, entry)| match entry {
            Step::Prose(text) if !text.trim().is_empty() => Some((step, text.as_str())),
            _ => None,
        });
    let mut messages: Vec<(usize, &str)> = spoken.collect();
    if let Some(last) = turn
        .last_message
        .as_deref()
        .filter(|last| !last.trim().is_empty())
    {
        // The hook's last words are often the last prose of the transcript as well.
        messages.retain(|(_, text)| text.trim() != last.trim());
        messages.push((turn.steps.len(), last));
    }
    let mut reading = Reading {
        claims: Vec::new(),
        last_message: final_message(turn, &messages),
    };
    for (index, (step, text)) in messages.iter().enumerate() {
        let last = index + 1 == messages.len() && reading.last_message.is_some();
        for item in markdown::items(text) {
            reading.item(&item, *step, last);
        }
        if reading.claims.len() > MAX_CLAIMS {
            break;
        }
    }
    reading
}

/// The last message counts as the final word when no tool was used after it.
fn final_message(turn: &Turn, messages: &[(usize, &str)]) -> Option<String> {
    let (step, text) = messages.last()?;
    let tool_after = turn
        .steps
        .iter()
        .skip(step + 1)
        .any(|entry| matches!(entry, Step::Tool(_)));
    (!tool_after).then(|| (*text).to_owned())
}

impl Reading {
    /// The claims of the last message.
    pub(super) fn final_claims(&self) -> impl Iterator<Item = &Claim> {
        self.claims.iter().filter(|claim| claim.last)
    }

    fn item(&mut self, item: &Item, step: usize, last: bool) {
        let joined = joined(item);
        let mut first = true;
        for sentence in sentences(&joined.text) {
            let says = claim::says(sentence, item.section);
            let subject = joined.subject.as_deref().filter(|_| first);
            first = false;
            if says == Says::Filler || is_fragment(sentence, item) {
                continue;
            }
            let sentence = claim::trim_opening(sentence).trim();
            let lower = sentence.to_lowercase();
            self.claims.push(Claim {
                step,
                says,
                statement: statement(sentence, subject).filter(|_| !matches!(says, Says::Plan | Says::Asks)),
                sentence: sentence.to_owned(),
                section: item.section,
                context: item.context.clone(),
                bullet: item.bullet,
                last,
                hedged: has_any(&lower, HEDGES),
            });
        }
    }
}

const HEDGES: &str = "\
    might|may be|maybe|probably|likely|seems|seem|appears to|perhaps|must be in|must be|i think|\
    i suspect|could be|should be|would be|looks like|if we|we could";

/// An entry with what it needs from its lead-in and its label.
struct Joined {
    text: String,
    subject: Option<String>,
}

fn joined(item: &Item) -> Joined {
    let text = item.text.trim();
    if let Some(label) = &item.label {
        let named = count_names(label) > 0;
        let lower = text.to_lowercase();
        let repeated = text.contains(label.trim_matches('`'));
        if named && !repeated && claim::is_done(&lower) {
            let to_do = lower.split_whitespace().nth(1) == Some("to");
            let text = if to_do {
                text.to_owned()
            } else {
                format!("{label}: {}", lower_first(text))
            };
            return Joined {
                text,
                subject: to_do.then(|| label.clone()),
            };
        }
        if claim::is_done(&lower) || repeated {
            return Joined {
                text: text.to_owned(),
                subject: None,
            };
        }
        let joined = if text.is_empty() {
            label.clone()
        } else {
            format!("{label}: {text}")
        };
        return Joined {
            text: joined,
            subject: None,
        };
    }
    if let Some(lead) = item.lead.as_deref().filter(|lead| lead.len() < 160) {
        let opening = lead.trim_end_matches(':').trim_end();
        let first = text.split_whitespace().next().unwrap_or_default();
        let order = verbs::verb(first).is_some_and(|(_, form)| form == Form::Base);
        let gerund = verbs::verb(first).is_some_and(|(_, form)| form == Form::Gerund);
        if (opening.ends_with(" to") && order) || (opening.ends_with(" by") && gerund) {
            return Joined {
                text: format!("{opening} {}", lower_first(text)),
                subject: None,
            };
        }
    }
    Joined {
        text: text.to_owned(),
        subject: None,
    }
}

/// Whether an entry is a bare name or a piece of a sentence: nothing that can be read by itself.
fn is_fragment(sentence: &str, item: &Item) -> bool {
    let words: Vec<&str> = sentence.split_whitespace().collect();
    if words.len() < 3 {
        return true;
    }
    if sentence.ends_with(':') {
        return true;
    }
    if item.bullet && words.len() < 5 && !words.iter().any(|word| is_verb(word)) {
        return true;
    }
    // Ends like "…, such as" or with an open bracket: the rest was code.
    sentence.ends_with(',')
        || !words.iter().any(|word| is_verb(word)) && item.bullet && count_names(sentence) == 0
}

fn is_verb(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    matches!(
        word,
        "is" | "are"
            | "was"
            | "were"
            | "be"
            | "has"
            | "have"
            | "had"
            | "can"
            | "cannot"
            | "does"
            | "do"
            | "did"
            | "will"
            | "would"
            | "should"
            | "must"
            | "may"
            | "isn't"
            | "doesn't"
            | "don't"
            | "wasn't"
            | "didn't"
            | "can't"
            | "aren't"
    ) || verbs::verb(word).is_some()
}

impl Claim {
    /// The words of the claim as a fact: the statement where there is one, with what it is about in front when it does not
    /// say so itself.
    pub(super) fn as_fact(&self) -> Option<String> {
        let words = match &self.statement {
            Some(statement)
                if matches!(
                    self.says,
                    Says::Done | Says::Now | Says::Cause | Says::Found | Says::Decided
                ) =>
            {
                statement.text.clone()
            }
            _ => sentence_case(tidy(claim::strip_speaker(&self.sentence)).trim()),
        };
        if words.split_whitespace().count() < 3 || !stands_alone(&words) {
            return None;
        }
        match &self.context {
            Some(context) if count_names(&words) == 0 && context.len() < 70 => {
                let about = text::code_spans(context)
                    .next()
                    .map_or_else(|| context.clone(), text::code);
                Some(format!("{about}: {}", lower_first(&words)))
            }
            _ => Some(words),
        }
    }
}
