//! Server-rendered pages for reading, searching and editing memories.
//!
//! HTML, one stylesheet and one script, all embedded in the binary. Every page works without the script, except for live
//! updates. Text from sessions is untrusted: render it through [`text`] only, so that it never becomes markup.

mod assets;
mod card;
mod context;
mod file;
mod link;
mod memory;
mod memory_actions;
mod memory_parts;
mod memory_view;
mod now;
mod plot;
mod project;
mod projects;
mod search;
mod session;
mod session_turn;
mod sessions;
mod settings;
mod status;
mod text;
mod time;
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
pub const PAGES: [&str; 10] = [
    "search",
    "sessions",
    "sessions/ID",
    "projects",
    "projects/ID",
    "memories/HANDLE",
    "files",
    "context",
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
        .route("/files", get(file::page))
        .route("/context", get(context::page).post(context::save))
        .route("/status", get(status::page))
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
