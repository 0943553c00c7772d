//! Forgotten memories are deleted: from every table, from search, from every byte of the home.

use std::{fs, path::PathBuf};

use serde_json::{Value, json};

use crate::{
    home::{Home, eventually, recorded_folder, settings, text},
    http_client::Served,
};

/// A word that is in everything that is to be forgotten, and nowhere else.
const MARKER: &str = "zanzibarine";

/// Returns a home with two sessions of a project, one of which contains the marker in every kind of memory.
fn sample() -> Home {
    let home = Home::new();
    turn(
        &home,
        "s1",
        &format!("The {MARKER} import fails, mend it"),
        &format!("src/{MARKER}.rs"),
        &format!("Fixed: the {MARKER} import now skips empty rows.\n\nNext steps: test the {MARKER} export."),
    );
    // One after the other: two turns are distilled at a time, and handles must be the same in every run.
    home.drain();
    turn(
        &home,
        "s2",
        "The login page is slow, find out why",
        "src/login.rs",
        "Fixed: the login page no longer loads every user.",
    );
    home.drain();
    home.ok(&["remember", &format!("{MARKER} runs on Mondays")]);
    home.ok(&["remember", "login has an owner"]);
    home
}

fn turn(home: &Home, session: &str, prompt: &str, file: &str, said: &str) {
    let path = home.project().join(file);
    home.report(
        "user-prompt-submit",
        &json!({"session_id": session, "prompt": prompt}),
    );
    home.report(
        "post-tool-use",
        &json!({"session_id": session, "tool_name": "Edit", "tool_use_id": format!("{session}-t"),
        "tool_input": {"file_path": path, "old_string": "all()", "new_string": "some()"},
        "tool_response": {"filePath": path, "structuredPatch": [
            {"oldStart": 3, "oldLines": 1, "newStart": 3, "newLines": 1, "lines": ["-all()", "+some()"]}]}}),
    );
    home.report(
        "stop",
        &json!({"session_id": session, "last_assistant_message": said}),
    );
}

