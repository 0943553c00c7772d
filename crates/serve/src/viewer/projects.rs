//! `/projects`: all projects, most recent first, with their weekly activity.

use std::{sync::Arc, time::Duration};

use axum::extract::State;
use backstory_model::Timestamp;
use backstory_store::{ProjectCard, Store};
use maud::{Markup, html};

use super::{
    link, plot,
    text::inline_text,
    view::{NavItem, Paged, View, plural},
};
use crate::{problem::ApiError, server::Server};

const WEEK: Duration = Duration::from_hours(7 * 24);
const WEEKS: usize = 16;

/// Number of projects with an activity chart; each one costs a query.
const MAX_CHARTS: usize = 40;

struct Row {
    card: ProjectCard,
    weeks: Vec<u64>,
}

fn read(store: &Store, now: Timestamp) -> Result<Vec<Row>, ApiError> {
    let from = now - WEEK * u32::try_from(WEEKS).unwrap_or(0);
    let mut rows = Vec::new();
    for card in store.projects()? {
        let mut weeks = vec![0; WEEKS];
        if rows.len() < MAX_CHARTS {
            for (week, count) in store.activity_by_interval(Some(&card.project), from, WEEK)? {
                if let Some(slot) = usize::try_from(week).ok().and_then(|week| weeks.get_mut(week)) {
                    *slot += count;
                }
            }
        }
        rows.push(Row { card, weeks });
    }
    Ok(rows)
}

fn show(view: &View, rows: &[Row]) -> Markup {
    html! {
        h1 { "Projects" }
        @if rows.is_empty() {
            div.empty {
                p.lead { "No projects yet." }
                p { "A project appears with its first session. Run " code { "backstory install" } ", then start your agent." }
            }
        }
        ul.list {
            @for Row { card, weeks } in rows {
                li.item data-item {
                    div.head {
                        a.title href=(link::project(&card.project.id)) { (inline_text(&card.project.name)) }
                        (plot::sparkline(weeks, &format!("memories in the last {WEEKS} weeks: {}", weeks.iter().sum::<u64>())))
                    }
                    p.meta {
                        span { (plural(card.observations, "memory", "memories")) }
                        span { (plural(card.sessions, "session", "sessions")) }
                        @if let Some(last) = card.last_event_at { (view.times.ago(last)) }
                        span.path { (inline_text(&card.project.id)) }
                    }
                }
            }
        }
    }
}

pub(super) async fn page(State(server): State<Arc<Server>>, view: View) -> Paged {
    let now = view.times.now;
    let rows = server.stores.read(move |store| read(store, now)).await?;
    Ok(view.page("Projects", NavItem::Projects, &show(&view, &rows)))
}
