//! Memories as lines: in and out.

use std::process::Output;

use serde_json::{Value, json};

use crate::home::{Home, settings, text};

/// Imports lines from standard input.
fn import(home: &Home, lines: &[Value]) -> Output {
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    home.run(&["import", "jsonl", "-", "--json"], lines.join("\n").as_bytes())
}

fn told(home: &Home, lines: &[Value]) -> (u64, u64, u64) {
    let output = import(home, lines);
    let told: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let number = |name: &str| told[name].as_u64().unwrap();
    (number("imported"), number("unchanged"), number("damaged_lines"))
}

fn count(home: &Home, sql: &str) -> i64 {
    let connection = rusqlite::Connection::open(home.path().join("backstory.db")).unwrap();
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn the_same_line_twice_changes_nothing() {
    let home = Home::new();
    let line = json!({"kind": "passage", "project": "p", "session_id": "s", "text": "sled keeps pages", "external_id": "d1"});
    let other = json!({"kind": "passage", "project": "p", "session_id": "s", "text": "sled keeps pages", "external_id": "d2"});
    assert_eq!(told(&home, &[line.clone(), line, other.clone()]), (2, 1, 0));
    // The order of the fields and what is null say nothing.
    let same = json!({"external_id": "d1", "text": "sled keeps pages", "kind": "passage", "session_id": "s", "project": "p", "title": null});
    assert_eq!(told(&home, &[same, other]), (0, 2, 0));
    assert_eq!(count(&home, "select count(*) from passage"), 2);
    assert_eq!(count(&home, "select count(*) from session"), 1);
    assert_eq!(
        count(&home, "select count(*) from words where words match 'sled'"),
        2
    );
}

#[test]
fn a_damaged_line_is_named_and_the_rest_goes_in() {
    let home = Home::new();
    let lines = "{\"kind\":\"note\",\"text\":\"first\"}\n\nno json\n{\"kind\":\"memo\",\"text\":\"x\"}\n\
        {\"kind\":\"note\"}\n{\"kind\":\"note\",\"text\":\"last\"}";
    let output = home.run(&["import", "jsonl", "-"], lines.as_bytes());
    assert_eq!(output.status.code(), Some(0));
    let mut settings = settings();
    settings.add_filter(r"\d+\.\d s", "[n] s");
    settings.bind(|| {
        insta::assert_snapshot!(
            "import_jsonl",
            format!("{}---\n{}", text(&output.stdout), text(&output.stderr))
        );
    });
    assert_eq!(count(&home, "select count(*) from note"), 2);
    let many = "nothing\n".repeat(9);
    let output = home.run(&["import", "jsonl", "-"], many.as_bytes());
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stderr).lines().count(), 5);
    assert_eq!(
        home.run(&["import", "jsonl", "/no/file"], b"").status.code(),
        Some(1)
    );
    assert_eq!(home.run(&["import", "jsonl", "-"], b"").status.code(), Some(0));
}

#[test]
fn private_spans_and_secrets_are_not_imported() {
    let home = Home::new();
    let token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let lines = [
        json!({"kind": "passage", "text": format!("before <private>zebra</private> {token} after")}),
        json!({"kind": "observation", "title": "t <private>zebra", "facts": ["zebra</private>", "kept"]}),
        json!({"kind": "note", "text": "<PRIVATE>zebra</PRIVATE>"}),
    ];
    assert_eq!(told(&home, &lines), (2, 0, 1));
    home.assert_nowhere("zebra");
    home.assert_nowhere("ghp_0123");
    assert_eq!(
        count(
            &home,
            "select count(*) from words where words match 'kept OR after'"
        ),
        2
    );
}

#[test]
fn a_line_finds_its_project_and_its_session() {
    let home = Home::new();
    home.repository("acme", Some("https://example.org/team/acme.git"));
    home.report("user-prompt-submit", &json!({"prompt": "live"}));
    home.drain();
    let lines = [
        json!({"kind": "passage", "project": "example.org/team/acme", "text": "by id"}),
        json!({"kind": "passage", "project": "acme", "text": "by name"}),
        json!({"kind": "passage", "text": "of the current folder"}),
        json!({"kind": "passage", "project": "elsewhere", "text": "of a new one"}),
        json!({"kind": "note", "text": "everywhere"}),
        json!({"kind": "prompt", "session_id": "s1", "text": "the second prompt"}),
        json!({"kind": "prompt", "session_id": "old", "project": "elsewhere", "created_at": "2020-01-02T03:04:05Z", "text": "one"}),
        json!({"kind": "prompt", "session_id": "old", "project": "elsewhere", "created_at": "2020-01-02T03:05:05Z", "text": "two"}),
        json!({"kind": "prompt", "text": "of no session"}),
    ];
    assert_eq!(told(&home, &lines), (9, 0, 0));
    assert_eq!(
        count(
            &home,
            "select count(*) from passage join project on project.id = project_id where key = 'example.org/team/acme'"
        ),
        4
    );
    assert_eq!(count(&home, "select count(*) from project"), 2);
    assert_eq!(
        count(&home, "select count(*) from note where project_id is null"),
        1
    );
    assert_eq!(
        count(&home, "select count(*) from passage where kind = 'prompt'"),
        1
    );
    let old = home.json(&["session", "old", "--json"]);
    assert_eq!(
        (&old["host"], &old["status"], &old["project"]),
        (&json!("import"), &json!("completed"), &json!("elsewhere"))
    );
    assert_eq!(
        (&old["started_at"], &old["last_event_at"]),
        (&json!("2020-01-02T03:04:05Z"), &json!("2020-01-02T03:05:05Z"))
    );
    assert_eq!(old["turns"][1]["prompt"], "two");
    let live = home.json(&["session", "s1", "--json"]);
    assert_eq!(
        (&live["host"], &live["turns"][1]["prompt"]),
        (&json!("claude-code"), &json!("the second prompt"))
    );
}
