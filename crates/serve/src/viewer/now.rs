//! `/`: the latest turns with what came of them, the numbers of today, active sessions and the queue, updated live.

use std::{collections::HashMap, sync::Arc, time::Duration};

use axum::extract::{Query, State};
use backstory_capture::private::file_name;
use backstory_model::Timestamp;
use backstory_store::{ActiveSession, ActivityCounts, FeedEntry, PageCursor, Project, Store};
use maud::{Markup, html};

use super::{
    activity_year::ActivityYear,
    card::MemoryCard,
    link,
    text::{clipped, inline_text},
    time::duration,
    turn_card::TurnItem,
    view::{NavItem, Paged, Pairs, View, distinct_names, field, number, plural},
};
use crate::{api_types::QueueJson, problem::ApiError, server::Server};

/// Number of turns per page.
const PAGE_SIZE: usize = 15;

/// A session without events for this long no longer counts as active.
const IDLE: Duration = Duration::from_hours(6);

/// Number of projects to choose from.
const MAX_PROJECTS: u32 = 8;

enum Item {
    Turn(TurnItem),
    Memory(Box<MemoryCard>),
}

/// Numbers of the current day.
struct Today {
    counts: ActivityCounts,
    /// Memories that were injected, in all projects.
    recalled: u64,
    tokens: u64,
}

struct NowPage {
    items: Vec<Item>,
    next: Option<PageCursor>,
    running: Vec<ActiveSession>,
    queue: QueueJson,
    is_first: bool,
    project: Option<Project>,
    projects: Vec<Project>,
    today: Today,
    year: ActivityYear,
}

impl NowPage {
    fn read(
        store: &Store,
        server: &Server,
        view: &View,
        project: Option<&str>,
        after: Option<PageCursor>,
    ) -> Result<Self, ApiError> {
        let now = server.now();
        let project = project.map(|named| store.project(named)).transpose()?;
        let mut projects = store.recent_projects(MAX_PROJECTS)?;
        if let Some(chosen) = project.as_ref().filter(|chosen| !projects.contains(chosen)) {
            projects.push(chosen.clone());
        }
        let day_start = view.times.start_of_day(view.times.day_of(now));
        let mut running = store.running(now - IDLE, 8)?;
        running.retain(|session| {
            project
                .as_ref()
                .is_none_or(|project| project.id == session.project_id)
        });
        let page = store.turn_feed(project.as_ref(), after, PAGE_SIZE)?;
        let (recalled, injected_at) = recalls(server, &page.entries, day_start)?;
        let mut items = Vec::new();
        for entry in page.entries {
            match entry {
                FeedEntry::Turn(card) => {
                    let times = injected_at.get(&card.session_id).map_or(&[][..], Vec::as_slice);
                    let item = TurnItem::new(card, times, |handle| server.pending_deletes.has(handle));
                    items.push(Item::Turn(item));
                }
                FeedEntry::Memory(memory) if server.pending_deletes.has(memory.handle) => {}
                FeedEntry::Memory(memory) => items.push(Item::Memory(Box::new(MemoryCard::new(&memory)))),
            }
        }
        Ok(Self {
            items,
            next: page.next,
            running,
            queue: QueueJson::new(store.queue(0)?, server.engine.spooled(), now),
            is_first: after.is_none(),
            today: Today {
                counts: store.activity_since(project.as_ref(), day_start)?,
                ..recalled
            },
            year: ActivityYear::read(store, project.as_ref(), &view.times)?,
            project,
            projects,
        })
    }

