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

fn page(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)).unwrap()
}

/// Returns the names of the subcommands that a help text lists.
fn commands(home: &Home, arguments: &[&str]) -> Vec<String> {
    let help = home.ok(arguments);
    let list = help.split_once("Commands:\n").unwrap().1;
    let list = list.lines().take_while(|line| !line.trim().is_empty());
    let names = list.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names
        .filter(|name| !name.is_empty() && *name != "help")
        .map(ToOwned::to_owned)
        .collect()
}

#[test]
fn every_command_is_in_the_readme() {
    let home = Home::new();
    let readme = page("README.md");
    let rows: String = readme
        .lines()
        .filter(|line| line.starts_with("| `backstory "))
        .collect();
    let names = commands(&home, &["--help"]);
    for name in ["distill", "man", "statusline", "config"] {
        assert!(names.iter().any(|known| known == name), "{name}");
    }
    for name in names {
        let is_listed = rows.contains(&format!("`backstory {name}")) || rows.contains(&format!("`{name}`"));
        assert!(is_listed, "README.md does not list `backstory {name}`");
    }
    let config = rows.split("| `backstory config").nth(1).unwrap();
    let config = config.split(" | ").next().unwrap();
    for name in commands(&home, &["config", "--help"])
        .iter()
        .filter(|name| *name != "reference")
    {
        assert!(
            config.contains(name.as_str()),
            "README.md does not list `backstory config {name}`"
        );
    }
}

#[test]
fn settings_routes_and_live_events_of_the_contract_are_documented() {
    let settings = page("docs/settings.md");
    for key in [
        "api_key_file",
        "session_tokens",
        "prices",
        "max_input_tokens",
        "prompt_tokens",
        "bind",
    ] {
        assert!(settings.contains(&format!("| `{key}` |")), "{key}");
    }
    let document: Value = serde_json::from_str(&page("docs/openapi.json")).unwrap();
    let http = page("docs/http-api.md");
    assert!(document["paths"].get("/api/login-link").is_some());
    for route in ["`/mcp`", "`POST /api/login-link`"] {
        assert!(http.contains(route), "{route}");
    }
    for event in [
        "session_started",
        "prompt",
        "observation",
        "summary",
        "note",
        "forgotten",
        "session_completed",
        "queue",
        "health",
    ] {
        assert!(http.contains(&format!("`{event}`")), "{event}");
    }
}
