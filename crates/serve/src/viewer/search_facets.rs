//! Filter chips of the search page: kinds, types, projects and periods, with the number of results.

use backstory_model::{MemoryKind, ObservationType};
use backstory_store::Memory;
use maud::{Markup, html};

use super::{
    link,
    text::inline_text,
    view::{Pairs, distinct_names, field},
};

/// Periods: value of `since` and label.
const PERIODS: [(&str, &str); 4] = [
    ("1d", "24 hours"),
    ("7d", "7 days"),
    ("30d", "30 days"),
    ("365d", "a year"),
];

/// Filters without chips of their own; they are shown while they are set.
const OTHERS: [(&str, &str); 4] = [
    ("concept", "concept"),
    ("file", "file"),
    ("session", "session"),
    ("until", "until"),
];

/// Counts of results by filter value.
#[derive(Default)]
pub(super) struct Facets {
    kinds: Vec<(MemoryKind, usize)>,
    types: Vec<(ObservationType, usize)>,
    /// Key, name and count.
    projects: Vec<(String, String, usize)>,
    /// Number of results that were counted.
    counted: usize,
}

impl Facets {
    /// Counts memories, most frequent values first.
    pub(super) fn count<'m>(memories: impl Iterator<Item = &'m Memory>) -> Self {
        let mut facets = Self::default();
        for memory in memories {
            facets.counted += 1;
            add(&mut facets.kinds, memory.handle.kind);
            if let Some(kind) = memory.record.observation_type() {
                add(&mut facets.types, kind);
            }
            if let (Some(id), Some(name)) = (&memory.record.project, &memory.project_name) {
                match facets.projects.iter_mut().find(|(known, ..)| known == id) {
                    Some((.., count)) => *count += 1,
                    None => facets.projects.push((id.clone(), name.clone(), 1)),
                }
            }
        }
        facets.kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        facets.types.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        facets
            .projects
            .sort_by_key(|(.., count)| std::cmp::Reverse(*count));
        facets
    }

    pub(super) fn show(&self, pairs: &Pairs, projects: &[(String, String)]) -> Markup {
        const MAX_PROJECTS: usize = 6;
        let kinds = chips(
            pairs,
            "kind",
            self.kinds
                .iter()
                .map(|(kind, count)| (kind.name(), kind.name(), Some(*count))),
        );
        let types = chips(
            pairs,
            "type",
            self.types
                .iter()
                .map(|(kind, count)| (kind.name(), kind.name(), Some(*count))),
        );
        let found = self.projects.iter().take(MAX_PROJECTS);
        let names = distinct_names(found.clone().map(|(id, name, _)| (id.as_str(), name.as_str())));
        let found = found.zip(&names);
        let found = found.map(|((id, _, count), name)| (id.as_str(), name.as_str(), Some(*count)));
        let chosen = field(pairs, "project").and_then(|id| projects.iter().find(|(known, _)| known == id));
        let is_counted = |id: &str| self.projects.iter().any(|(known, ..)| known == id);
        let chosen = chosen.filter(|(id, _)| !is_counted(id));
        let chosen = chosen.map(|(id, name)| (id.as_str(), name.as_str(), None));
        let by_project = chips(pairs, "project", found.chain(chosen));
        let periods = chips(
            pairs,
            "since",
            PERIODS.into_iter().map(|(value, label)| (value, label, None)),
        );
        html! {
            nav.facets aria-label="Filters" {
                @if self.counted > 0 || field(pairs, "kind").is_some() { (row("Kind", &kinds)) }
                @if !self.types.is_empty() || field(pairs, "type").is_some() { (row("Type", &types)) }
                @if self.projects.len() > 1 || field(pairs, "project").is_some() { (row("Project", &by_project)) }
                (row("Since", &periods))
                @for (name, label) in OTHERS {
                    @if let Some(value) = field(pairs, name) {
                        (row(label, &html! { (chip(pairs, name, value, value, None)) }))
                    }
                }
                @if self.counted > 0 { p.muted.caption { "Counts are of the first " (self.counted) " results." } }
            }
        }
    }
}

fn add<T: PartialEq>(counts: &mut Vec<(T, usize)>, value: T) {
    match counts.iter_mut().find(|(known, _)| *known == value) {
        Some((_, count)) => *count += 1,
        None => counts.push((value, 1)),
    }
}

fn row(label: &str, chips: &Markup) -> Markup {
    html! { p.chips { span.facet { (label) } (chips) } }
}

/// Renders the chips of a filter. A value that is set and has no results stays, so that it can be removed.
fn chips<'c>(
    pairs: &Pairs,
    name: &str,
    values: impl Iterator<Item = (&'c str, &'c str, Option<usize>)>,
) -> Markup {
    let values: Vec<(&str, &str, Option<usize>)> = values.collect();
    let chosen = field(pairs, name).filter(|chosen| values.iter().all(|(value, ..)| value != chosen));
    html! {
        @for (value, label, count) in &values { (chip(pairs, name, value, label, *count)) }
        @if let Some(chosen) = chosen { (chip(pairs, name, chosen, chosen, None)) }
    }
}

/// Renders a chip that sets a filter, or removes it if it is set.
fn chip(pairs: &Pairs, name: &str, value: &str, label: &str, count: Option<usize>) -> Markup {
    let is_set = field(pairs, name) == Some(value);
    let others = pairs
        .iter()
        .filter(|(other, _)| other != name && other != "after")
        .map(|(other, value)| (other.as_str(), value.as_str()));
    let own = (!is_set).then_some((name, value));
    let href = link::with_query("/search", &others.chain(own).collect::<Vec<_>>());
    html! {
        a.chip href=(href) aria-current=[is_set.then_some("true")] {
            (inline_text(label))
            @if let Some(count) = count { span.number { (count) } }
            @if is_set { span.unseen { ", remove" } span aria-hidden="true" { " ×" } }
        }
    }
}
