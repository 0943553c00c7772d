//! The JSON of commands: one envelope for all of them.

use serde_json::{Value, json};

use crate::{
    home::{Home, text},
    memory::home_with_bug_fix,
};

/// Runs a command with `--json`; returns its object.
fn object(home: &Home, arguments: &[&str]) -> Value {
    let output = home.run(&[arguments, &["--json"]].concat(), b"");
    let printed = text(&output.stdout);
    assert_eq!(printed.lines().count(), 1, "{arguments:?}: {printed}");
    serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{arguments:?}: {error}\n{printed}"))
}

#[test]
fn every_object_names_its_command_and_says_whether_it_is_ok() {
    let home = home_with_bug_fix();
    let cases: [(&str, &[&str]); 24] = [
        ("search", &["search", "token"]),
        ("search", &["search", "nothing-of-that-name"]),
        ("timeline", &["timeline", "1"]),
        ("sessions", &["sessions"]),
        ("session", &["session", "s1"]),
        ("projects", &["projects"]),
        ("status", &["status"]),
        ("done", &["done"]),
        ("context", &["context"]),
        ("why", &["why", "1"]),
        ("resume", &["resume", "s1"]),
        ("remember", &["remember", "Never", "log", "tokens"]),
        ("queue", &["queue"]),
        ("queue.retry", &["queue", "retry"]),
        ("stats", &["stats"]),
        ("index", &["index"]),
        ("reindex", &["reindex"]),
        ("worker.status", &["worker", "status"]),
        ("doctor", &["doctor"]),
        ("experiment.report", &["experiment", "report"]),
        ("team.status", &["team", "status"]),
        ("backup", &["backup"]),
        ("forget", &["forget", "1", "--dry-run"]),
        ("install", &["install", "codex", "--dry-run"]),
    ];
    for (name, arguments) in cases {
        let object = object(&home, arguments);
        assert_eq!(object["schema"], format!("backstory.{name}/1"), "{arguments:?}");
        assert_eq!(object["ok"], true, "{arguments:?}: {object}");
    }
}

#[test]
fn a_failure_is_an_object_too() {
    let home = home_with_bug_fix();
    let failed = object(&home, &["session", "unknown"]);
    assert_eq!(failed["schema"], "backstory.session/1");
    assert_eq!(failed["ok"], false);
    assert_eq!(
        failed["error"]["hints"],
        json!(["`backstory sessions` lists them"])
    );
    assert!(
        failed["error"]["message"]
            .as_str()
            .is_some_and(|message| message.contains("unknown")),
        "{failed}"
    );
    let plain = home.run(&["session", "unknown"], b"");
    assert_eq!(text(&plain.stdout), "", "only with --json");
}
