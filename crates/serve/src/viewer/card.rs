//! Renders a memory as a list item.

use backstory_model::{Handle, MemoryKind, ObservationType, Timestamp};
use backstory_recall::{BranchMark, matches};
use backstory_store::Memory;
use maud::{Markup, html};

use super::{
    link,
    text::{inline_text, marked, single_line},
    view::View,
};

/// Maximum length of a title, in characters.
const MAX_TITLE: usize = 160;

/// The parts of a memory that a list item shows.
#[derive(Clone, Debug)]
pub(super) struct MemoryCard {
    pub(super) handle: Handle,
    pub(super) type_name: Option<String>,
    pub(super) title: String,
    pub(super) more: Option<String>,
    pub(super) project: Option<String>,
    pub(super) project_id: Option<String>,
    pub(super) created_at: Timestamp,
    pub(super) is_pinned: bool,
    pub(super) is_superseded: bool,
    pub(super) is_stale: bool,
    /// It was tried and did not work.
    pub(super) is_rejected: bool,
    /// Branch of work that is not merged.
    pub(super) branch: Option<BranchMark>,
    /// Label of a note that an agent saved.
    pub(super) agent_label: Option<String>,
    /// Query words to highlight in the title.
    pub(super) words: Vec<String>,
}

impl MemoryCard {
    /// Builds a card from a stored memory.
    pub(super) fn new(memory: &Memory) -> Self {
        let record = &memory.record;
        let more = [&record.subtitle, &record.completed, &record.narrative]
            .into_iter()
            .flatten()
            .find(|text| !text.trim().is_empty());
        Self {
            handle: memory.handle,
            type_name: record.type_name.clone(),
            title: single_line(record.headline(), MAX_TITLE),
            more: more.map(|text| single_line(text, 180)),
            project: memory.project_name.clone(),
            project_id: record.project.clone(),
            created_at: memory.created_at,
            is_pinned: record.pinned,
            is_superseded: memory.superseded_by.is_some(),
            is_stale: false,
            is_rejected: memory.rejected,
            branch: BranchMark::of(memory),
            agent_label: memory.author_label(),
            words: Vec::new(),
        }
    }

    /// Returns the class that selects its color.
    pub(super) fn kind_class(&self) -> &'static str {
        kind_class(self.handle.kind, self.type_name.as_deref())
    }

    /// Renders the card, with `below` between its text and its metadata.
    pub(super) fn show(&self, view: &View, below: &Markup) -> Markup {
        let href = link::memory(self.handle);
        html! {
            li.item.gone[self.is_superseded] data-key=(self.handle) data-item data-kind=(self.kind_class()) {
                div.head {
                    a.title href=(href) { (marked(&self.title, &matches(&self.title, &self.words))) }
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
                    (view.times.ago(self.created_at))
                    @if self.is_pinned { span.badge.pin { "pinned" } }
                    @if self.is_rejected { (rejected_badge()) }
                    @if self.is_stale { span.badge.stale { "file changed since" } }
                    @if let Some(mark) = &self.branch { span.badge { (inline_text(&mark.plain_note())) } }
                    @if let Some(label) = &self.agent_label { span.badge { (inline_text(label)) } }
                    @if self.is_superseded { span.badge { "superseded" } }
                }
            }
        }
    }
}

/// Renders the mark of something that was tried and did not work.
pub(super) fn rejected_badge() -> Markup {
    html! { span.badge.stale { "tried, did not work" } }
}

/// Formats a handle for display: observations get a `#`.
pub(super) fn shown_handle(handle: Handle) -> String {
    match handle.kind {
        MemoryKind::Observation => format!("#{handle}"),
        _ => handle.to_string(),
    }
}

/// Returns the class that selects the color of a memory: its type, else its kind.
pub(super) fn kind_class(kind: MemoryKind, type_name: Option<&str>) -> &'static str {
    match kind {
        MemoryKind::Observation => type_name
            .and_then(ObservationType::from_name)
            .map_or("change", ObservationType::name),
        other => other.name(),
    }
}

/// Renders the type of a memory, else its kind, in its color.
pub(super) fn kind_label(kind: MemoryKind, type_name: Option<&str>) -> Markup {
    let class = kind_class(kind, type_name);
    html! { span.kind data-kind=(class) { (class) } }
}

/// Renders the name of an observation type in its color.
pub(super) fn type_label(name: &str) -> Markup {
    kind_label(MemoryKind::Observation, Some(name))
}
