//! `/sessions/{id}`: one conversation, turn by turn.

use std::{collections::BTreeMap, sync::Arc};

use axum::extract::{Path, Query, State};
use backstory_model::Handle;
use backstory_recall::one_line;
use backstory_store::{Session, Store, Turn};
use maud::{Markup, html};

use super::{
    link,
    session_turn::{Depth, FullTurn},
    sessions::status,
    text::inline_text,
    time::lasted,
    view::{NavItem, Paged, Pairs, View, field, many},
};
use crate::{problem::ApiError, server::Server};

/// So many turns stand on a page.
const ON_PAGE: usize = 25;

/// So many turns can be gone to directly.
const STEPS: usize = 120;

struct Page {
    session: Session,
    /// All turns; those that are shown in full are below.
    turns: Vec<Turn>,
    memories: usize,
    shown: Vec<FullTurn>,
    /// Where in the turns the shown ones begin.
    from: usize,
    is_replay: bool,
}

impl Page {
    fn read(
        store: &Store,
        server: &Server,
        id: &str,
        turn: Option<i64>,
        from: usize,
    ) -> Result<Self, ApiError> {
        let session = store.session(id)?;
        let turns = store.turns(&session)?;
        let mut made: BTreeMap<i64, Vec<Handle>> = store.memories_by_turn(&session)?;
        for handles in made.values_mut() {
            handles.retain(|handle| !server.leaving.has(*handle));
        }
        let memories = made.values().map(Vec::len).sum();
        let (from, count, depth) = match turn {
            Some(number) => {
                let place = turns.iter().position(|turn| turn.number == number);
                let place = place.ok_or_else(|| {
                    ApiError::missing(format!("this session has no turn {number}"))
                        .hint(format!("it has {}", many(turns.len() as u64, "turn", "turns")))
                })?;
                (place, 1, Depth::Replay)
            }
            None => (from.min(turns.len()), ON_PAGE, Depth::List),
        };
        let mut shown = Vec::new();
        for turn in turns.iter().skip(from).take(count) {
            let made = made.remove(&turn.id).unwrap_or_default();
            shown.push(FullTurn::read(store, turn.clone(), &made, depth)?);
        }
        Ok(Self {
            session,
            memories,
            shown,
            from,
            is_replay: turn.is_some(),
            turns,
        })
    }

    fn title(&self) -> String {
        let title = self
            .session
            .title
            .as_deref()
            .or(self.session.first_prompt.as_deref());
        one_line(title.unwrap_or("A session without a prompt"), 120)
    }

    fn show(&self, view: &View) -> Markup {
        let address = link::session(&self.session.session_id);
        html! {
            h1 { (inline_text(&self.title())) }
            (self.facts(view))
            @if !self.turns.is_empty() {
                nav.steps aria-label="Turns" {
                    @if self.is_replay {
                        a.button.quiet href=(address) { "All turns" }
                    } @else {
                        a.button href={ (address) "?turn=" (self.turns[0].number) } { "Replay" }
                    }
                    (self.stepper(&address))
                    @if self.is_replay { (self.arrows(&address)) }
                }
            }
            @if self.turns.is_empty() {
                div.empty { p { "Nothing was asked in this session yet." } }
            }
            div.turns #turns data-live=[(!self.is_replay).then_some("list")] {
                @for turn in &self.shown { (turn.show(view, &self.session)) }
            }
            @if !self.is_replay { (self.pager(&address)) }
        }
    }

    fn facts(&self, view: &View) -> Markup {
        let session = &self.session;
        html! {
            p.meta #session-facts data-live="swap" {
                (status(session))
                a href=(link::project(&session.project_id)) { (inline_text(&session.project)) }
                @if let Some(branch) = &session.branch { span { (inline_text(branch)) } }
                @if let Some(worktree) = &session.worktree { span.path { (inline_text(worktree)) } }
                span { (inline_text(&session.host)) }
                span { (many(session.turns, "turn", "turns")) }
                span { (many(self.memories as u64, "memory", "memories")) }
                span { (many(session.events, "event", "events")) }
                span { "began " (view.clock.exact(session.started_ms)) }
                @if session.last_event_ms > session.started_ms {
                    span { "lasted " (lasted(session.last_event_ms - session.started_ms)) }
                }
                @if let Some(reason) = &session.end_reason { span { "ended: " (inline_text(reason)) } }
                span.path { (inline_text(&session.session_id)) }
            }
        }
    }

    /// A step for each turn, to go to.
    fn stepper(&self, address: &str) -> Markup {
        html! {
            ol.stepper {
                @for turn in self.turns.iter().take(STEPS) {
                    @let is_here = self.is_replay && self.shown.iter().any(|shown| shown.turn.id == turn.id);
                    li {
                        a href={ (address) "?turn=" (turn.number) } aria-label={ "Turn " (turn.number) }
                            aria-current=[is_here.then_some("step")] data-failed[turn.failures > 0] { (turn.number) }
                    }
                }
            }
        }
    }

    fn arrows(&self, address: &str) -> Markup {
        let before = self.from.checked_sub(1).and_then(|at| self.turns.get(at));
        let after = self.turns.get(self.from + 1);
        html! {
            span.arrows {
                @if let Some(turn) = before {
                    a.button.quiet rel="prev" data-prev href={ (address) "?turn=" (turn.number) } { "← Turn " (turn.number) }
                }
                @if let Some(turn) = after {
                    a.button.quiet rel="next" data-next href={ (address) "?turn=" (turn.number) } { "Turn " (turn.number) " →" }
                    button.quiet type="button" data-play hidden { "Play" }
                }
            }
        }
    }

    fn pager(&self, address: &str) -> Markup {
        let end = self.from + self.shown.len();
        html! {
            @if self.from > 0 || end < self.turns.len() {
                nav.actions aria-label="More turns" {
                    @if self.from > 0 {
                        a.button.quiet href={ (address) "?from=" (self.from.saturating_sub(ON_PAGE)) } { "Earlier turns" }
                    }
                    @if end < self.turns.len() {
                        a.button.quiet href={ (address) "?from=" (end) } {
                            "Later turns (" (self.turns.len() - end) ")"
                        }
                    }
                }
            }
        }
    }
}

pub(super) async fn page(
    State(server): State<Arc<Server>>,
    view: View,
    Path(id): Path<String>,
    Query(pairs): Query<Pairs>,
) -> Paged {
    let number = |name: &str| field(&pairs, name).and_then(|text| text.parse::<i64>().ok());
    let turn = number("turn");
    let from = number("from").and_then(|from| usize::try_from(from).ok());
    let at_hand = Arc::clone(&server);
    let page = server
        .stores
        .read(move |store| Page::read(store, &at_hand, &id, turn, from.unwrap_or(0)))
        .await?;
    Ok(view.page(&page.title(), NavItem::Sessions, &page.show(&view)))
}
