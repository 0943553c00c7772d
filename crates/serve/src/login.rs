//! Browser sign-in by single-use links.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use axum::{
    extract::{Query, State},
    http::{StatusCode, header},
    response::{Html, IntoResponse, Redirect, Response},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{access::random, problem::ApiError, route::JsonBody, server::Server};

/// Lifetime of a link.
const LINK_LIFETIME: Duration = Duration::from_secs(120);

/// Codes of unused links, with their creation time.
#[derive(Debug, Default)]
pub(crate) struct Logins(Mutex<Vec<(String, Instant)>>);

impl Logins {
    fn new_code(&self) -> String {
        let code = random();
        let mut codes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        codes.retain(|(_, created)| created.elapsed() < LINK_LIFETIME);
        codes.push((code.clone(), Instant::now()));
        code
    }

    fn use_code(&self, code: &str) -> bool {
        let mut codes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        codes.retain(|(_, created)| created.elapsed() < LINK_LIFETIME);
        match codes.iter().position(|(known, _)| known == code) {
            Some(at) => {
                codes.swap_remove(at);
                true
            }
            None => false,
        }
    }
}

/// The page that a login link opens.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct LoginLinkRequest {
    /// Path of the page, such as `/search`.
    #[serde(default)]
    page: String,
}

/// A single-use login link.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Link {
    url: String,
}

pub(crate) async fn link(
    State(server): State<Arc<Server>>,
    JsonBody(request): JsonBody<LoginLinkRequest>,
) -> Result<axum::Json<Link>, ApiError> {
    let code = server.logins.new_code();
    let page = own_page(&request.page);
    let address = server.address;
    let url = format!("http://{address}/login?code={code}&to={}", encoded(&page));
    Ok(axum::Json(Link { url }))
}

#[derive(Debug, Deserialize)]
pub(crate) struct Code {
    #[serde(default)]
    code: String,
    #[serde(default)]
    to: String,
}

pub(crate) async fn login(State(server): State<Arc<Server>>, Query(code): Query<Code>) -> Response {
    if !server.logins.use_code(&code.code) {
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

/// Returns a path on this server, `/` if `page` could lead elsewhere.
pub(crate) fn own_page(page: &str) -> String {
    let page = page.trim_start_matches('/');
    let is_plain = page
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "/-_.?=&%+".contains(c));
    match is_plain && !page.starts_with('.') {
        true => format!("/{page}"),
        false => "/".to_owned(),
    }
}

pub(crate) fn encoded(page: &str) -> String {
    page.bytes()
        .map(
            |byte| match byte.is_ascii_alphanumeric() || b"-_.".contains(&byte) {
                true => char::from(byte).to_string(),
                false => format!("%{byte:02X}"),
            },
        )
        .collect()
}

/// Renders the page that explains how to sign in.
pub(crate) fn login_required_page(problem: &ApiError) -> Response {
    const PAGE: &str = "<!doctype html><html lang=en><meta charset=utf-8><title>backstory</title>\
        <meta name=viewport content='width=device-width'><link rel=stylesheet href=/assets/style.css>\
        <main class=alone><h1>Run <code>backstory open</code></h1><p>REASON. Run <code>backstory open</code> in a terminal \
        on this machine to sign in. This browser then stays signed in.</p></main></html>";
    let mut reason = problem.message.clone();
    if let Some(first) = reason.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    (problem.status, Html(PAGE.replace("REASON", &reason))).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_works_once_and_stays_on_this_server() {
        let logins = Logins::default();
        let code = logins.new_code();
        assert!(!logins.use_code("other"));
        assert!(logins.use_code(&code));
        assert!(!logins.use_code(&code));
        for (page, expected) in [
            ("search", "/search"),
            ("/sessions/ab-1", "/sessions/ab-1"),
            ("", "/"),
            ("//evil.test", "/evil.test"),
            ("https://evil.test", "/"),
            ("/\\evil.test", "/"),
        ] {
            assert_eq!(own_page(page), expected, "{page}");
        }
    }

    #[test]
    fn an_expired_link_is_rejected() {
        let logins = Logins::default();
        let expired = Instant::now().checked_sub(LINK_LIFETIME).unwrap();
        for guess in ["", "anything", "old"] {
            logins.0.lock().unwrap().push(("old".to_owned(), expired));
            assert!(!logins.use_code(guess), "{guess}");
        }
        let code = logins.new_code();
        assert!(logins.use_code(&code));
    }
}
