//! A memory in the making, and what makes it fit to be read: limits, no repetition, order.

use backstory_model::ObservationType;

use super::likeness::{likeness, stems};
use super::text::{clip, code_spans, is_outside_code};
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

    /// Takes over what another draft knows beyond this one.
    pub(super) fn absorb(&mut self, other: Self) {
        self.facts.push(other.title);
        self.facts.extend(other.facts);
        for concept in other.concepts {
            if !self.concepts.contains(&concept) {
                self.concepts.push(concept);
            }
        }
        self.files_read.extend(other.files_read);
        self.files_modified.extend(other.files_modified);
        self.evidence.extend(other.evidence);
        if self.narrative.is_none() {
            self.narrative = other.narrative;
        }
    }

    /// The finished memory.
    pub(super) fn finish(self) -> NewObservation {
        let title = title::force(&self.title);
        let mut facts: Vec<String> = Vec::new();
        for fact in self.facts {
            let fact = fact.trim().trim_end_matches(['.', ';', ',']).to_owned();
            let stated = title.strip_prefix("Before the change: ").unwrap_or(&title);
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
                .filter(|narrative| !narrative.is_empty()),
            title,
            facts,
            concepts,
            files_read,
            files_modified,
            evidence: once(self.evidence, MAX_EVIDENCE),
        }
    }
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

/// From this worth on, what there is no room for becomes facts of the main memory.
const WORTH_A_FACT: u8 = 55;

/// Chooses the drafts worth keeping: the best `room`, those that change files always, no two that say the same, in the
/// order of the turn.
pub(super) fn choose(mut drafts: Vec<Draft>, room: usize) -> Vec<Draft> {
    drafts.sort_by_key(|draft| (draft.files_modified.is_empty(), u8::MAX - draft.worth, draft.step));
    let mut kept: Vec<Draft> = Vec::new();
    for draft in drafts {
        if let Some(same) = kept.iter_mut().find(|known| known.repeats(&draft)) {
            same.absorb(draft);
        } else if kept.len() < room {
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
