//! A memory in the making, and what makes it fit to be read: limits, no repetition, order.

use backstory_model::ObservationType;

use super::grammar::is_finite;
use super::likeness::{likeness, stems};
use super::sentence::sentences;
use super::text::{clip, code_spans, is_outside_code, sentence_case};
use super::tidy;
use super::title;
use super::type_of;
use crate::NewObservation;

/// A memory that may be written.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    /// Where in the turn it belongs.
    pub(super) step: usize,
    /// How much it is worth, from 0 to 100.
    pub(super) worth: u8,
    /// What it is about.
    pub(super) kind: ObservationType,
    /// What is true.
    pub(super) title: String,
    /// The circumstances.
    pub(super) subtitle: Option<String>,
    /// What happened and why.
    pub(super) narrative: Option<String>,
    /// Single facts.
    pub(super) facts: Vec<String>,
    /// Concepts that it has beyond those of its words.
    pub(super) concepts: Vec<&'static str>,
    /// Files that were read for it.
    pub(super) files_read: Vec<String>,
    /// Files that tools changed.
    pub(super) files_modified: Vec<String>,
    /// The tool uses that it rests on.
    pub(super) evidence: Vec<String>,
}

const MAX_FACTS: usize = 8;
const MAX_FACT: usize = 200;
const MAX_NARRATIVE: usize = 600;
const MAX_SUBTITLE: usize = 160;
const MAX_FILES: usize = 60;
const MAX_EVIDENCE: usize = 24;
/// Two texts that share this much of the words of the shorter say the same.
const SAME: f32 = 0.72;

impl Draft {
    /// A draft with nothing but a title.
    pub(super) fn new(kind: ObservationType, title: String, step: usize, worth: u8) -> Self {
        Self {
            step,
            worth,
            kind,
            title,
            subtitle: None,
            narrative: None,
            facts: Vec::new(),
            concepts: Vec::new(),
            files_read: Vec::new(),
            files_modified: Vec::new(),
            evidence: Vec::new(),
        }
    }

    /// Whether another draft says the same.
    pub(super) fn repeats(&self, other: &Self) -> bool {
        says_the_same(&self.title, &other.title)
    }

    /// Whether it is a decision or a warning of the last message: kept beside the memories of the work.
    fn is_firm(&self) -> bool {
        self.worth == FIRM && self.files_modified.is_empty()
    }

    /// Takes over what another draft knows beyond this one.
    pub(super) fn absorb(&mut self, other: Self) {
        // What the story tells already is no fact beside it.
        let story = self.narrative.clone().unwrap_or_default();
        let news = std::iter::once(other.title).chain(other.facts);
        self.facts
            .extend(news.filter(|fact| !story.contains(fact.trim_end_matches('…'))));
        for concept in other.concepts {
            if !self.concepts.contains(&concept) {
                self.concepts.push(concept);
            }
        }
        self.files_read.extend(other.files_read);
        self.files_modified.extend(other.files_modified);
        self.evidence.extend(other.evidence);
        match (&mut self.narrative, other.narrative) {
            (None, narrative) => self.narrative = narrative,
            // The reason of a decision is kept.
            (Some(story), Some(reason))
                if other.kind == ObservationType::Decision && !story.contains(&reason) =>
            {
                story.push(' ');
                story.push_str(&reason);
            }
            _ => {}
        }
    }

    /// The finished memory.
    pub(super) fn finish(self) -> NewObservation {
        let title = title::force(&self.title);
        let mut facts: Vec<String> = Vec::new();
        for fact in self.facts {
            let fact = fact.trim().trim_end_matches(['.', ';', ',']).to_owned();
            let stated = title.strip_prefix("Before the change: ").unwrap_or(&title);
            let fact = beyond(&fact, stated);
            let told = says_the_same(&fact, stated) && fact.len() < stated.len() + 30;
            if fact.is_empty() || told || facts.iter().any(|known| says_the_same(known, &fact)) {
                continue;
            }
            // The folder of a file is told once.
            let placed = tidy::without_place(&fact);
            let known = |place: &str| facts.iter().any(|fact| fact.contains(place));
            let fact = if placed != fact && code_spans(&fact).any(|span| span.contains('/') && known(span)) {
                placed
            } else {
                fact
            };
            facts.push(within(&fact, MAX_FACT));
            if facts.len() == MAX_FACTS {
                break;
            }
        }
        let whole = format!(
            "{title} {} {}",
            self.narrative.as_deref().unwrap_or_default(),
            facts.join(" ")
        );
        let mut concepts: Vec<String> = self
            .concepts
            .iter()
            .map(|concept| (*concept).to_owned())
            .collect();
        for concept in type_of::concepts(self.kind, &whole) {
            if concept == "how-it-works" && !concepts.is_empty() {
                continue;
            }
            if !concepts.contains(&concept) {
                concepts.push(concept);
            }
        }
        concepts.truncate(4);
        let files_modified = once(self.files_modified, MAX_FILES);
        let mut files_read = once(self.files_read, MAX_FILES);
        files_read.retain(|file| !files_modified.contains(file));
        NewObservation {
            kind: self.kind,
            subtitle: self
                .subtitle
                .filter(|subtitle| !says_the_same(subtitle, &title))
                .map(|subtitle| clip(&subtitle, MAX_SUBTITLE)),
            narrative: self
                .narrative
                .map(|narrative| clip(narrative.trim(), MAX_NARRATIVE))
                .filter(|narrative| !narrative.is_empty() && adds(narrative, &title, &facts)),
            title,
            facts,
            concepts,
            files_read,
            files_modified,
            evidence: once(self.evidence, MAX_EVIDENCE),
            supersedes: Vec::new(),
        }
    }
}