    fn show(&self, view: &View) -> Markup {
        html! {
            h1 { "Now" }
            @if self.projects.len() > 1 { (self.project_chips()) }
            section.panel.today aria-label="Activity" {
                (self.today.show(self.project.is_some()))
                (self.year.show())
            }
            div.columns {
                section.wide aria-labelledby="latest" {
                    div.bar {
                        h2 #latest { "Latest turns" }
                        button.new type="button" data-new hidden { "0 new" }
                    }
                    @if self.items.is_empty() { (empty(self.project.is_some())) }
                    ol.list #feed data-live=[self.is_first.then_some("list")] {
                        @for item in &self.items {
                            @match item {
                                Item::Turn(turn) => (turn.show(view)),
                                Item::Memory(card) => (card.show(view, &html! {})),
                            }
                        }
                    }
                    @if let Some(next) = self.next {
                        @let project = self.project.as_ref().map_or("", |project| project.id.as_str());
                        p { a.button.quiet href=(link::with_query("/", &[("project", project), ("after", &next.to_string())])) { "Older" } }
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

    fn project_chips(&self) -> Markup {
        let chosen = self.project.as_ref().map(|project| project.id.as_str());
        html! {
            nav.chips aria-label="Projects" {
                a.chip href="/" aria-current=[chosen.is_none().then_some("true")] { "All projects" }
                @let names = distinct_names(self.projects.iter().map(|project| (project.id.as_str(), project.name.as_str())));
                @for (project, name) in self.projects.iter().zip(names) {
                    a.chip href=(link::with_query("/", &[("project", &project.id)]))
                        aria-current=[(chosen == Some(project.id.as_str())).then_some("true")] { (inline_text(&name)) }
                }
            }
        }
    }
}

impl Today {
    fn show(&self, is_project: bool) -> Markup {
        let numbers = [
            ("turns", self.counts.turns),
            ("memories", self.counts.memories),
            ("sessions", self.counts.sessions),
        ];
        html! {
            section #today data-live="swap" aria-labelledby="today-title" {
                h2 #today-title { "Today" }
                dl.numbers {
                    @for (name, value) in numbers { div { dt { (name) } dd { (number(value)) } } }
                    // The log has no projects.
                    @if !is_project {
                        div { dt { a href="/recall" { "recalled" } } dd { (number(self.recalled)) } }
                        div { dt { "tokens recalled" } dd { (number(self.tokens)) } }
                    }
                }
            }
        }
    }
}

/// Times of the injections into a session, by the agent's id of the session.
type InjectedAt = HashMap<String, Vec<Timestamp>>;

/// Returns the numbers of today's injections, and the times of all injections into the listed sessions.
fn recalls(
    server: &Server,
    entries: &[FeedEntry],
    day_start: Timestamp,
) -> Result<(Today, InjectedAt), ApiError> {
    let sessions = entries.iter().filter_map(|entry| match entry {
        FeedEntry::Turn(card) => Some((file_name(&card.session_id), card.session_id.clone())),
        FeedEntry::Memory(_) => None,
    });
    let by_log: HashMap<String, String> = sessions.collect();
    server.injections(|index| {
        let mut injected_at: InjectedAt = HashMap::new();
        let mut today = Today {
            counts: ActivityCounts::default(),
            recalled: 0,
            tokens: 0,
        };
        for (log, injection) in index.all() {
            if injection.at >= day_start {
                today.recalled += u64::from(injection.handle.is_some());
                today.tokens += injection.tokens;
            }
            if let Some(session) = by_log.get(log) {
                injected_at.entry(session.clone()).or_default().push(injection.at);
            }
        }
        (today, injected_at)
    })
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
            // The first prompt is often the title.
            @if let Some(prompt) = session.prompt.as_ref().filter(|prompt| !is_title(session, prompt)) {
                p.prompt { (inline_text(&clipped(prompt, 140))) }
            }
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

/// Returns whether a prompt says the same as the title of its session.
fn is_title(session: &ActiveSession, prompt: &str) -> bool {
    let beginning = |text: &str| {
        text.chars()
            .filter(|c| c.is_alphanumeric())
            .take(40)
            .collect::<String>()
    };
    let title = session.title.as_deref();
    title.is_some_and(|title| beginning(title).eq_ignore_ascii_case(&beginning(prompt)))
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

fn empty(is_project: bool) -> Markup {
    if is_project {
        return html! { div.empty { p { "No turns in this project yet." } p { a href="/" { "Show all projects" } } } };
    }
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
    let project = field(&pairs, "project").map(ToOwned::to_owned);
    let (state, viewed) = (Arc::clone(&server), view.clone());
    let page = server
        .stores
        .read(move |store| NowPage::read(store, &state, &viewed, project.as_deref(), after))
        .await?;
    Ok(view.page("Now", NavItem::Now, &page.show(&view)))
}
