//! `/projects/{id}`: hand-over, open items, timeline, activity, latest memories, files and branches of one project.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use axum::extract::{Path, State};
use backstory_model::{MemoryKind, Timestamp};
use backstory_store::{Branch, BusyFile, DayCount, Filter, Memory, Project, Session, SessionFilter, Store};
use maud::{Markup, html};

use super::{
    card::{MemoryCard, type_label},
    handover::HandoverView,
    link,
    open_items::OpenItemList,
    plot,
    project_timeline::Timeline,
    sessions::row,
    text::inline_text,
    time::{DAY_MS, day_name},
    view::{NavItem, Paged, View, plural},
};
use crate::{problem::ApiError, server::Server};

/// Number of days in the activity chart.
const DAYS: i64 = 90;

/// After this long without observations the chart ends at the last active day instead of today.
const INACTIVE: Duration = Duration::from_hours(45 * 24);

struct Activity {
    last_day: i64,
    counts: Vec<DayCount>,
}

struct ProjectPage {
    project: Project,
    timeline: Option<Timeline>,
    /// The hand-over of the latest session that has one.
    handover: Option<HandoverView>,
    open: OpenItemList,
    activity: Activity,
    files: Vec<BusyFile>,
    branches: Vec<Branch>,
    sessions: Vec<Session>,
    pinned: Vec<MemoryCard>,
    latest: Vec<MemoryCard>,
}

impl ProjectPage {
    fn read(store: &Store, server: &Server, id: &str, view: &View) -> Result<Self, ApiError> {
        let project = store.project(id)?;
        let kinds = [MemoryKind::Observation, MemoryKind::Note];
        let page = store.page(&kinds, Some(&project), &Filter::default(), None, 8)?;
        let items = |memories: Vec<Memory>| -> Vec<MemoryCard> {
            let here = memories
                .iter()
                .filter(|memory| !server.pending_deletes.has(memory.handle));
            here.map(|memory| MemoryCard {
                project: None,
                ..MemoryCard::new(memory)
            })
            .collect()
        };
        let mut pinned = Vec::new();
        for handle in store.pinned(&project, 20)? {
            pinned.extend(store.memory(handle)?);
        }
        let sessions = store.sessions(&SessionFilter {
            project: Some(&project),
            after: None,
            limit: 5,
        })?;
        let mut handover = None;
        for session in &sessions {
            if handover.is_none() {
                handover = HandoverView::read(store, session)?;
            }
        }
        let stated = handover.as_ref().map(|view| &view.handover);
        Ok(Self {
            timeline: Timeline::read(store, &project)?,
            open: OpenItemList::read(store, &project, stated, view.times.now)?,
            handover,
            sessions,
            activity: Activity::read(store, &project, view)?,
            files: store.busy_files(&project, 12)?,
            branches: store.branches(&project, 8)?,
            latest: items(page.memories)
                .into_iter()
                .filter(|item| !item.is_pinned)
                .collect(),
            pinned: items(pinned),
            project,
        })
    }

    fn show(&self, view: &View) -> Markup {
        let id = self.project.id.as_str();
        let empty = html! {};
        html! {
            h1 { (inline_text(&self.project.name)) }
            p.muted.path { (inline_text(id)) @if self.project.root != self.project.id { " · " (inline_text(&self.project.root)) } }
            p.actions {
                a.button href=(link::with_query("/context", &[("project", id)])) { "Context of the next session" }
                a.button.quiet href=(link::with_query("/search", &[("project", id)])) { "Search this project" }
                a.button.quiet href=(link::with_query("/sessions", &[("project", id)])) { "Sessions" }
            }
            @if let Some(handover) = &self.handover {
                (handover.show_without_open())
                p.meta { a href=(link::session(&handover.session_id)) { "The session that left it" } }
            }
            (self.open.show(view))
            @if let Some(timeline) = &self.timeline { (timeline.show()) }
            (self.activity.show())
            div.columns {
                div.wide {
                    @if !self.pinned.is_empty() {
                        section aria-labelledby="pinned" {
                            h2 #pinned { "Pinned" }
                            ol.list { @for item in &self.pinned { (item.show(view, &empty)) } }
                        }
                    }
                    section aria-labelledby="latest" {
                        h2 #latest { "Latest memories" }
                        @if self.latest.is_empty() { p.muted { "No memories yet." } }
                        ol.list #project-latest data-live="list" {
                            @for item in &self.latest { (item.show(view, &empty)) }
                        }
                    }
                    section aria-labelledby="sessions" {
                        h2 #sessions { "Latest sessions" }
                        ol.list { @for session in &self.sessions { (row(session, view)) } }
                    }
                }
                div.aside { (files(&self.files, id)) (branches(view, &self.branches)) }
            }
        }
    }
}

