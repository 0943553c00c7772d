//! `/sessions`: all sessions, most recent first.

use std::sync::Arc;

use axum::extract::{Query, State};
use backstory_store::{Project, Session, SessionCursor, SessionFilter};
use backstory_text::one_line;
use maud::{Markup, html};

use super::{
    link,
    text::{inline_text, opening},
    time::duration,
    view::{NavItem, Paged, Pairs, View, field, plural},
};
use crate::{problem::ApiError, project_scope::ProjectScope, server::Server};

const PAGE_SIZE: u32 = 30;

/// Renders a session as a list item.
pub(super) fn row(session: &Session, view: &View) -> Markup {
    let title = session.title.as_deref().or(session.first_prompt.as_deref());
    html! {
        li.item data-item data-key={ "session-" (session.db_id) } data-status=(session.status.name()) {
            div.head {
                a.title href=(link::session(&session.session_id)) {
                    (inline_text(&opening(title.unwrap_or("Session without a prompt"), 160)))
                }
                span.handle { (one_line(&session.session_id, 9)) }
            }
            @if let Some(subtitle) = &session.subtitle { p.more { (inline_text(&one_line(subtitle, 200))) } }
            p.meta {
                (status(session))
                span { (inline_text(&session.project)) }
                @if let Some(branch) = &session.branch { span { (inline_text(branch)) } }
                span { (inline_text(&session.host)) }
                span { (plural(session.turns, "turn", "turns")) }
                @if session.last_event_at > session.started_at {
                    span { (duration(session.last_event_at.since(session.started_at))) }
                }
                (view.times.ago(session.last_event_at))
            }
        }
    }
}

/// Renders the status of a session.
pub(super) fn status(session: &Session) -> Markup {
    html! { span.state data-status=(session.status.name()) { (session.status.name()) } }
}

fn show(view: &View, sessions: &[Session], project: Option<&Project>, next: Option<String>) -> Markup {
    let id = project.map_or("", |project| project.id.as_str());
    html! {
        h1 {
            "Sessions"
            @if let Some(project) = project { " of " a href=(link::project(&project.id)) { (inline_text(&project.name)) } }
        }
        @if sessions.is_empty() {
            div.empty {
                p.lead { "No sessions yet." }
                p { "Import past sessions with " code { "backstory import claude-code" } "." }
            }
        }
        ol.list #sessions data-live="list" { @for session in sessions { (row(session, view)) } }
        @if let Some(next) = next {
            p { a.button.quiet href=(link::with_query("/sessions", &[("project", id), ("after", &next)])) { "Older" } }
        }
    }
}

pub(super) async fn page(State(server): State<Arc<Server>>, view: View, Query(pairs): Query<Pairs>) -> Paged {
    let after = match field(&pairs, "after") {
        None => None,
        Some(text) => {
            let cursor = text.parse::<SessionCursor>();
            Some(cursor.map_err(|_| ApiError::bad("invalid cursor"))?)
        }
    };
    let named = field(&pairs, "project").map(ToOwned::to_owned);
    let engine = Arc::clone(&server.engine);
    let (mut sessions, project) = server
        .stores
        .read(move |store| {
            let project = match ProjectScope::of(&engine, store, named.as_deref(), None)? {
                ProjectScope::Everywhere => None,
                ProjectScope::Project(project) => Some(project),
                ProjectScope::Nowhere => return Ok((Vec::new(), None)),
            };
            let sessions = store.sessions(&SessionFilter {
                project: project.as_ref(),
                after,
                limit: PAGE_SIZE + 1,
            })?;
            Ok((sessions, project))
        })
        .await?;
    let more = sessions.len() > PAGE_SIZE as usize;
    sessions.truncate(PAGE_SIZE as usize);
    let last = sessions.last().filter(|_| more);
    let next = last.map(|last| last.cursor().to_string());
    let main = show(&view, &sessions, project.as_ref(), next);
    Ok(view.page("Sessions", NavItem::Sessions, &main))
}