fn count(home: &Home, sql: &str) -> i64 {
    let connection = rusqlite::Connection::open(home.path().join("backstory.db")).unwrap();
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

fn found(home: &Home, word: &str) -> i64 {
    count(
        home,
        &format!(
            "select count(*) from document where id in (select rowid from words where words match '{word}')"
        ),
    )
}

/// Fails unless the marker is in the home: otherwise its later absence would prove nothing.
fn assert_somewhere(home: &Home, needle: &str) {
    let there = std::panic::catch_unwind(|| home.assert_nowhere(needle)).is_err();
    assert!(there, "{needle} was never stored");
}

#[test]
fn a_forgotten_session_leaves_no_byte_behind() {
    let home = sample();
    assert_somewhere(&home, MARKER);
    home.ok(&["forget", "N1", "--yes"]);
    let told = home.ok(&["forget", "--session", "s1", "--yes"]);
    settings().bind(|| insta::assert_snapshot!("forget_session", told));
    home.assert_nowhere(MARKER);
    // Also without its stem.
    home.assert_nowhere(&MARKER[..9]);
    assert_eq!(count(&home, "select count(*) from session"), 1);
    assert!(found(&home, "login") > 2, "the other session stays");
    assert_eq!(
        count(
            &home,
            "select count(*) from event where session_db_id not in (select id from session)"
        ),
        0
    );
}

#[test]
fn matching_words_are_forgotten_everywhere() {
    let home = sample();
    assert!(found(&home, MARKER) >= 4);
    let told = home.json(&[
        "forget",
        "--match",
        &format!("{} Import", MARKER.to_uppercase()),
        "--dry-run",
        "--json",
    ]);
    assert_eq!(told["dry_run"], true);
    assert_eq!(
        told["forgotten"]["notes"], 0,
        "all words, not any of them: {told}"
    );
    assert!(found(&home, MARKER) >= 4, "only looked");
    settings().bind(|| {
        insta::assert_snapshot!("forget_match", home.ok(&["forget", "--match", MARKER, "--yes"]));
    });
    assert_eq!(found(&home, MARKER), 0);
    // File paths are part of an event's payload.
    home.assert_nowhere(MARKER);
    assert_eq!(
        count(&home, "select count(*) from session"),
        2,
        "the session itself stays"
    );
    assert_eq!(
        home.run(&["forget", "--match", MARKER, "--yes"], b"")
            .status
            .code(),
        Some(1)
    );
    assert_eq!(
        home.run(&["forget", "--match", "!?", "--yes"], b"").status.code(),
        Some(1)
    );
    // Another word with the same stem stays.
    assert_eq!(
        home.run(&["forget", "--match", "logins", "--yes"], b"")
            .status
            .code(),
        Some(1)
    );
}

#[test]
fn forgetting_a_prompt_keeps_its_turn_and_a_memory_its_evidence() {
    let home = Home::new();
    turn(
        &home,
        "s1",
        "Zanzibarine prompt",
        "src/a.rs",
        "Fixed: the login page is fast now.",
    );
    home.drain();
    let passages = count(&home, "select count(*) from passage");
    home.ok(&["forget", "1", "--yes"]);
    assert_eq!(count(&home, "select count(*) from observation"), 0);
    assert_eq!(count(&home, "select count(*) from passage"), passages);
    assert_eq!(home.run(&["show", "1"], b"").status.code(), Some(1));

    home.ok(&["forget", "P1", "S1", "--yes"]);
    home.assert_nowhere("anzibarine");
    assert_eq!(count(&home, "select count(*) from turn"), 1);
    assert_eq!(
        count(&home, "select count(*) from event"),
        3,
        "an import still knows them"
    );
    assert_eq!(home.run(&["show", "P1"], b"").status.code(), Some(1));
    assert_eq!(home.run(&["forget", "P1", "--yes"], b"").status.code(), Some(1));
}

#[test]
fn forgetting_a_project_deletes_its_row() {
    let home = sample();
    let other = home.repository("other", None);
    for event in ["user-prompt-submit", "stop"] {
        home.report(
            event,
            &json!({"session_id": "s3", "cwd": other, "prompt": "elsewhere"}),
        );
    }
    home.drain();
    home.ok(&["forget", "--project", "acme", "--yes"]);
    home.assert_nowhere(MARKER);
    home.assert_nowhere("login");
    assert_eq!(count(&home, "select count(*) from project"), 1);
    assert_eq!(count(&home, "select count(*) from session"), 1);
    assert_eq!(count(&home, "select count(*) from document"), 1);
    home.ok(&["forget", "--project", "other", "--yes"]);
    for table in [
        "project",
        "session",
        "turn",
        "event",
        "observation",
        "passage",
        "document",
        "words",
    ] {
        assert_eq!(
            count(&home, &format!("select count(*) from {table}")),
            0,
            "{table}"
        );
    }
}

#[test]
fn before_deletes_older_memories() {
    let home = Home::new();
    let line = |kind: &str, session: Value, at: &str, text: &str| {
        json!({"kind": kind, "project": "p", "session_id": session, "created_at": at, "text": text, "title": text}).to_string()
    };
    let lines = [
        line(
            "prompt",
            json!("old"),
            "2020-01-01T00:00:00Z",
            "older zanzibarine",
        ),
        line(
            "observation",
            json!("old"),
            "2020-01-02T00:00:00Z",
            "older zanzibarine",
        ),
        line(
            "prompt",
            json!("both"),
            "2020-01-02T00:00:00Z",
            "older zanzibarine",
        ),
        line("prompt", json!("both"), "2022-01-02T00:00:00Z", "newer"),
        line(
            "note",
            json!(null),
            "2020-01-02T00:00:00Z",
            "older zanzibarine note",
        ),
        line("note", json!(null), "2022-01-02T00:00:00Z", "newer note"),
    ];
    home.run(&["import", "jsonl", "-"], lines.join("\n").as_bytes());
    let told = home.json(&["forget", "--before", "2021-01-01", "--yes", "--json"]);
    assert_eq!(
        told["forgotten"],
        json!({"notes": 1, "observations": 1, "team_memories": 0, "summaries": 0, "prompts": 2, "passages": 0, "sessions": 1, "events": 0})
    );
    home.assert_nowhere("anzibarine");
    assert_eq!(count(&home, "select count(*) from turn"), 1);
    assert_eq!(count(&home, "select count(*) from note"), 1);
    // A forgotten line can be imported again.
    let output = home.run(&["import", "jsonl", "-", "--json"], lines.join("\n").as_bytes());
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&told["imported"], &told["unchanged"]), (&json!(4), &json!(2)));
}

#[test]
fn nothing_is_deleted_without_confirmation() {
    let home = sample();
    let before = count(&home, "select count(*) from document");
    let output = home.run(&["forget", "--project", "acme"], b"yes\n");
    assert_eq!(output.status.code(), Some(2));
    settings().bind(|| {
        insta::assert_snapshot!(
            "forget_refused",
            format!("{}---\n{}", text(&output.stdout), text(&output.stderr))
        );
        insta::assert_snapshot!("forget_dry_run", home.ok(&["forget", "1", "N1", "--dry-run"]));
    });
    assert_eq!(count(&home, "select count(*) from document"), before);
    for wrong in [
        vec!["forget"],
        vec!["forget", "--yes"],
        vec!["forget", "1", "--session", "s1", "--yes"],
        vec!["forget", "--session", "s1", "--project", "acme", "--yes"],
        vec!["forget", "--before", "soon", "--yes"],
    ] {
        assert_eq!(home.run(&wrong, b"").status.code(), Some(2), "{wrong:?}");
    }
    for unknown in [
        vec!["forget", "1", "N77", "--yes"],
        vec!["forget", "--session", "s9", "--yes"],
        vec!["forget", "--project", "nowhere", "--yes"],
    ] {
        assert_eq!(home.run(&unknown, b"").status.code(), Some(1), "{unknown:?}");
    }
    assert_eq!(count(&home, "select count(*) from document"), before);
}

