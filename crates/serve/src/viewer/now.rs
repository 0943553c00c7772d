//! `/`: the latest memories, the active sessions and the queue, updated live.

use std::{sync::Arc, time::Duration};

use axum::extract::{Query, State};
use backstory_model::MemoryKind;
use backstory_store::{ActiveSession, Filter, PageCursor, Store};
use maud::{Markup, html};

use super::{
    card::MemoryCard,
    link,
    text::{clipped, inline_text},
    time::duration,
    view::{NavItem, Paged, Pairs, View, field, plural},
};
use crate::{api_types::QueueJson, problem::ApiError, server::Server};

/// Number of memories per page.
const PAGE_SIZE: usize = 20;

/// A session without events for this long no longer counts as active.
const IDLE: Duration = Duration::from_hours(6);

const SHOWN: [MemoryKind; 4] = [
    MemoryKind::Prompt,
    MemoryKind::Observation,
    MemoryKind::Summary,
    MemoryKind::Note,
];

struct NowPage {
    items: Vec<MemoryCard>,
    next: Option<PageCursor>,
    running: Vec<ActiveSession>,
    queue: QueueJson,
    is_first: bool,
}

impl NowPage {
    fn read(store: &Store, server: &Server, after: Option<PageCursor>) -> Result<Self, ApiError> {
        let now = server.now();
        let page = store.page(&SHOWN, None, &Filter::default(), after, PAGE_SIZE)?;
        let items = page
            .memories
            .iter()
            .filter(|memory| !server.pending_deletes.has(memory.handle))
            .map(MemoryCard::new);
        Ok(Self {
            items: items.collect(),
            next: page.next,
            running: store.running(now - IDLE, 8)?,
            queue: QueueJson::new(store.queue(0)?, server.engine.spooled(), now),
            is_first: after.is_none(),
        })
    }

    fn show(&self, view: &View) -> Markup {
        html! {
            h1 { "Now" }
            div.columns {
                section.wide aria-labelledby="latest" {
                    div.bar {
                        h2 #latest { "Latest memories" }
                        button.new type="button" data-new hidden { "0 new" }
                    }
                    @if self.items.is_empty() { (empty()) }
                    ol.list #feed data-live=[self.is_first.then_some("list")] {
                        @for item in &self.items { (item.show(view, &html! {})) }
                    }
                    @if let Some(next) = self.next {
                        p { a.button.quiet href={ "/?after=" (next) } { "Older" } }
                    }
                }
                div.aside {
                    section aria-labelledby="running" #running-box data-live="swap" {
                        h2 #running { "Active sessions" }
                        @if self.running.is_empty() { p.muted { "No active sessions." } }
                        @for session in &self.running { (running(session, view)) }
                    }
                    section aria-labelledby="queue" #queue-box data-live="swap" {
                        h2 #queue { "Queue" }
                        (queue(&self.queue))
                    }
                }
            }
        }
    }
}

fn running(session: &ActiveSession, view: &View) -> Markup {
    let state = match (session.is_waiting, session.is_summarizing) {
        (true, true) => "distilling",
        (true, false) => "waiting for you",
        (false, _) => "working",
    };
    html! {
        article.running data-busy[!session.is_waiting] {
            h3 {
                a href=(link::session(&session.session_id)) {
                    (inline_text(session.title.as_deref().unwrap_or(&session.project)))
                }
            }
            @if let Some(prompt) = &session.prompt { p.prompt { (inline_text(&clipped(prompt, 140))) } }
            p.meta {
                span.state { (state) }
                span { (inline_text(&session.project)) }
                @if let Some(branch) = &session.branch { span { (inline_text(branch)) } }
                @if let Some(turn) = session.turn { span { "turn " (turn) } }
                @if session.tools > 0 { span { (plural(session.tools, "tool use", "tool uses")) } }
                @if let (false, Some(started)) = (session.is_waiting, session.turn_started_at) {
                    span { "for " (duration(view.times.now.since(started))) }
                }
                (view.times.ago(session.last_event_at))
            }
        }
    }
}

fn queue(queue: &QueueJson) -> Markup {
    let pending = queue.pending + queue.processing;
    html! {
        @if pending == 0 && queue.failed == 0 {
            p.muted { "Up to date." }
        } @else {
            p {
                @if pending > 0 { (plural(pending, "event", "events")) " pending. " }
                @if queue.failed > 0 {
                    a.warn href="/status" { (plural(queue.failed, "event", "events")) " failed" }
                }
            }
        }
    }
}

fn empty() -> Markup {
    html! {
        div.empty {
            p.lead { "No memories yet." }
            ol {
                li { "Connect your agents and import past sessions: " code { "backstory setup" } "." }
                li { "Or try it with sample data: " code { "backstory demo" } "." }
            }
            p.muted { "Activity appears here live." }
        }
    }
}

pub(super) async fn page(State(server): State<Arc<Server>>, view: View, Query(pairs): Query<Pairs>) -> Paged {
    let after = field(&pairs, "after")
        .map(str::parse)
        .transpose()
        .map_err(|_| ApiError::bad("invalid cursor").hint("start again from the first page"))?;
    let state = Arc::clone(&server);
    let page = server
        .stores
        .read(move |store| NowPage::read(store, &state, after))
        .await?;
    Ok(view.page("Now", NavItem::Now, &page.show(&view)))
}
