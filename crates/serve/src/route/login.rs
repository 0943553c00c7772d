//! Login of a browser by a single-use link.

use std::sync::Arc;

use axum::{
    extract::{Query, State},
    http::{StatusCode, header},
    response::{IntoResponse, Redirect, Response},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    extract::JsonBody,
    login::{encoded, login_required_page, own_page},
    problem::ApiError,
    server::Server,
};

/// The page that a login link opens.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct LoginLinkRequest {
    /// Path of the page, such as `/search`.
    #[serde(default)]
    page: String,
}

/// A single-use login link.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Link {
    url: String,
}

pub(super) async fn link(
    State(server): State<Arc<Server>>,
    JsonBody(request): JsonBody<LoginLinkRequest>,
) -> Result<axum::Json<Link>, ApiError> {
    let code = server.logins.new_code(server.engine.clock.monotonic());
    let page = own_page(&request.page);
    let address = server.address;
    let url = format!("http://{address}/login?code={code}&to={}", encoded(&page));
    Ok(axum::Json(Link { url }))
}

#[derive(Debug, Deserialize)]
pub(super) struct Code {
    #[serde(default)]
    code: String,
    #[serde(default)]
    to: String,
}

pub(super) async fn login(State(server): State<Arc<Server>>, Query(code): Query<Code>) -> Response {
    if !server
        .logins
        .use_code(&code.code, server.engine.clock.monotonic())
    {
        let problem = ApiError::new(
            StatusCode::UNAUTHORIZED,
            "unauthorized",
            "this login link was used or has expired",
        );
        return login_required_page(&problem);
    }
    let cookie = (header::SET_COOKIE, server.access.set_cookie());
    ([cookie], Redirect::to(&own_page(&code.to))).into_response()
}
