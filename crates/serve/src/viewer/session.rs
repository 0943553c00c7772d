//! `/sessions/{id}`: one session turn by turn, as a list or as a replay of single turns.

use std::{collections::BTreeMap, sync::Arc};

use axum::extract::{Path, Query, State};
use backstory_model::{Handle, TurnId};
use backstory_store::{Chapter, Session, Store, Turn};
use maud::{Markup, html};

use super::{
    handover::HandoverView,
    link,
    session_turn::{Depth, FullTurn, folded},
    sessions::status,
    text::{inline_text, opening},
    time::duration,
    told::SessionTold,
    view::{NavItem, Paged, Pairs, View, field, plural},
};
use crate::{problem::ApiError, server::Server};

/// Number of turns per page.
const PAGE_SIZE: usize = 25;

/// Last words longer than this are folded, in bytes.
const LAST_WORDS: usize = 600;

/// Maximum number of direct links to turns.
const MAX_STEPS: usize = 120;

struct SessionPage {
    session: Session,
    /// All turns of the session; `shown` holds the rendered ones.
    turns: Vec<Turn>,
    memories: usize,
    shown: Vec<FullTurn>,
    /// Index of the first shown turn.
    from: usize,
    is_replay: bool,
    handover: Option<HandoverView>,
    chapters: Vec<Chapter>,
    /// The agent's last report and the number of its turn.
    last_words: Option<(i64, String)>,
    told: SessionTold,
}

impl SessionPage {
    fn read(
        store: &Store,
        server: &Server,
        id: &str,
        turn: Option<i64>,
        from: usize,
    ) -> Result<Self, ApiError> {
        let session = store.session(id)?;
        let turns = store.turns(&session)?;
        let mut by_turn: BTreeMap<TurnId, Vec<Handle>> = store.memories_by_turn(&session)?;
        for handles in by_turn.values_mut() {
            handles.retain(|handle| !server.pending_deletes.has(*handle));
        }
        let memories = by_turn.values().map(Vec::len).sum();
        let (from, count, depth) = match turn {
            Some(number) => {
                let index = turns.iter().position(|turn| turn.number == number);
                let index = index.ok_or_else(|| {
                    ApiError::missing(format!("this session has no turn {number}"))
                        .hint(format!("it has {}", plural(turns.len() as u64, "turn", "turns")))
                })?;
                (index, 1, Depth::Replay)
            }
            None => (from.min(turns.len()), PAGE_SIZE, Depth::List),
        };
        let mut shown = Vec::new();
        for turn in turns.iter().skip(from).take(count) {
            let handles = by_turn.remove(&turn.id).unwrap_or_default();
            shown.push(FullTurn::read(store, turn.clone(), &handles, depth)?);
        }
        Ok(Self {
            handover: HandoverView::read(store, &session)?,
            chapters: store.chapters(session.db_id)?,
            last_words: store.last_words(session.db_id)?,
            told: SessionTold::read(store, server, &session, &turns)?,
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
        opening(title.unwrap_or("Session without a prompt"), 120)
    }

    fn show(&self, view: &View) -> Markup {
        let href = link::session(&self.session.session_id);
        html! {
            h1 { (inline_text(&self.title())) }
            @if let Some(subtitle) = &self.session.subtitle { p.lead { (inline_text(subtitle)) } }
            (self.facts(view))
            @if self.is_replay {
                (self.steps(&href))
                (self.turn_list(view, &href))
            } @else {
                div.columns.reading {
                    div.aside {
                        (self.last_words(&href))
                        (self.told.show(view, &self.session))
                        @if self.chapters.len() > 1 { (self.contents(&href)) }
                    }
                    div.wide {
                        @if let Some(handover) = &self.handover { (handover.show(view)) }
                        section aria-label="Turns" {
                            (self.steps(&href))
                            (self.turn_list(view, &href))
                            (self.pager(&href))
                        }
                    }
                }
            }
        }
    }

    fn steps(&self, href: &str) -> Markup {
        html! {
            @if !self.turns.is_empty() {
                nav.steps aria-label="Turns" {
                    @if self.is_replay {
                        a.button.quiet href=(href) { "All turns" }
                    } @else {
                        a.button href={ (href) "?turn=" (self.turns[0].number) } { "Replay" }
                    }
                    (self.stepper(href))
                    @if self.is_replay { (self.arrows(href)) }
                }
            }
        }
    }

    fn turn_list(&self, view: &View, href: &str) -> Markup {
        html! {
            @if self.turns.is_empty() {
                div.empty { p { "No prompts in this session yet." } }
            }
            div.turns #turns data-live=[(!self.is_replay).then_some("list")] {
                @for turn in &self.shown {
                    @for chapter in self.chapters.iter().filter(|chapter| chapter.turn == Some(turn.turn.number)) {
                        (self.chapter_heading(chapter, href))
                    }
                    (turn.show(view, &self.session))
                }
            }
        }
    }

    fn chapter_heading(&self, chapter: &Chapter, href: &str) -> Markup {
        html! {
            @if self.chapters.len() > 1 {
                h2.chapter #{ "chapter-" (chapter.number) } data-key={ "chapter-" (chapter.number) } {
                    span.number { (chapter.number) } " "
                    @if self.is_replay {
                        a href={ (href) "#chapter-" (chapter.number) } { (inline_text(&chapter.title)) }
                    } @else { (inline_text(&chapter.title)) }
                }
            }
        }
    }

