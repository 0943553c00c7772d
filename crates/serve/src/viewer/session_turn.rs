//! Renders one turn of a session: prompt, actions and memories.

use backstory_model::{EventKind, Handle, MemoryKind, relative_path};
use backstory_store::{Memory, MemoryRecord, Session, Store, Turn, TurnAction};
use backstory_text::one_line;
use maud::{Markup, html};

use super::{
    card::MemoryCard,
    link,
    text::{block, clipped, inline_text},
    time::duration,
    view::{View, plural},
};
use crate::problem::ApiError;

/// Level of detail of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// In the list of turns, with the actions folded.
    List,
    /// On its own page, with all actions.
    Replay,
}

/// Returns the maximum number of actions listed for a turn.
const fn max_actions(depth: Depth) -> u32 {
    match depth {
        Depth::List => 200,
        Depth::Replay => 1_000,
    }
}

/// Prompts longer than this are folded, in bytes.
const LONG_PROMPT: usize = 900;

/// A turn with its actions and memories.
pub(super) struct FullTurn {
    pub(super) turn: Turn,
    actions: Vec<TurnAction>,
    memories: Vec<Memory>,
    depth: Depth,
}

impl FullTurn {
    pub(super) fn read(
        store: &Store,
        turn: Turn,
        handles: &[Handle],
        depth: Depth,
    ) -> Result<Self, ApiError> {
        let mut memories = Vec::new();
        for handle in handles {
            memories.extend(store.memory(*handle)?);
        }
        Ok(Self {
            actions: store.actions(turn.id, max_actions(depth))?,
            turn,
            memories,
            depth,
        })
    }

    pub(super) fn show(&self, view: &View, session: &Session) -> Markup {
        let turn = &self.turn;
        let observations = self
            .memories
            .iter()
            .filter(|memory| memory.handle.kind == MemoryKind::Observation);
        let summaries = self
            .memories
            .iter()
            .filter(|memory| memory.handle.kind == MemoryKind::Summary);
        let prompt = Handle::from(turn.id);
        html! {
            article.turn #{ "turn-" (turn.number) } data-key={ "turn-" (turn.number) } aria-label={ "Turn " (turn.number) } data-item {
                header {
                    h2 { a href={ (link::session(&session.session_id)) "?turn=" (turn.number) } { "Turn " (turn.number) } }
                    p.meta {
                        (view.times.exact(turn.started_at))
                        @if let Some(ended) = turn.ended_at { span { (duration(ended.since(turn.started_at))) } }
                        @else { span.state data-status="active" { "in progress" } }
                        @if let Some(branch) = &turn.branch { span { (inline_text(branch)) } }
                        @if turn.machine_made { span.badge { "machine-made prompt" } }
                    }
                }
                @match &turn.prompt {
                    Some(text) => { div.prompt {
                        (folded(text, LONG_PROMPT))
                        @if !turn.machine_made { p.meta { a href=(link::memory(prompt)) { (prompt) } } }
                    } }
                    None => { p.muted { "Prompt unavailable: private, forgotten or not recorded." } }
                }
                (self.actions(session))
                @if self.memories.is_empty() && turn.ended_at.is_some() {
                    p.muted { "No memories from this turn." }
                }
                ol.list { @for memory in observations { (MemoryCard { project: None, ..MemoryCard::new(memory) }.show(view, &html! {})) } }
                @for memory in summaries { (summary(memory.handle, &memory.record)) }
            }
        }
    }

    fn actions(&self, session: &Session) -> Markup {
        if self.actions.is_empty() {
            return html! {};
        }
        let failures = self
            .actions
            .iter()
            .filter(|action| action.error.is_some())
            .count();
        let total = self.turn.tools + self.turn.subagent_tools;
        let unlisted = total.saturating_sub(self.actions.len() as u64);
        html! {
            details.actions open[self.depth == Depth::Replay] {
                summary {
                    (plural(self.actions.len() as u64 + unlisted, "action", "actions"))
                    span.meta { (tally(&self.actions)) }
                    @if failures > 0 { span.badge.stale { (failures) " failed" } }
                }
                ol {
                    @for group in self.actions.chunk_by(|one, other| one.tool == other.tool && one.is_subagent == other.is_subagent) {
                        (actions(group, session))
                    }
                    @if unlisted > 0 { li.muted { "and " (unlisted) " more" } }
                }
            }
        }
    }
}

/// Renders a text, folded if it is longer than `max_len` bytes.
pub(super) fn folded(text: &str, max_len: usize) -> Markup {
    let start = clipped(text, max_len);
    if start == text {
        return block(text);
    }
    html! {
        (block(&start))
        details { summary { "Show all" } (block(text)) }
    }
}

/// Lists the most-used tools with their counts.
fn tally(actions: &[TurnAction]) -> String {
    let mut tools: Vec<(&str, usize)> = Vec::new();
    for action in actions {
        let name = action.tool.as_deref().unwrap_or(action.kind.name());
        match tools.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => tools.push((name, 1)),
        }
    }
    tools.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let named = tools
        .iter()
        .take(5)
        .map(|(name, count)| format!("{count} {}", one_line(name, 30)));
    named.collect::<Vec<_>>().join(", ")
}

/// Renders consecutive uses of the same tool as one group.
fn actions(group: &[TurnAction], session: &Session) -> Markup {
    let Some(first) = group.first() else {
        return html! {};
    };
    let name = match first.kind {
        EventKind::PreCompact => "Conversation compacted",
        _ => first.tool.as_deref().unwrap_or("Unknown tool"),
    };
    html! {
        li {
            span.tool { (inline_text(&one_line(name, 60))) @if group.len() > 1 { " ×" (group.len()) } }
            @if first.is_subagent { " " span.badge { "sub-agent" } }
            ul {
                @for action in group {
                    @if action.about.is_some() || action.error.is_some() {
                        li data-failed[action.error.is_some()] {
                            @if let Some(about) = &action.about {
                                @if action.is_file {
                                    @let path = relative(about, session);
                                    a.path href=(link::file(&path, Some(&session.project_id))) { (inline_text(&one_line(&path, 200))) }
                                } @else {
                                    code { (inline_text(&one_line(about, 200))) }
                                }
                            }
                            @if let Some(error) = &action.error { p.error { (inline_text(&one_line(error, 240))) } }
                        }
                    }
                }
            }
        }
    }
}

/// Returns a path relative to the root of the working tree, as memories cite it.
fn relative(path: &str, session: &Session) -> String {
    let roots = [session.worktree.as_deref(), session.cwd.as_deref()];
    relative_path(path, roots.into_iter().flatten())
}

/// Renders a summary as a section of its turn.
pub(super) fn summary(handle: Handle, line: &MemoryRecord) -> Markup {
    html! {
        section.summary data-kind="summary" data-item aria-label={ "Summary " (handle) } {
            p.meta { a.title href=(link::memory(handle)) { "Summary" } span.handle { (handle) } }
            (summary_fields(line))
        }
    }
}

/// Renders the fields of a summary.
pub(super) fn summary_fields(line: &MemoryRecord) -> Markup {
    let fields = [
        ("Request", &line.request),
        ("Investigated", &line.investigated),
        ("Learned", &line.learned),
        ("Completed", &line.completed),
        ("Next steps", &line.next_steps),
        ("Notes", &line.notes),
    ];
    html! {
        dl.fields {
            @for (name, text) in fields {
                @if let Some(text) = text { dt { (name) } dd { (block(text)) } }
            }
        }
    }
}