/// Copies a recorded transcript to the client's folder.
fn transcript(home: &Home) -> PathBuf {
    let folder = home.outside().join("claude/projects/-home-dev-acme");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("00000000-0000-4000-8000-000000000001.jsonl");
    fs::copy(recorded_folder().join("transcript.jsonl"), &file).unwrap();
    file
}

#[test]
fn a_forgotten_session_is_not_imported_again() {
    const SESSION: &str = "00000000-0000-4000-8000-000000000001";
    let home = Home::new();
    let file = transcript(&home);
    let folder = home.outside().join("claude/projects");
    let import = || home.json(&["import", "claude-code", folder.to_str().unwrap(), "--json"]);
    assert!(import()["new_events"].as_u64().unwrap() > 0);
    home.ok(&["forget", "--session", SESSION, "--yes"]);
    assert_eq!(import()["unchanged"], 1);
    // The file was touched, so it is read again; its events are still forgotten.
    fs::File::options()
        .write(true)
        .open(&file)
        .unwrap()
        .set_modified(std::time::SystemTime::now())
        .unwrap();
    assert_eq!(import()["new_events"], 0);
    assert_eq!(count(&home, "select count(*) from session"), 0);

    // The same for a session that was captured live and never imported.
    let home = Home::new();
    transcript(&home);
    let folder = home.outside().join("claude/projects");
    home.report(
        "user-prompt-submit",
        &json!({"session_id": SESSION, "prompt": "live"}),
    );
    home.ok(&["forget", "--session", SESSION, "--yes"]);
    let told = home.json(&["import", "claude-code", folder.to_str().unwrap(), "--json"]);
    assert_eq!(told["new_events"], 0);
    assert_eq!(count(&home, "select count(*) from session"), 0);
}

#[test]
fn vectors_are_forgotten_too() {
    let home = Home::new();
    home.ok(&["remember", "Deploys go through staging first"]);
    home.ok(&["index", "--wait"]);
    let vectors = || {
        let file = fs::read(home.path().join("vectors")).unwrap();
        file.into_iter().filter(|byte| *byte != 0).count()
    };
    let before = vectors();
    assert!(before > 200, "{before}");
    home.ok(&["forget", "N1", "--yes"]);
    assert!(vectors() < 64, "{} of {before}", vectors());
    assert_eq!(count(&home, "select count(*) from vector"), 0);
}

#[test]
fn words_are_forgotten_before_distilling_and_in_any_spelling() {
    let home = Home::new();
    // The turn is open and not distilled.
    home.report(
        "user-prompt-submit",
        &json!({"session_id": "s1", "prompt": format!("Call the {MARKER} service")}),
    );
    // Machine-made text is in no index.
    let notice = format!("<task-notification><summary>{MARKER} is done</summary></task-notification>");
    home.report(
        "user-prompt-submit",
        &json!({"session_id": "s2", "prompt": notice}),
    );
    let escaped = r#"{"session_id": "s3", "cwd": "/", "prompt": "Ask M\u00fcllerson about it"}"#;
    home.hook("user-prompt-submit", escaped.as_bytes());
    home.drain();
    assert_somewhere(&home, MARKER);
    home.ok(&["forget", "--match", MARKER, "--yes"]);
    home.assert_nowhere(MARKER);
    home.ok(&["forget", "--match", "müllerson", "--yes"]);
    home.assert_nowhere("llerson");
    // It does not come back when the turn ends.
    home.report(
        "stop",
        &json!({"session_id": "s1", "last_assistant_message": "Called it."}),
    );
    home.drain();
    home.assert_nowhere(MARKER);
}

#[test]
fn forgotten_memories_stay_forgotten_when_the_turn_continues() {
    let home = sample();
    home.ok(&["forget", "1", "S1", "--yes"]);
    let left = count(&home, "select count(*) from observation");
    home.report(
        "subagent-stop",
        &json!({"session_id": "s1", "agent_id": "a1", "last_assistant_message": "No problems found."}),
    );
    home.drain();
    assert_eq!(count(&home, "select count(*) from observation"), left);
    assert_eq!(count(&home, "select count(*) from summary where id = 1"), 0);
    assert_eq!(
        count(&home, "select count(*) from summary"),
        1,
        "the other session's"
    );
}

#[test]
fn forgetting_over_http_leaves_no_byte_behind() {
    let served = Served::start();
    let home = &served.home;
    home.ok(&["remember", &format!("{MARKER} runs on Mondays")]);
    eventually("a daily backup", || {
        fs::read_dir(home.path().join("backups")).is_ok_and(|mut copies| {
            copies.any(|copy| {
                let name = copy.unwrap().file_name().to_string_lossy().into_owned();
                name.starts_with("daily-") && name.ends_with(".db")
            })
        })
    });
    let gone = served.send("DELETE", "/api/observations/N1", None);
    assert_eq!(gone.status, 200, "{}", gone.body);
    home.assert_nowhere(MARKER);
}
