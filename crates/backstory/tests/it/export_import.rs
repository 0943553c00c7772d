//! Export and import of memories as lines of JSON.

use std::process::Output;

use serde_json::{Value, json};

use crate::home::{Home, settings, text};

/// Imports lines from standard input.
fn import(home: &Home, lines: &[Value]) -> Output {
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    home.run(&["import", "jsonl", "-", "--json"], lines.join("\n").as_bytes())
}

fn import_counts(home: &Home, lines: &[Value]) -> (u64, u64, u64) {
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
fn importing_a_line_twice_changes_nothing() {
    let home = Home::new();
    let line = json!({"kind": "passage", "project": "p", "session_id": "s", "text": "sled keeps pages", "external_id": "d1"});
    let other = json!({"kind": "passage", "project": "p", "session_id": "s", "text": "sled keeps pages", "external_id": "d2"});
    assert_eq!(
        import_counts(&home, &[line.clone(), line, other.clone()]),
        (2, 1, 0)
    );
    // The order of fields and null values do not matter.
    let same = json!({"external_id": "d1", "text": "sled keeps pages", "kind": "passage", "session_id": "s", "project": "p", "title": null});
    assert_eq!(import_counts(&home, &[same, other]), (0, 2, 0));
    assert_eq!(count(&home, "select count(*) from passage"), 2);
    assert_eq!(count(&home, "select count(*) from session"), 1);
    assert_eq!(
        count(&home, "select count(*) from words where words match 'sled'"),
        2
    );
}

#[test]
fn a_damaged_line_is_reported_and_the_rest_imported() {
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
    assert_eq!(import_counts(&home, &lines), (2, 0, 1));
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
fn lines_are_assigned_to_their_project_and_session() {
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
    assert_eq!(import_counts(&home, &lines), (9, 0, 0));
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

/// Returns memories of every kind with all fields, some of them twice.
fn all_kinds() -> Vec<Value> {
    vec![
        json!({"kind": "prompt", "project": "example.org/team/acme", "session_id": "s1", "created_at": "2026-01-02T03:04:05Z",
            "text": "Mend the \"refresh\"\n\twith 的 emoji 🎯", "branch": "main"}),
        json!({"kind": "observation", "project": "example.org/team/acme", "session_id": "s1", "created_at": "2026-01-02T03:04:06.789Z",
            "type": "bugfix", "title": "Refresh retries", "subtitle": "once", "narrative": "It gave up.\nNow it does not.",
            "facts": ["one", "two"], "concepts": ["gotcha"], "files_read": ["a.rs"], "files_modified": ["b.rs", "c.rs"],
            "external_id": "x1", "branch": "main", "pinned": true}),
        json!({"kind": "summary", "project": "example.org/team/acme", "session_id": "s1", "created_at": "2026-01-02T03:04:07Z",
            "request": "r", "investigated": "i", "learned": "l", "completed": "c", "next_steps": "n", "files_read": ["a.rs"],
            "files_edited": ["b.rs"], "notes": "o", "external_id": "x2", "branch": "main"}),
        json!({"kind": "passage", "project": "example.org/team/acme", "session_id": "s1", "created_at": "2026-01-02T03:04:07Z",
            "type": "command", "text": "$ cargo test\n".repeat(60).trim_end(), "branch": "main"}),
        json!({"kind": "passage", "project": "other", "created_at": "2026-01-02T03:04:07Z", "type": "prose", "text": "short"}),
        json!({"kind": "note", "project": "other", "created_at": "2026-01-03T00:00:00Z", "type": "decision", "text": "Staging first",
            "files_read": ["ops.sh"], "pinned": true}),
        json!({"kind": "note", "created_at": "2026-01-03T00:00:00Z", "text": "Everywhere"}),
        json!({"kind": "prompt", "project": "example.org/team/acme", "session_id": "s1", "created_at": "2026-01-04T00:00:00Z", "text": "Again", "branch": "side"}),
    ]
}

fn exported(home: &Home) -> Vec<Value> {
    let printed = home.ok(&["export"]);
    printed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn an_export_is_the_same_after_an_import_elsewhere() {
    let lines = all_kinds();
    let home = Home::new();
    assert_eq!(import_counts(&home, &lines), (8, 0, 0));
    let first = home.ok(&["export"]);
    let mut expected = lines.clone();
    // Ordered by time, evidence before memories.
    expected.swap(2, 3);
    expected.swap(3, 4);
    assert_eq!(exported(&home), expected);

    let second = Home::new();
    second.run(&["import", "jsonl", "-"], first.as_bytes());
    assert_eq!(second.ok(&["export", "--all"]), first);

    let one: Vec<Value> = home
        .ok(&["export", "--project", "other"])
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(one, [lines[4].clone(), lines[5].clone()]);
    assert_eq!(Home::new().ok(&["export"]), "");
}

#[test]
fn importing_an_own_export_duplicates_nothing() {
    let home = crate::memory::home_with_bug_fix();
    home.ok(&["remember", "a note of mine"]);
    let first = home.ok(&["export"]);
    assert!(first.lines().count() >= 6, "{first}");
    let told: Value = serde_json::from_slice(
        &home
            .run(&["import", "jsonl", "-", "--json"], first.as_bytes())
            .stdout,
    )
    .unwrap();
    assert_eq!(told["imported"], 0, "{told}");
    assert_eq!(home.ok(&["export"]), first);
    let second = Home::new();
    second.run(&["import", "jsonl", "-"], first.as_bytes());
    assert_eq!(second.ok(&["export"]), first);
    // It restores forgotten memories, and nothing else.
    home.ok(&["forget", "1", "--yes"]);
    home.run(&["import", "jsonl", "-"], first.as_bytes());
    assert_eq!(home.ok(&["export"]), first);
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let home = Home::new();
    let lines: Vec<Value> = (0..3000)
        .map(|n| json!({"kind": "note", "text": format!("note {n} {}", "x".repeat(100))}))
        .collect();
    assert_eq!(import_counts(&home, &lines), (3000, 0, 0));
    let mut child = home.command(&["export"]).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_project_that_an_import_names_by_its_path_is_called_like_its_folder() {
    let home = Home::new();
    let remote = home.repository("src/shop", Some("git@github.com:acme/shop.git"));
    let lines = format!(
        "{}\n{}\n",
        json!({"kind": "passage", "text": "releases happen on Mondays", "project": home.project()}),
        json!({"kind": "passage", "text": "orders are archived", "project": "github.com/acme/shop"}),
    );
    home.run(&["import", "jsonl", "-"], lines.as_bytes());
    assert_eq!(
        home.rows("select name from project order by name"),
        ["acme", "shop"]
    );
    let prompt = json!({"session_id": "s7", "cwd": remote, "prompt": "Archive old orders"});
    home.hook("user-prompt-submit", prompt.to_string().as_bytes());
    home.drain();
    let root = home.rows("select root from project where key = 'github.com/acme/shop'");
    assert_eq!(root, [remote.canonicalize().unwrap().to_str().unwrap()]);
}
