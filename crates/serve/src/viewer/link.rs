//! Addresses of pages.

use backstory_model::Handle;

use crate::login::encoded;

pub(super) fn memory(handle: Handle) -> String {
    format!("/memories/{handle}")
}

pub(super) fn session(id: &str) -> String {
    format!("/sessions/{}", encoded(id))
}

/// A project's id may be a path: its slashes are encoded too.
pub(super) fn project(id: &str) -> String {
    format!("/projects/{}", encoded(id))
}

pub(super) fn file(path: &str, project: Option<&str>) -> String {
    match project {
        Some(project) => format!("/files?path={}&project={}", encoded(path), encoded(project)),
        None => format!("/files?path={}", encoded(path)),
    }
}

/// An address with what stands behind the question mark; what is empty is left out.
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
