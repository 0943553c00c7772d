//! HTTP routes of the API.

pub(crate) mod change;
mod context;
mod events;
mod health;
mod list;
mod login;
pub(crate) mod record;
pub(crate) mod search;
mod settings;

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde_json::Value;

use crate::{access::wants_page, api::Api, problem::ApiError, server::Server, viewer::problem_page};

/// Returns all routes and the OpenAPI document of the API.
pub(crate) fn routes(version: &str) -> (Router<Arc<Server>>, Value) {
    let api = Api::new();
    let api = search::describe(health::describe(context::describe(api)));
    let api = settings::describe(events::describe(change::describe(list::describe(
        record::describe(api),
    ))));
    let api = api.route(
        "POST",
        "/api/login-link",
        |about| {
            about
                .summary("Create a single-use login link")
                .body::<login::LoginLinkRequest>()
                .json::<login::Link>();
        },
        post(login::link),
    );
    let (router, description) = api.finish(version);
    let router = router
        .route("/login", get(login::login))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed);
    (router, description)
}

async fn not_found(State(server): State<Arc<Server>>, request: Request) -> Response {
    let problem = ApiError::missing("no such route");
    let (parts, _) = request.into_parts();
    match wants_page(&parts) {
        true => problem_page(&server, &parts, &problem).await,
        false => problem
            .hint("GET /api/openapi.json lists all routes")
            .into_response(),
    }
}

async fn method_not_allowed() -> ApiError {
    ApiError::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        "method not allowed",
    )
    .hint("GET /api/openapi.json lists all routes")
}
