//! What the agent said in a turn: every sentence with what it says, where it stands, and the statement in it.

use std::borrow::Cow;

use super::cause;
use super::claim::{self, Says};
use super::entry;
use super::markdown::{self, Item};
use super::opening;
use super::pointer::Named;
use super::section::Section;
use super::sentence::sentences;
use super::text::{self, count_names, has_any, lower_first, sentence_case};
use super::tidy::tidy;
use super::title::{Statement, stands_alone, statement};
use crate::{TurnInput, TurnStep};

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
    /// Whether it tells what to beware of.
    pub(super) warns: bool,
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
pub(super) fn read(turn: &TurnInput) -> Reading {
    let spoken = turn
        .steps
        .iter()
        .enumerate()
        .filter_map(|(step, entry)| match entry {
            TurnStep::Prose(text) if !text.trim().is_empty() => Some((step, text.as_str())),
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
        let mut named = Named::default();
        for item in markdown::items(&below_root(text, turn.root.as_deref())) {
            reading.item(&item, *step, last, &mut named);
        }
        if reading.claims.len() > MAX_CLAIMS {
            break;
        }
    }
    reading
}

/// Paths below the root are shown relative to it.
fn below_root<'a>(text: &'a str, root: Option<&str>) -> Cow<'a, str> {
    let root = root
        .map(|root| root.trim_end_matches('/'))
        .filter(|root| root.len() > 3);
    match root {
        Some(root) if text.contains(root) => Cow::Owned(text.replace(&format!("{root}/"), "")),
        _ => Cow::Borrowed(text),
    }
}

/// The last message counts as the final word when no tool was used after it.
fn final_message(turn: &TurnInput, messages: &[(usize, &str)]) -> Option<String> {
    let (step, text) = messages.last()?;
    let tool_after = turn
        .steps
        .iter()
        .skip(step + 1)
        .any(|entry| matches!(entry, TurnStep::Tool(_)));
    (!tool_after).then(|| (*text).to_owned())
}

impl Reading {
    /// The claims of the last message.
    pub(super) fn final_claims(&self) -> impl Iterator<Item = &Claim> {
        self.claims.iter().filter(|claim| claim.last)
    }

    fn item(&mut self, item: &Item, step: usize, last: bool, named: &mut Named) {
        let joined = entry::joined(item);
        let mut first = true;
        for sentence in sentences(&joined.text).into_iter().flat_map(claim::without_check) {
            let sentence = entry::closed(sentence);
            let (section, sentence, labelled) = match opening::labelled(opening::trim_opening(sentence)) {
                Some((section, rest)) if item.label.is_none() => (section, rest, true),
                _ => (item.section, sentence, false),
            };
            let says = claim::says(sentence, section);
            let subject = joined.subject.as_deref().filter(|_| first);
            first = false;
            if says == Says::Filler || entry::is_fragment(sentence, item) {
                continue;
            }
            let sentence = opening::without_report(opening::trim_opening(sentence).trim());
            let resolved = named.without_pronoun(sentence);
            let sentence = resolved.as_deref().unwrap_or(sentence);
            let lower = sentence.to_lowercase();
            let mut made = statement(sentence, subject).filter(|_| !matches!(says, Says::Plan | Says::Asks));
            if let Some(made) = &mut made
                && let Some(resolved) = named.resolve(&made.text)
            {
                made.text = resolved;
            }
            named.note(sentence);
            self.claims.push(Claim {
                step,
                says,
                statement: made,
                sentence: sentence.to_owned(),
                section,
                context: item
                    .label
                    .clone()
                    .filter(|label| count_names(label) > 0)
                    .or_else(|| item.context.clone()),
                bullet: item.bullet,
                last,
                hedged: has_any(&lower, HEDGES) && !labelled,
                warns: says == Says::Problem && (labelled || claim::warns(&lower)),
            });
        }
    }
}

const HEDGES: &str = "\
    might|may be|maybe|probably|likely|seems|seem|appears to|perhaps|must be in|must be|i think|\
    i suspect|could be|should be|would be|looks like|if we|we could";

const VAGUE: &str = concat!(
    "fixed the bug|fixed the issue|fixed this bug|fixed this issue|resolved the issue|resolved the bug|fixed a bug|fixed an issue|",
    "completed the task|made the following|implemented the fix|made the changes|two changes|three changes|key changes|",
    "simple changes|following changes|the implementation adds to",
);

impl Claim {
    /// Whether it only says that the work is done: "I've fixed the bug in the parser".
    pub(super) fn is_vague(&self) -> bool {
        let lower = self.sentence.trim_end_matches(['.', '!']).to_lowercase();
        let explained = has_any(&lower, "where|by|so that|when|because|in which");
        let last = lower.rsplit(' ').next().unwrap_or_default();
        let fixed = has_any(&lower, "fixed|resolved") && matches!(last, "bug" | "issue" | "problem");
        let (_, object) = opening::strip_speaker(&lower).split_once(' ').unwrap_or_default();
        let object = object.split(" (").next().unwrap_or_default();
        let touched = has_any(
            opening::strip_speaker(&lower)
                .split(' ')
                .next()
                .unwrap_or_default(),
            "modified|edited",
        );
        let bare = claim::is_done(&lower) && object.split_whitespace().count() <= 2;
        let bare = bare || (touched && !lower.contains(" to "));
        !explained && (fixed || bare || has_any(&lower, VAGUE))
    }

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
            _ => sentence_case(tidy(opening::strip_speaker(&self.sentence)).trim()),
        };
        let pointing = text::starts_with_any(&words.to_lowercase(), cause::POINTING);
        if words.split_whitespace().count() < 3 || !stands_alone(&words) || pointing {
            return None;
        }
        let words = if self.section == Section::Change {
            entry::as_deed(words)
        } else {
            words
        };
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
