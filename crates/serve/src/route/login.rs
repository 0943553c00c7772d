//! Login of a browser by a single-use link.

use std::sync::Arc;

use axum::{
    Extension,
    extract::{Query, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Redirect, Response},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    access::{CookieForm, Credential, is_from_elsewhere, require_owner},
    extract::JsonBody,
    login::{LoginStep, encoded, login_required_page, onward_page, own_page},
    problem::ApiError,
    server::Server,
    stores::run_blocking,
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
    credential: Option<Extension<Credential>>,
    JsonBody(request): JsonBody<LoginLinkRequest>,
) -> Result<axum::Json<Link>, ApiError> {
    // A copied cookie must not outlive its login.
    require_owner(credential.as_deref())?;
    let now = server.engine.clock.monotonic();
    let code = server.login_codes.new_code(LoginStep::Begin, now);
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

/// Signs a browser in, in two steps: the first sets the `__Host-` form of the cookie, the second the plain form if the browser
/// rejected that.
pub(super) async fn login(
    State(server): State<Arc<Server>>,
    credential: Option<Extension<Credential>>,
    headers: HeaderMap,
    Query(code): Query<Code>,
) -> Response {
    let now = server.engine.clock.monotonic();
    let to = own_page(&code.to);
    match server.login_codes.use_code(&code.code, now) {
        None => {
            let message = "this login link was used or has expired";
            let problem = ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", message);
            login_required_page(&problem)
        }
        Some(LoginStep::Begin) => {
            let browser = headers
                .get(header::USER_AGENT)
                .and_then(|name| name.to_str().ok());
            let browser = browser.unwrap_or_default().to_owned();
            let (logins, at) = (Arc::clone(&server), server.now());
            let added = run_blocking(move || {
                let added = logins.access.logins().add(&browser, at);
                added.map_err(|error| ApiError::unavailable(&error.into()))
            });
            let secret = match added.await {
                Ok(secret) => secret,
                Err(problem) => return login_required_page(&problem),
            };
            let cookie = server.access.set_cookie(&secret, CookieForm::Host);
            let code = server.login_codes.new_code(LoginStep::Confirm { secret }, now);
            let confirm = format!("/login?code={code}&to={}", encoded(&to));
            let onward = if is_from_elsewhere(&headers) {
                onward_page(&confirm)
            } else {
                Redirect::to(&confirm).into_response()
            };
            ([(header::SET_COOKIE, cookie)], onward).into_response()
        }
        Some(LoginStep::Confirm { .. }) if credential.is_some() => Redirect::to(&to).into_response(),
        Some(LoginStep::Confirm { secret }) => {
            let cookie = server.access.set_cookie(&secret, CookieForm::Plain);
            ([(header::SET_COOKIE, cookie)], Redirect::to(&to)).into_response()
        }
    }
}
