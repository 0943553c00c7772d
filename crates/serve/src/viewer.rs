//! Server-rendered pages for reading, searching and editing memories.
//!
//! HTML, one stylesheet and one script, all embedded in the binary. Every page works without the script, except for live
//! updates. Text from sessions is untrusted: render it through [`text`] only, so that it never becomes markup.

mod activity_year;
mod agents;
mod assets;
mod card;
mod checks;
mod context;
mod experiment;
mod file;
mod handover;
mod impact;
mod link;
mod memory;
mod memory_actions;
mod memory_parts;
mod memory_view;
mod now;
mod open_items;
mod plot;
mod project;
mod project_timeline;
mod projects;
mod recall;
mod recall_card;
mod relation_graph;
mod search;
mod search_facets;
mod session;
mod session_turn;
mod sessions;
mod setting_labels;
mod settings;
mod status;
mod team;
mod team_actions;
mod text;
mod time;
mod told;
mod turn_card;
mod undo;
mod view;

use std::sync::Arc;

use axum::{
    Router, middleware,
    routing::{get, post},
};

use crate::server::Server;

pub(crate) use undo::flush_pending;
pub(crate) use view::problem_page;

/// Paths of all pages except the start page, as `backstory open` lists them.
pub const PAGES: [&str; 12] = [
    "search",
    "sessions",
    "sessions/ID",
    "projects",
    "projects/ID",
    "memories/HANDLE",
    "files",
    "recall",
    "context",
    "team",
    "status",
    "settings",
];

/// Returns the routes of all pages and of their forms.
pub(crate) fn routes(server: &Arc<Server>) -> Router<Arc<Server>> {
    Router::new()
        .route("/", get(now::page))
        .route("/search", get(search::page))
        .route("/sessions", get(sessions::page))
        .route("/sessions/{id}", get(session::page))
        .route("/projects", get(projects::page))
        .route("/projects/{*id}", get(project::page))
        .route("/memories/{handle}", get(memory::page))
        .route("/memories/{handle}/edit", post(memory_actions::edit))
        .route("/memories/{handle}/pin", post(memory_actions::pin))
        .route("/memories/{handle}/forget", post(memory_actions::forget))
        .route("/memories/{handle}/keep", post(memory_actions::keep))
        .route("/memories/{handle}/supersede", post(memory_actions::supersede))
        .route("/open-items", post(open_items::tick_off))
        .route("/files", get(file::page))
        .route("/recall", get(recall::page))
        .route("/recall/card.svg", get(recall::card))
        .route("/context", get(context::page).post(context::save))
        .route("/team", get(team::page))
        .route("/team/share", post(team_actions::share))
        .route("/team/keep", post(team_actions::keep))
        .route("/team/unshare", post(team_actions::unshare))
        .route("/team/propose", post(team_actions::propose))
        .route("/team/rate", post(team_actions::rate))
        .route("/team/replace", post(team_actions::replace))
        .route("/team/trust", post(team_actions::trust))
        .route("/team/forget", post(team_actions::forget))
        .route("/status", get(status::page))
        .route("/status/check", post(checks::check))
        .route("/status/retry", post(status::retry))
        .route("/settings", get(settings::page).post(settings::save))
        .route("/logins/end", post(settings::end_login))
        .route("/theme", post(view::set_theme))
        .route_layer(middleware::from_fn_with_state(
            Arc::clone(server),
            view::render_problems,
        ))
        .route("/assets/{name}", get(assets::asset))
}
