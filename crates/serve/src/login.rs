//! Browser sign-in by single-use links.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use axum::response::{Html, IntoResponse, Response};

use crate::{access::random, problem::ApiError};

/// Lifetime of a link.
const LINK_LIFETIME: Duration = Duration::from_secs(120);

/// Codes of unused links, with their creation time.
#[derive(Debug, Default)]
pub(crate) struct Logins(Mutex<Vec<(String, Duration)>>);

impl Logins {
    pub(crate) fn new_code(&self, now: Duration) -> String {
        let code = random();
        let mut codes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        codes.retain(|(_, created)| now.saturating_sub(*created) < LINK_LIFETIME);
        codes.push((code.clone(), now));
        code
    }

    pub(crate) fn use_code(&self, code: &str, now: Duration) -> bool {
        let mut codes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        codes.retain(|(_, created)| now.saturating_sub(*created) < LINK_LIFETIME);
        match codes.iter().position(|(known, _)| known == code) {
            Some(at) => {
                codes.swap_remove(at);
                true
            }
            None => false,
        }
    }
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
        let logins = Logins::default();
        let code = logins.new_code(NOW);
        assert!(!logins.use_code("other", NOW));
        assert!(logins.use_code(&code, NOW));
        assert!(!logins.use_code(&code, NOW));
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
        let code = logins.new_code(NOW);
        assert!(!logins.use_code(&code, NOW + LINK_LIFETIME));
        let code = logins.new_code(NOW);
        assert!(logins.use_code(&code, NOW + LINK_LIFETIME - Duration::from_millis(1)));
    }
}
