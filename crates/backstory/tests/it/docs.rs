//! Generated references in docs/ are up to date.

use std::{fs, path::Path};

use serde_json::Value;

use crate::{home::Home, http_client::Served};

/// Compares a file of docs/ with its generated content. `UPDATE_DOCS=1` writes it instead.
fn is_up_to_date(name: &str, made: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(name);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, made).unwrap();
    }
    let there = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == made,
        "docs/{name} is out of date: UPDATE_DOCS=1 cargo test -p backstory --test it docs"
    );
}

#[test]
fn settings() {
    is_up_to_date("settings.md", &Home::new().ok(&["config", "reference"]));
}

#[test]
fn openapi() {
    let document: Value = Served::start().get("/api/openapi.json").json();
    is_up_to_date("openapi.json", &format!("{document:#}\n"));
}
