//! Builds the URLs of pages.

use backstory_model::Handle;

use crate::login::encoded;

pub(super) fn memory(handle: Handle) -> String {
    format!("/memories/{handle}")
}

pub(super) fn session(id: &str) -> String {
    format!("/sessions/{}", encoded(id))
}

/// Returns the URL of one turn of a session.
pub(super) fn turn(session: &str, number: i64) -> String {
    format!("{}?turn={number}", self::session(session))
}

/// Returns the URL of a project. An id may be a path, so slashes are encoded too.
pub(super) fn project(id: &str) -> String {
    format!("/projects/{}", encoded(id))
}

pub(super) fn file(path: &str, project: Option<&str>) -> String {
    match project {
        Some(project) => format!("/files?path={}&project={}", encoded(path), encoded(project)),
        None => format!("/files?path={}", encoded(path)),
    }
}

/// Appends a query string to a page's path. Empty values are omitted.
pub(super) fn with_query(page: &str, pairs: &[(&str, &str)]) -> String {
    let pairs: Vec<String> = pairs
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("{name}={}", encoded(value)))
        .collect();
    match pairs.is_empty() {
        true => page.to_owned(),
        false => format!("{page}?{}", pairs.join("&")),
    }
}