impl Activity {
    fn read(store: &Store, project: &Project, view: &View) -> Result<Self, ApiError> {
        let now = view.times.now;
        let last_at = store.last_observation_at(project)?.unwrap_or(now);
        let end = if now.since(last_at) > INACTIVE {
            last_at
        } else {
            now
        };
        let offset_ms = view.times.offset_ms(end);
        let last_day = (end.as_millis() + offset_ms).div_euclid(DAY_MS);
        let start_of = |day: i64| Timestamp::from_millis(day * DAY_MS - offset_ms);
        let days = start_of(last_day - DAYS + 1)..start_of(last_day + 1);
        Ok(Self {
            last_day,
            counts: store.observations_by_day(project, days)?,
        })
    }

    fn show(&self) -> Markup {
        let first_day = self.last_day - DAYS + 1;
        let mut by_day: BTreeMap<i64, Vec<(&'static str, u64)>> = BTreeMap::new();
        let mut by_type: BTreeMap<&str, u64> = BTreeMap::new();
        for count in &self.counts {
            let kind = count.kind.name();
            by_day
                .entry(first_day + count.day)
                .or_default()
                .push((kind, count.count));
            *by_type.entry(kind).or_default() += count.count;
        }
        let bars: Vec<plot::Bar> = (first_day..=self.last_day)
            .map(|day| plot::Bar {
                label: day_name(Timestamp::from_millis(day * DAY_MS)),
                parts: by_day.remove(&day).unwrap_or_default(),
            })
            .collect();
        let total: u64 = by_type.values().sum();
        let (first, last) = (
            day_name(Timestamp::from_millis(first_day * DAY_MS)),
            day_name(Timestamp::from_millis(self.last_day * DAY_MS)),
        );
        let about = format!("{} from {first} to {last}", plural(total, "memory", "memories"));
        html! {
            section.panel aria-labelledby="activity" {
                h2 #activity { "Activity" }
                (plot::bars(&bars, None, &about))
                div.axis aria-hidden="true" { span { (first) } span { (last) } }
                ul.legend {
                    @for (kind, count) in &by_type {
                        li { (type_label(kind)) " " span.number { (count) } }
                    }
                    @if by_type.is_empty() { li.muted { "No memories in this period." } }
                }
            }
        }
    }
}

fn files(files: &[BusyFile], project: &str) -> Markup {
    html! {
        section aria-labelledby="files" {
            h2 #files { "Most-cited files" }
            @if files.is_empty() { p.muted { "No memories about files yet." } }
            ol.ranks {
                @for file in files {
                    li {
                        a.path href=(link::file(&file.path, Some(project))) { (inline_text(&file.path)) }
                        span.number title=(plural(file.changes, "change", "changes")) { (file.memories) }
                    }
                }
            }
        }
    }
}

fn branches(view: &View, branches: &[Branch]) -> Markup {
    html! {
        @if !branches.is_empty() {
            section aria-labelledby="branches" {
                h2 #branches { "Branches" }
                ol.entries {
                    @for branch in branches {
                        li {
                            span.path { (inline_text(&branch.name)) }
                            p.meta { span { (plural(branch.sessions, "session", "sessions")) } (view.times.ago(branch.last_at)) }
                        }
                    }
                }
            }
        }
    }
}

pub(super) async fn page(State(server): State<Arc<Server>>, view: View, Path(id): Path<String>) -> Paged {
    let (state, viewed) = (Arc::clone(&server), view.clone());
    let page = server
        .stores
        .read(move |store| ProjectPage::read(store, &state, &id, &viewed))
        .await?;
    Ok(view.page(&page.project.name, NavItem::Projects, &page.show(&view)))
}
