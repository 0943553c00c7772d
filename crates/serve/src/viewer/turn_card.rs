//! Renders a turn as a list item: what was asked, what came of it, the changed files and what the agent was told.

use backstory_model::{Handle, Timestamp};
use backstory_store::{Memory, TurnCard};
use maud::{Markup, html};

use super::{
    card::{MemoryCard, kind_class, kind_label, rejected_badge},
    link,
    text::{inline_text, opening, single_line},
    time::duration,
    view::{View, plural},
};

/// Number of memories and files that a card shows; the page of the turn has all.
const MAX_SHOWN: usize = 4;

/// A turn with the number of memories that were injected into it.
pub(super) struct TurnItem {
    card: Box<TurnCard>,
    recalled: usize,
}

impl TurnItem {
    /// Builds an item. `injected_at` holds the times of all injections into the session; `is_hidden` excludes memories that
    /// are about to be forgotten.
    pub(super) fn new(
        mut card: Box<TurnCard>,
        injected_at: &[Timestamp],
        is_hidden: impl Fn(Handle) -> bool,
    ) -> Self {
        card.observations.retain(|memory| !is_hidden(memory.handle));
        card.summary = card.summary.filter(|memory| !is_hidden(memory.handle));
        let turn = &card.turn;
        // What was injected at the start of the session belongs to its first turn.
        let from = (turn.number > 1).then_some(turn.started_at);
        let is_of_turn = |at: &&Timestamp| {
            from.is_none_or(|from| **at >= from) && turn.ended_at.is_none_or(|ended| **at <= ended)
        };
        Self {
            recalled: injected_at.iter().filter(is_of_turn).count(),
            card,
        }
    }

    pub(super) fn show(&self, view: &View) -> Markup {
        let turn = &self.card.turn;
        let href = link::turn(&self.card.session_id, turn.number);
        let kind = self.card.observations.first().map_or("prompt", |memory| {
            kind_class(memory.handle.kind, memory.record.type_name.as_deref())
        });
        html! {
            li.item.turn-card data-item data-key={ "turn-" (turn.id) } data-kind=(kind) {
                div.head {
                    a.title.asked href=(href) {
                        @match &turn.prompt {
                            Some(prompt) if !turn.machine_made => (inline_text(&opening(prompt, 200))),
                            _ => { "Turn " (turn.number) @if turn.machine_made { ", continued by the agent" } }
                        }
                    }
                    @if turn.prompt.is_some() { span.handle { (Handle::from(turn.id)) } }
                }
                (self.outcome())
                (self.files())
                (self.meta(view))
            }
        }
    }

    fn outcome(&self) -> Markup {
        let completed = self.card.summary.as_ref().and_then(|summary| {
            let record = &summary.record;
            let text = record.completed.as_deref().or(record.learned.as_deref())?;
            Some((summary, text))
        });
        let shown: Vec<MemoryCard> = self
            .card
            .observations
            .iter()
            .take(MAX_SHOWN)
            .map(MemoryCard::new)
            .collect();
        let more = self.card.observation_count.saturating_sub(shown.len() as u64);
        html! {
            @if shown.is_empty() {
                @if let Some((summary, text)) = completed { (summary_line(summary, text)) }
                @else if self.card.turn.ended_at.is_none() { p.more { "In progress." } }
            } @else {
                ul.outcomes {
                    @for memory in &shown {
                        li data-key=(memory.handle) data-kind=(memory.kind_class()) {
                            (kind_label(memory.handle.kind, memory.type_name.as_deref())) " "
                            a.gone[memory.is_superseded] href=(link::memory(memory.handle)) { (inline_text(&memory.title)) }
                            @if memory.is_rejected { " " (rejected_badge()) }
                            @if memory.is_pinned { " " span.badge.pin { "pinned" } }
                            @if memory.is_superseded { " " span.badge { "superseded" } }
                        }
                    }
                    @if more > 0 {
                        li { a.muted href=(link::turn(&self.card.session_id, self.card.turn.number)) { "and " (more) " more" } }
                    }
                }
            }
        }
    }

    fn files(&self) -> Markup {
        let files = &self.card.files;
        html! {
            @if !files.is_empty() {
                p.meta.changed {
                    span.unseen { "Changed files: " }
                    @for path in files.iter().take(MAX_SHOWN) {
                        a.path href=(link::file(path, Some(&self.card.project_id))) title=(path) { (inline_text(short_path(path))) }
                    }
                    @if files.len() > MAX_SHOWN { span { "and " (plural((files.len() - MAX_SHOWN) as u64, "file", "files")) } }
                }
            }
        }
    }

    fn meta(&self, view: &View) -> Markup {
        let turn = &self.card.turn;
        let tools = turn.tools + turn.subagent_tools;
        html! {
            p.meta {
                a href=(link::project(&self.card.project_id)) { (inline_text(&self.card.project)) }
                @if let Some(branch) = &turn.branch { span { (inline_text(branch)) } }
                a href=(link::session(&self.card.session_id)) { (inline_text(&self.card.host)) " session" }
                @if let Some(ended) = turn.ended_at.filter(|ended| *ended > turn.started_at) {
                    span { (duration(ended.since(turn.started_at))) }
                }
                @if tools > 0 { span { (plural(tools, "tool use", "tool uses")) } }
                @if turn.failures > 0 { span.badge.stale { (turn.failures) " failed" } }
                @if self.recalled > 0 {
                    a.badge.told href={ (link::session(&self.card.session_id)) "#told" } { "recalled " (plural(self.recalled as u64, "memory", "memories")) }
                }
                (view.times.ago(turn.started_at))
            }
        }
    }
}

fn summary_line(summary: &Memory, text: &str) -> Markup {
    html! {
        ul.outcomes {
            li data-key=(summary.handle) data-kind="summary" {
                (kind_label(summary.handle.kind, None)) " "
                a href=(link::memory(summary.handle)) { (inline_text(&single_line(text, 220))) }
            }
        }
    }
}

/// Returns the last two components of a path.
fn short_path(path: &str) -> &str {
    let mut slashes = path.rmatch_indices('/').map(|(at, _)| at);
    slashes.nth(1).map_or(path, |at| &path[at + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_shortened_to_its_end() {
        assert_eq!(short_path("crates/store/src/lib.rs"), "src/lib.rs");
        assert_eq!(short_path("src/lib.rs"), "src/lib.rs");
        assert_eq!(short_path("lib.rs"), "lib.rs");
    }
}
