//! A memory in a list.

use std::collections::HashMap;

use backstory_model::{Handle, MemoryKind, ObservationType};
use backstory_recall::{matches, one_line};
use backstory_store::{MemoryRecord, MemoryView};
use maud::{Markup, html};

use super::{
    link,
    text::{inline_text, marked},
    view::View,
};

/// So many characters of a title are shown.
const TITLE: usize = 160;

/// A memory as every list shows it.
#[derive(Clone, Debug)]
pub(super) struct MemoryCard {
    pub(super) handle: Handle,
    pub(super) type_name: Option<String>,
    pub(super) title: String,
    pub(super) more: Option<String>,
    pub(super) project: Option<String>,
    pub(super) project_id: Option<String>,
    pub(super) created_ms: i64,
    pub(super) is_pinned: bool,
    pub(super) is_superseded: bool,
    pub(super) is_stale: bool,
    /// Words to mark in the title.
    pub(super) words: Vec<String>,
}

impl MemoryCard {
    /// Shows a memory as it is stored; `names` says what projects are called.
    pub(super) fn of_line(handle: Handle, line: &MemoryRecord, names: &HashMap<String, String>) -> Self {
        let more = [&line.subtitle, &line.completed, &line.narrative]
            .into_iter()
            .flatten()
            .find(|text| !text.trim().is_empty());
        Self {
            handle,
            type_name: line.type_name.clone(),
            title: one_line_kept(line.headline(), TITLE),
            more: more.map(|text| one_line_kept(text, 180)),
            project: line
                .project
                .as_ref()
                .map(|id| names.get(id).cloned().unwrap_or_else(|| id.clone())),
            project_id: line.project.clone(),
            created_ms: line.created_ms.unwrap_or_default(),
            is_pinned: line.pinned,
            is_superseded: false,
            is_stale: false,
            words: Vec::new(),
        }
    }

    /// Shows a memory as search knows it.
    pub(super) fn of_card(card: &MemoryView) -> Self {
        let fields = &card.fields;
        let title = [&fields.title, &fields.narrative]
            .into_iter()
            .find(|text| !text.trim().is_empty());
        Self {
            handle: card.handle,
            type_name: card.kind.clone(),
            title: one_line_kept(title.map_or("", String::as_str), TITLE),
            more: Some(one_line_kept(&fields.subtitle, 180)).filter(|text| !text.is_empty()),
            project: card.project.clone(),
            project_id: None,
            created_ms: card.created_ms,
            is_pinned: card.is_pinned,
            is_superseded: card.superseded_by.is_some(),
            is_stale: false,
            words: Vec::new(),
        }
    }

    /// Shows it, with anything else below.
    pub(super) fn show(&self, view: &View, below: &Markup) -> Markup {
        let address = link::memory(self.handle);
        html! {
            li.item.gone[self.is_superseded] data-key=(self.handle) data-item data-kind=(kind_class(self.handle.kind, self.type_name.as_deref())) {
                div.head {
                    a.title href=(address) { (marked(&self.title, &matches(&self.title, &self.words))) }
                    span.handle { (shown_handle(self.handle)) }
                }
                @if let Some(more) = &self.more { p.more { (inline_text(more)) } }
                (below)
                p.meta {
                    (kind_label(self.handle.kind, self.type_name.as_deref()))
                    @match (&self.project, &self.project_id) {
                        (Some(project), Some(id)) => { a href=(link::project(id)) { (inline_text(project)) } }
                        (Some(project), None) => { span { (inline_text(project)) } }
                        _ => {}
                    }
                    (view.clock.ago(self.created_ms))
                    @if self.is_pinned { span.badge.pin { "pinned" } }
                    @if self.is_stale { span.badge.stale { "file changed since" } }
                    @if self.is_superseded { span.badge { "superseded" } }
                }
            }
        }
    }
}

/// A handle as lists show it.
pub(super) fn shown_handle(handle: Handle) -> String {
    match handle.kind {
        MemoryKind::Observation => format!("#{handle}"),
        _ => handle.to_string(),
    }
}

/// What names the colour of a memory: its type, else its kind.
pub(super) fn kind_class(kind: MemoryKind, type_name: Option<&str>) -> &'static str {
    match kind {
        MemoryKind::Observation => type_name
            .and_then(ObservationType::from_name)
            .map_or("change", ObservationType::name),
        other => other.name(),
    }
}

/// Names a memory's type, or its kind, in its colour.
pub(super) fn kind_label(kind: MemoryKind, type_name: Option<&str>) -> Markup {
    let class = kind_class(kind, type_name);
    html! { span.kind data-kind=(class) { (class) } }
}

/// Names an observation type in its colour.
pub(super) fn type_label(name: &str) -> Markup {
    kind_label(MemoryKind::Observation, Some(name))
}

/// One line of a text, cut at a width. Characters that cannot be seen stay: they are named where they are shown.
pub(super) fn one_line_kept(text: &str, width: usize) -> String {
    let start: String = text.chars().take(width * 2).collect();
    let line = start.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.chars().count() > width {
        true => one_line(&line, width),
        false => line,
    }
}
