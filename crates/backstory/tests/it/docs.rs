//! Generated references in docs/ are up to date.

use std::{fs, path::Path};

use serde_json::{Value, json};

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
fn commands(help: &str) -> Vec<&str> {
    let list = help.lines().skip_while(|line| !line.starts_with("Usage: "));
    let list = list.take_while(|line| *line != "Options:");
    let names = list.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let names = names.filter(|name| name.starts_with(|first: char| first.is_ascii_lowercase()));
    names
        .filter(|name| !["help", "backstory"].contains(name))
        .collect()
}

/// Appends the help of a command and of its subcommands.
fn describe(home: &Home, path: &[&str], page: &mut String) {
    let help = home.ok(&[path, &["--help"]].concat());
    if !path.is_empty() {
        let level = "#".repeat(path.len() + 1);
        page.push_str(&format!("\n{level} backstory {}\n\n", path.join(" ")));
        page.push_str(&format!("```text\n{}\n```\n", help.trim_end()));
        for (arguments, shown) in EXAMPLES
            .iter()
            .filter(|(arguments, _)| arguments.starts_with(path))
        {
            page.push_str(&format!(
                "\n```console\n$ backstory {shown}\n{}```\n",
                example(home, arguments)
            ));
        }
    }
    for name in commands(&help) {
        describe(home, &[path, &[name]].concat(), page);
    }
}

/// Commands whose output is shown, with the form in which a user types them.
const EXAMPLES: &[(&[&str], &str)] = &[
    (
        &["search", "why", "is", "the", "token", "refreshed", "twice"],
        "search why is the token refreshed twice",
    ),
    (&["context"], "context"),
    (&["sessions"], "sessions"),
    (&["session", "s1"], "session s1"),
    (&["show", "1"], "show 1"),
    (&["queue"], "queue"),
];

/// Runs an example in the sample project; replaces what differs between runs.
fn example(home: &Home, arguments: &[&str]) -> String {
    let output = home
        .ok(arguments)
        .replace(home.project().to_str().unwrap(), "/home/ana/acme");
    output.lines().map(|line| mask_times(line) + "\n").collect()
}

/// Replaces dates, times of day and ages by fixed ones.
fn mask_times(line: &str) -> String {
    let masked = |word: &str| {
        let shape: String = word
            .chars()
            .map(|letter| if letter.is_ascii_digit() { '0' } else { letter })
            .collect();
        match shape.as_str() {
            "0000-00-00" => "2026-11-18".to_owned(),
            "00:00" => "09:30".to_owned(),
            "00:00:00" => "09:30:00".to_owned(),
            "(0s" | "(00s" => "(3s".to_owned(),
            "0s" | "00s" => "3s".to_owned(),
            _ => word.to_owned(),
        }
    };
    line.trim_end()
        .split(' ')
        .map(masked)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Returns a home with one session: a fix, a failed check and the one that passed.
fn sample() -> Home {
    let home = Home::new();
    home.report("session-start", &json!({ "source": "startup" }));
    home.report(
        "user-prompt-submit",
        &json!({ "prompt": "Retry the token refresh once on 401" }),
    );
    home.report(
        "post-tool-use",
        &json!({
            "tool_name": "Edit",
            "tool_input": {
                "file_path": home.project().join("auth.py"),
                "old_string": "return refresh(token)",
                "new_string": "return retry_once(refresh, token)",
            },
            "tool_response": {},
        }),
    );
    home.report(
        "post-tool-use",
        &json!({ "tool_name": "Bash", "tool_input": { "command": "pytest -q" }, "tool_response": { "stdout": "12 passed in 0.31s" } }),
    );
    let report = "The token refresh retries once on a 401 now, because the clock is wrong for a moment after the laptop slept.";
    home.report("stop", &json!({ "last_assistant_message": report }));
    home.drain();
    home
}

#[test]
fn command_line() {
    let mut page = String::from(
        "# Commands\n\n<!-- Made from the help of the program and from a sample session; a test keeps it up to date. -->\n\n\
         Data goes to standard output, everything else to standard error. `--json` is stable. Colors appear on a terminal only, \
         and never with `NO_COLOR`.\n\n\
         | exit code | meaning |\n|---|---|\n| 0 | done; hooks always |\n| 1 | failed, or nothing found (`search`) |\n\
         | 2 | wrong usage |\n\nAn error says what was attempted and why it failed; a `hint:` line says what to do.\n",
    );
    describe(&sample(), &[], &mut page);
    is_up_to_date("cli.md", &page);
}

/// Relative links of a page: their targets without anchor.
fn relative_links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split([')', ' ']).next());
    targets
        .filter(|target| !target.contains("://") && !target.starts_with(['<', '#']))
        .filter_map(|target| target.split('#').next())
}

#[test]
fn links_and_the_table_of_contents_are_complete() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let names = |folder: &str| -> Vec<String> {
        let entries = fs::read_dir(root.join(folder))
            .unwrap()
            .map(|entry| entry.unwrap().file_name());
        let names = entries.map(|name| name.into_string().unwrap());
        names.filter(|name| name.ends_with(".md")).collect()
    };
    let summary = page("docs/SUMMARY.md");
    for name in names("docs").iter().filter(|name| *name != "SUMMARY.md") {
        assert!(
            summary.contains(&format!("({name})")),
            "docs/SUMMARY.md does not list {name}"
        );
    }
    for folder in [".", "docs", "plugin"] {
        for name in names(folder) {
            for target in relative_links(&page(&format!("{folder}/{name}"))) {
                assert!(
                    root.join(folder).join(target).exists(),
                    "{folder}/{name} links to {target}"
                );
            }
        }
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