/// What a fact says beyond a title that is its beginning: "Runners send a heartbeat; a dead one frees its job" -> "A dead one
/// frees its job".
fn beyond(fact: &str, title: &str) -> String {
    let rest = fact.strip_prefix(title).and_then(|rest| {
        [", so ", ", and ", "; ", ": ", ". "]
            .iter()
            .find_map(|joint| rest.strip_prefix(joint))
    });
    let whole = rest.filter(|rest| {
        rest.split_whitespace().count() > 3
            && rest.split_whitespace().any(is_finite)
            && title::stands_alone(rest)
    });
    whole.map_or_else(|| fact.to_owned(), sentence_case)
}

/// Whether a narrative tells more than the title and the facts do.
fn adds(narrative: &str, title: &str, facts: &[String]) -> bool {
    let told = |sentence: &str| {
        std::iter::once(title)
            .chain(facts.iter().map(String::as_str))
            .any(|known| says_the_same(sentence, known) && sentence.len() < known.len() + 30)
    };
    sentences(narrative).into_iter().any(|sentence| !told(sentence))
}

/// Whether two short texts say the same.
pub(super) fn says_the_same(one: &str, other: &str) -> bool {
    if one == other {
        return true;
    }
    let (a, b) = (stems(one), stems(other));
    // A long text that contains a short one says more, not the same.
    likeness(&a, &b) >= SAME && a.len().min(b.len()) * 5 >= a.len().max(b.len()) * 2
}

/// Cuts a fact at the end of a clause where it can.
pub(super) fn within(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    let limit = text.char_indices().nth(max).map_or(text.len(), |(at, _)| at);
    let cut = [
        ". ",
        "; ",
        ", which",
        ", so ",
        ", because",
        " because ",
        ", and ",
        ", but ",
        " (",
        ", ",
        " - ",
    ]
    .iter()
    .filter_map(|stop| text[..limit].rfind(stop))
    .filter(|&at| {
        at * 2 >= limit
            && is_outside_code(text, at)
            && title::has_main_clause(&text[..at])
            && !title::is_dangling(&text[..at])
    })
    .max();
    cut.map_or_else(|| clip(text, max), |at| text[..at].to_owned())
}

fn once(list: Vec<String>, max: usize) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for entry in list {
        if out.len() < max && !out.contains(&entry) {
            out.push(entry);
        }
    }
    out
}

/// What a decision with its reason or a warning is worth that the last message gives: more than a cause that is gone.
pub(super) const FIRM: u8 = 77;
/// How many such memories a turn may leave beside those of its work.
const MAX_FIRM: usize = 3;

/// From this worth on, what there is no room for becomes facts of the main memory.
const WORTH_A_FACT: u8 = 55;

/// Chooses the drafts worth keeping: the best `room`, those that change files always, no two that say the same, in the
/// order of the turn.
pub(super) fn choose(mut drafts: Vec<Draft>, room: usize) -> Vec<Draft> {
    drafts.sort_by_key(|draft| (draft.files_modified.is_empty(), u8::MAX - draft.worth, draft.step));
    let mut kept: Vec<Draft> = Vec::new();
    let mut firm = 0;
    for draft in drafts {
        if let Some(same) = kept.iter_mut().find(|known| known.repeats(&draft)) {
            same.absorb(draft);
        } else if draft.is_firm() && firm < MAX_FIRM {
            firm += 1;
            kept.push(draft);
        } else if kept.len() - firm < room {
            kept.push(draft);
        } else if (draft.worth >= WORTH_A_FACT || !draft.files_modified.is_empty())
            && let Some(first) = kept.first_mut()
        {
            first.absorb(draft);
        }
    }
    kept.sort_by_key(|draft| draft.step);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(title: &str, narrative: &str, facts: &[&str]) -> NewObservation {
        let mut draft = Draft::new(ObservationType::Change, title.to_owned(), 0, 50);
        draft.narrative = Some(narrative.to_owned());
        draft.facts = facts.iter().map(|fact| (*fact).to_owned()).collect();
        draft.finish()
    }

    #[test]
    fn a_fact_that_begins_with_the_title_tells_only_the_rest() {
        let memory = finished(
            "Workers send a sign of life every 5 s",
            "Jobs were started twice.",
            &["Workers send a sign of life every 5 s; when one dies its job is free after a minute"],
        );
        assert_eq!(memory.facts, ["When one dies its job is free after a minute"]);
    }

    #[test]
    fn a_narrative_that_repeats_the_facts_is_dropped() {
        let facts = [
            "Rows are read in pages of 500",
            "A page that fails is asked for again",
        ];
        let told = "Rows are now read in pages of 500. A page that fails is asked for again.";
        assert_eq!(finished("The export ends", told, &facts).narrative, None);
        let more = "Rows were read at once. Rows are now read in pages of 500.";
        assert_eq!(
            finished("The export ends", more, &facts).narrative.as_deref(),
            Some(more)
        );
    }

    #[test]
    fn decisions_of_the_last_message_need_no_room() {
        let work = Draft::new(ObservationType::Change, "Pages have 500 rows".to_owned(), 1, 100);
        let decision = Draft::new(
            ObservationType::Decision,
            "Chose pages over a stream".to_owned(),
            2,
            FIRM,
        );
        let aside = Draft::new(ObservationType::Discovery, "The driver buffers".to_owned(), 0, 40);
        let titles: Vec<String> = choose(vec![work, decision, aside], 1)
            .into_iter()
            .map(|draft| draft.title)
            .collect();
        assert_eq!(titles, ["Pages have 500 rows", "Chose pages over a stream"]);
    }
}
