//! Browser sign-in by single-use links.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use axum::response::{Html, IntoResponse, Response};

use crate::{problem::ApiError, random::random};

/// Lifetime of a link.
const LINK_LIFETIME: Duration = Duration::from_secs(120);

/// A step of signing in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LoginStep {
    /// Sign a browser in.
    Begin,
    /// Check that the browser accepted its cookie; else send the secret of its login again, in a plain cookie.
    Confirm {
        /// Secret of the login.
        secret: String,
    },
}

/// Codes of unused links.
#[derive(Debug, Default)]
pub(crate) struct LoginCodes(Mutex<Vec<LoginCode>>);

#[derive(Debug)]
struct LoginCode {
    code: String,
    step: LoginStep,
    created: Duration,
}

impl LoginCodes {
    pub(crate) fn new_code(&self, step: LoginStep, now: Duration) -> String {
        let code = random();
        let mut codes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        codes.retain(|known| now.saturating_sub(known.created) < LINK_LIFETIME);
        codes.push(LoginCode {
            code: code.clone(),
            step,
            created: now,
        });
        code
    }

    /// Returns the step of a code and invalidates it.
    pub(crate) fn use_code(&self, code: &str, now: Duration) -> Option<LoginStep> {
        let mut codes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        codes.retain(|known| now.saturating_sub(known.created) < LINK_LIFETIME);
        let at = codes.iter().position(|known| known.code == code)?;
        Some(codes.swap_remove(at).step)
    }
}

/// Renders a page that goes on to another page of this server. A redirect would not do when a file or another site started the
/// navigation: the browser would not send the cookie that it has just received.
pub(crate) fn onward_page(to: &str) -> Response {
    const PAGE: &str = "<!doctype html><html lang=en><meta charset=utf-8><title>backstory</title>\
        <meta http-equiv=refresh content='0;url=TO'><p><a href='TO'>Continue</a></p></html>";
    Html(PAGE.replace("TO", &to.replace('&', "&amp;"))).into_response()
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

    const NOW: Duration = Duration::from_secs(1_000);

    #[test]
    fn a_link_works_once_and_stays_on_this_server() {
        let codes = LoginCodes::default();
        let code = codes.new_code(LoginStep::Begin, NOW);
        assert_eq!(codes.use_code("other", NOW), None);
        assert_eq!(codes.use_code(&code, NOW), Some(LoginStep::Begin));
        assert_eq!(codes.use_code(&code, NOW), None);
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
        let codes = LoginCodes::default();
        let code = codes.new_code(LoginStep::Begin, NOW);
        assert_eq!(codes.use_code(&code, NOW + LINK_LIFETIME), None);
        let code = codes.new_code(LoginStep::Begin, NOW);
        let last = NOW + LINK_LIFETIME - Duration::from_millis(1);
        assert!(codes.use_code(&code, last).is_some());
    }
}