    /// Renders the table of contents.
    fn contents(&self, href: &str) -> Markup {
        html! {
            section aria-labelledby="chapters" {
                h2 #chapters { "Chapters" }
                ol.entries.contents {
                    @for chapter in &self.chapters {
                        li {
                            span.number { (chapter.number) } " "
                            @match chapter.turn {
                                Some(turn) => a href=(self.chapter_link(chapter, turn, href)) { (inline_text(&chapter.title)) },
                                None => (inline_text(&chapter.title)),
                            }
                        }
                    }
                }
            }
        }
    }

    /// Returns the URL of a chapter: on this page if its turn is shown here.
    fn chapter_link(&self, chapter: &Chapter, turn: i64, href: &str) -> String {
        let anchor = format!("#chapter-{}", chapter.number);
        if self.shown.iter().any(|shown| shown.turn.number == turn) {
            return anchor;
        }
        let index = self.turns.iter().position(|one| one.number == turn).unwrap_or(0);
        format!("{href}?from={}{anchor}", index / PAGE_SIZE * PAGE_SIZE)
    }

    fn last_words(&self, href: &str) -> Markup {
        html! {
            @if let Some((turn, words)) = &self.last_words {
                section #last-words aria-labelledby="last-words-title" data-live="swap" {
                    h2 #last-words-title { "The agent's last words" }
                    blockquote.words { (folded(words, LAST_WORDS)) }
                    p.meta { a href={ (href) "?turn=" (turn) } { "turn " (turn) } }
                }
            }
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
                span { (plural(session.turns, "turn", "turns")) }
                span { (plural(self.memories as u64, "memory", "memories")) }
                span { (plural(session.events, "event", "events")) }
                span { "started " (view.times.exact(session.started_at)) }
                @if session.last_event_at > session.started_at {
                    span { "lasted " (duration(session.last_event_at.since(session.started_at))) }
                }
                @if let Some(reason) = &session.end_reason { span { "ended: " (inline_text(reason)) } }
                span.path { (inline_text(&session.session_id)) }
            }
        }
    }

    /// Renders a direct link to each turn.
    fn stepper(&self, href: &str) -> Markup {
        html! {
            ol.stepper {
                @for turn in self.turns.iter().take(MAX_STEPS) {
                    @let is_here = self.is_replay && self.shown.iter().any(|shown| shown.turn.id == turn.id);
                    li {
                        a href={ (href) "?turn=" (turn.number) } aria-label={ "Turn " (turn.number) }
                            aria-current=[is_here.then_some("step")] data-failed[turn.failures > 0] { (turn.number) }
                    }
                }
            }
        }
    }

    fn arrows(&self, href: &str) -> Markup {
        let before = self.from.checked_sub(1).and_then(|at| self.turns.get(at));
        let after = self.turns.get(self.from + 1);
        html! {
            span.arrows {
                @if let Some(turn) = before {
                    a.button.quiet rel="prev" data-prev href={ (href) "?turn=" (turn.number) } { "← Turn " (turn.number) }
                }
                @if let Some(turn) = after {
                    a.button.quiet rel="next" data-next href={ (href) "?turn=" (turn.number) } { "Turn " (turn.number) " →" }
                    button.quiet type="button" data-play hidden { "Play" }
                }
            }
        }
    }

    fn pager(&self, href: &str) -> Markup {
        let end = self.from + self.shown.len();
        html! {
            @if self.from > 0 || end < self.turns.len() {
                nav.actions aria-label="More turns" {
                    @if self.from > 0 {
                        a.button.quiet href={ (href) "?from=" (self.from.saturating_sub(PAGE_SIZE)) } { "Earlier turns" }
                    }
                    @if end < self.turns.len() {
                        a.button.quiet href={ (href) "?from=" (end) } {
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
    let state = Arc::clone(&server);
    let page = server
        .stores
        .read(move |store| SessionPage::read(store, &state, &id, turn, from.unwrap_or(0)))
        .await?;
    Ok(view.page(&page.title(), NavItem::Sessions, &page.show(&view)))
}
