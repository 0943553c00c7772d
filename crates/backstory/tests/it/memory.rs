//! Single memories: show, save, pin, edit.

use serde_json::{Value, json};

use crate::{
    home::{Home, settings, text},
    http_client::Served,
};

/// Returns a home with a session whose only turn fixes a bug: one observation, one summary, some passages.
pub(crate) fn home_with_bug_fix() -> Home {
    let home = Home::new();
    report_mending(&home, "p1", "t1", "src/auth.rs");
    home.report("stop", &json!({"prompt_id": "p1", "last_assistant_message":
        "Fixed: token refresh now retries once on a 401 before it gives up.\n\nNext steps: bound the retries of the upload."}));
    home.drain();
    home
}

fn report_mending(home: &Home, prompt: &str, tool: &str, file: &str) {
    home.report(
        "user-prompt-submit",
        &json!({"prompt_id": prompt, "prompt": "Token refresh fails with 401, mend it"}),
    );
    home.report("post-tool-use", &json!({"prompt_id": prompt, "tool_name": "Edit", "tool_use_id": tool,
        "tool_input": {"file_path": home.project().join(file), "old_string": "refresh(token)", "new_string": "retry_once(|| refresh(token))"},
        "tool_response": {"filePath": home.project().join(file), "structuredPatch": [
            {"oldStart": 3, "oldLines": 1, "newStart": 3, "newLines": 1, "lines": ["-refresh(token)", "+retry_once(|| refresh(token))"]}]}}));
}

fn rows(home: &Home, sql: &str) -> Vec<String> {
    let connection = rusqlite::Connection::open(home.path().join("backstory.db")).unwrap();
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement
        .query_map([], |row| row.get::<_, Option<String>>(0))
        .unwrap();
    rows.map(|row| row.unwrap().unwrap_or_default()).collect()
}

/// Returns the number of documents of a kind that match a word.
fn found(home: &Home, kind: &str, word: &str) -> usize {
    let sql = format!(
        "select kind from document where kind = '{kind}' and id in (select rowid from words where words match '{word}')"
    );
    rows(home, &sql).len()
}

fn fails(home: &Home, arguments: &[&str]) -> String {
    let output = home.run(arguments, b"");
    assert_eq!(output.status.code(), Some(1), "{arguments:?}");
    assert!(output.stdout.is_empty());
    text(&output.stderr)
}

fn hidden() -> insta::Settings {
    let mut settings = settings();
    settings.add_filter(r"20\d\d-\d\d-\d\d(?:T[\d:.]+Z| \d\d:\d\d:\d\d \S+)", "[time]");
    settings
}

#[test]
fn show_prints_everything_about_a_memory() {
    let home = home_with_bug_fix();
    hidden().bind(|| {
        insta::assert_snapshot!("show", home.ok(&["show", "1", "S1", "P1", "V1"]));
        let shown = home.json(&["show", "1", "--json"]);
        insta::assert_snapshot!("show_json", serde_json::to_string_pretty(&shown).unwrap());
    });
    let shown = home.json(&["show", "s1", "#P1", "--json"]);
    let ids: Vec<&Value> = shown.as_array().unwrap().iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, ["S1", "P1"]);
    assert_eq!(home.run(&["show", "X1"], b"").status.code(), Some(2));
    assert!(fails(&Home::new(), &["show", "1"]).contains("no observation with id 1"));
}

#[test]
fn a_missing_memory_does_not_hide_the_others() {
    let home = home_with_bug_fix();
    let mut printed = String::new();
    for arguments in [
        &["show", "P1", "N99", "S1"][..],
        &["show", "N99", "P1", "--json"],
        &["show", "N99", "77"],
    ] {
        let output = home.run(arguments, b"");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let shown = match serde_json::from_slice::<Value>(&output.stdout) {
            Ok(list) => format!("{}\n", list[0]["id"]),
            Err(_) => text(&output.stdout),
        };
        printed.push_str(&format!(
            "$ {}\n{shown}{}",
            arguments.join(" "),
            text(&output.stderr)
        ));
    }
    hidden().bind(|| insta::assert_snapshot!("show_unknown", printed));
}

#[test]
fn a_title_is_shown_in_full_on_a_narrow_terminal() {
    let home = Home::new().with("COLUMNS", "50");
    let title = "The importer reads a transcript from its last known position and never from its beginning";
    let line = json!({"kind": "observation", "type": "bugfix", "title": title, "narrative": "It is faster."});
    home.run(&["import", "jsonl", "-"], line.to_string().as_bytes());
    let shown = home.ok(&["show", "1"]);
    let head: Vec<&str> = shown
        .lines()
        .take_while(|line| !line.starts_with("narrative"))
        .collect();
    insta::assert_snapshot!(head.join("\n"), @"
    The importer reads a transcript from its last
    known position and never from its beginning
    bugfix · #1
    ");
}

#[test]
fn times_are_local_for_users_and_utc_in_json() {
    let home = Home::new().with("BACKSTORY_UI_TIMEZONE", "Asia/Tokyo");
    let line = json!({"kind": "observation", "title": "Late", "created_at": "2026-03-01T20:30:00Z"});
    home.run(&["import", "jsonl", "-"], line.to_string().as_bytes());
    let shown = home.ok(&["show", "1"]);
    assert!(shown.contains("2026-03-02 05:30:00 JST"), "{shown}");
    let timeline = home.ok(&["timeline", "1"]);
    assert!(
        timeline.starts_with("2026-03-02\n") && timeline.contains(" 05:30 "),
        "{timeline}"
    );
    for arguments in [["show", "1", "--json"], ["timeline", "1", "--json"]] {
        assert!(home.ok(&arguments).contains("2026-03-01T20:30:00Z"));
    }
}

#[test]
fn a_day_begins_at_midnight_in_the_configured_time_zone() {
    let served = Served::start_in(Home::new().with("BACKSTORY_UI_TIMEZONE", "Asia/Tokyo"));
    let home = &served.home;
    // 05:30 on March 2 in Tokyo.
    let line = json!({"kind": "observation", "title": "Late", "created_at": "2026-03-01T20:30:00Z"});
    home.run(&["import", "jsonl", "-"], line.to_string().as_bytes());
    for (flag, value, is_found) in [
        ("since", "2026-03-02", true),
        ("since", "2026-03-02T05:00:00", true),
        ("since", "2026-03-02T06:00:00", false),
        ("since", "2026-03-02T00:00:00Z", false),
        ("until", "2026-03-02", false),
        ("until", "2026-03-03", true),
    ] {
        let found = home.run(&["search", "late", "--all", &format!("--{flag}"), value], b"");
        assert_eq!(found.status.success(), is_found, "--{flag} {value}");
        let found = served.get(&format!("/api/search?q=late&{flag}={value}")).json();
        assert_eq!(
            found["results"].as_array().unwrap().len(),
            usize::from(is_found),
            "{flag}={value}"
        );
    }
    let before = |day| {
        home.run(&["forget", "--before", day, "--dry-run"], b"")
            .status
            .success()
    };
    assert_eq!((before("2026-03-02"), before("2026-03-03")), (false, true));
}

#[test]
fn control_characters_of_a_session_are_not_printed() {
    let home = Home::new();
    let line = json!({"kind": "observation", "title": "red \u{1b}[31m", "narrative": "a\u{1b}]0;evil\u{7}b\u{202e}c", "external_id": "x\u{1b}y"});
    home.run(&["import", "jsonl", "-"], line.to_string().as_bytes());
    let shown = home.ok(&["show", "1"]);
    assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{shown:?}");
    assert_eq!(home.json(&["show", "1", "--json"])[0]["external_id"], "x\u{1b}y");
}

#[test]
fn a_note_is_saved_once_for_its_project() {
    let home = Home::new();
    let saved = home.ok(&[
        "remember",
        "Deploys go through staging first",
        "--file",
        "./ops/deploy.sh",
    ]);
    assert_eq!(saved, "Saved N1 in acme\n");
    assert_eq!(
        home.ok(&["remember", " Deploys go through staging first\n"]),
        "Already saved as N1 in acme\n"
    );
    assert_eq!(home.json(&["show", "N1", "--json"])[0]["pinned"], false);
    assert_eq!(
        home.ok(&["remember", "--pin", "Deploys go through staging first"]),
        "Already saved as N1, now pinned in acme\n"
    );
    assert_eq!(
        home.fields(&[
            "remember",
            "--global",
            "--json",
            "Deploys go through staging first"
        ]),
        json!({"id": "N2", "new": true, "pinned": false, "shared": false})
    );
    let note = &home.json(&["show", "N1", "--json"])[0];
    assert_eq!(
        (
            &note["pinned"],
            &note["files_read"],
            &note["provenance"]["author"]
        ),
        (&json!(true), &json!(["ops/deploy.sh"]), &json!("person"))
    );
    assert_eq!(home.json(&["show", "N2", "--json"])[0]["project"], Value::Null);
    assert_eq!(found(&home, "note", "staging"), 2);
    let output = home.run(&["remember", "--type", "decision", "-"], b"From stdin\n");
    assert_eq!(text(&output.stdout), "Saved N3 in acme\n");
    assert_eq!(home.json(&["show", "N3", "--json"])[0]["type"], "decision");
    hidden().bind(|| insta::assert_snapshot!("show_note", home.ok(&["show", "N1"])));
}

#[test]
fn private_spans_and_secrets_are_not_saved_in_notes() {
    let home = Home::new();
    let token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let output = home.run(
        &[
            "remember",
            &format!("the <private>zebra</private> token is {token}"),
        ],
        b"",
    );
    assert_eq!(text(&output.stderr), "Private spans and secrets were removed.\n");
    assert!(fails(&home, &["remember", "<private>zebra"]).contains("is empty without its private spans"));
    assert!(fails(&home, &["remember", "  "]).contains("the note is empty"));
    home.ok(&[
        "edit",
        "N1",
        "--text",
        &format!("kept <private>zebra</private> {token}"),
    ]);
    assert!(
        fails(&home, &["edit", "N1", "--text", "<private>zebra</private>"])
            .contains("is empty without its private spans")
    );
    home.assert_nowhere("zebra");
    home.assert_nowhere("ghp_0123");
    assert_eq!(found(&home, "note", "kept"), 1);
}

#[test]
fn every_kind_can_be_pinned_and_unpinned() {
    let home = home_with_bug_fix();
    home.ok(&["remember", "a note"]);
    let handles = ["1", "S1", "P1", "N1", "V1"];
    let pinned = |home: &Home| -> Vec<bool> {
        let shown = home.json(&[&["show", "--json"][..], &handles].concat());
        let list = shown.as_array().unwrap();
        list.iter().map(|one| one["pinned"].as_bool().unwrap()).collect()
    };
    assert_eq!(
        home.ok(&[&["pin"][..], &handles].concat()),
        "Pinned 1, S1, P1, N1, V1\n"
    );
    assert_eq!(pinned(&home), [true; 5]);
    home.ok(&[&["unpin"][..], &handles].concat());
    assert_eq!(pinned(&home), [false; 5]);
    assert!(fails(&home, &["pin", "N1", "S77"]).contains("no summary with id S77"));
    assert_eq!(pinned(&home), [false; 5], "all or nothing");
}

#[test]
fn an_edited_memory_is_found_by_its_new_text() {
    let home = home_with_bug_fix();
    home.ok(&[
        "edit",
        "1",
        "--title",
        "Refresh waits for the quorum",
        "--fact",
        "one",
        "--fact",
        "two",
        "--type",
        "Decision",
    ]);
    let memory = &home.json(&["show", "1", "--json"])[0];
    assert_eq!(
        (&memory["title"], &memory["facts"], &memory["type"]),
        (
            &json!("Refresh waits for the quorum"),
            &json!(["one", "two"]),
            &json!("decision")
        )
    );
    assert!(memory["provenance"]["edited_at"].is_string());
    assert_eq!(found(&home, "observation", "quorum"), 1);
    assert_eq!(
        home.ok(&["edit", "S1", "--next-steps", "Ask the quorum"]),
        "Changed S1: next_steps\n"
    );
    assert_eq!(found(&home, "summary", "quorum"), 1);
    home.ok(&["edit", "P1", "--text", "Mend the quorum"]);
    assert_eq!(found(&home, "prompt", "quorum"), 1);
    assert_eq!(found(&home, "prompt", "refresh"), 0);
    hidden().bind(|| {
        let errors = [
            fails(&home, &["edit", "S1", "--title", "x"]),
            fails(&home, &["edit", "1", "--text", "x"]),
            fails(&home, &["edit", "V1", "--text", "x"]),
            fails(&home, &["edit", "1"]),
            fails(&home, &["edit", "N5", "--text", "x"]),
        ];
        insta::assert_snapshot!("edit_errors", errors.concat());
    });
}

#[test]
fn edited_and_pinned_memories_survive_distilling() {
    let home = home_with_bug_fix();
    let before = rows(&home, "select title from observation");
    assert_eq!(before.len(), 1);
    home.ok(&["edit", "1", "--title", "Said better"]);
    home.ok(&["edit", "S1", "--next-steps", "Nothing"]);
    home.ok(&["pin", "V1"]);
    let passages = rows(&home, "select text from passage order by text");
    // The turn continues: it is distilled again, with one more tool use.
    home.report(
        "post-tool-use",
        &json!({"prompt_id": "p1", "tool_name": "Edit", "tool_use_id": "t2",
        "tool_input": {"file_path": home.project().join("src/auth.rs"), "old_string": "a", "new_string": "b"},
        "tool_response": {"filePath": home.project().join("src/auth.rs")}}),
    );
    home.report("stop", &json!({"prompt_id": "p1", "last_assistant_message":
        "Fixed: token refresh now retries once on a 401 before it gives up.\n\nNext steps: bound the retries of the upload."}));
    home.drain();
    assert_eq!(rows(&home, "select title from observation"), ["Said better"]);
    assert_eq!(rows(&home, "select next_steps from summary"), ["Nothing"]);
    let after = rows(&home, "select text from passage order by text");
    assert!(passages.iter().all(|text| after.contains(text)), "{after:?}");
    let unique: std::collections::BTreeSet<&String> = after.iter().collect();
    assert_eq!(
        unique.len(),
        after.len(),
        "a pinned passage is not doubled: {after:?}"
    );
    // Other memories are replaced.
    let home = home_with_bug_fix();
    home.report(
        "stop",
        &json!({"prompt_id": "p1", "last_assistant_message": "Fixed: the refresh waits for the quorum now."}),
    );
    home.drain();
    assert_eq!(rows(&home, "select count(*) || '' from summary"), ["1"]);
    assert_ne!(rows(&home, "select id || '' from observation"), ["1"]);
}

fn line(kind: &str, project: &str, at: &str, text: &str) -> String {
    json!({"kind": kind, "project": project, "session_id": "s", "created_at": format!("2026-01-0{at}:00Z"), "text": text, "title": text, "request": text})
        .to_string()
}

#[test]
fn a_timeline_shows_the_history_around_a_memory() {
    let home = Home::new().with("TZ", "UTC");
    let lines = [
        line("prompt", "acme", "1T10:00", "Make the cache smaller"),
        line("passage", "acme", "1T10:01", "cache.rs has a budget"),
        line("observation", "acme", "1T10:02", "The cache has a budget"),
        line("summary", "acme", "1T10:02", "Make the cache smaller"),
        line("prompt", "acme", "2T09:00", "Why is login slow?"),
        line("observation", "acme", "2T09:00", "Login reads every user"),
        line("observation", "elsewhere", "2T09:00", "Another project"),
        line("note", "acme", "3T00:00", "Ask Kim about login"),
    ];
    home.run(&["import", "jsonl", "-"], lines.join("\n").as_bytes());
    hidden().bind(|| {
        insta::assert_snapshot!("timeline", home.ok(&["timeline", "2"]));
        let some = home.json(&[
            "timeline",
            "--project",
            "acme",
            "reads",
            "every",
            "--before",
            "2",
            "--after",
            "0",
            "--json",
        ]);
        insta::assert_snapshot!("timeline_json", serde_json::to_string_pretty(&some).unwrap());
    });
    let ids = |arguments: &[&str]| -> Vec<String> {
        let told = home.json(&[&["timeline", "--json"][..], arguments].concat());
        let list = told["timeline"].as_array().unwrap();
        list.iter()
            .map(|one| one["id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids(&["V1"]), ["P1", "V1", "1", "S1", "P2", "2", "N1"]);
    assert_eq!(ids(&["S1", "--before", "1", "--after", "1"]), ["1", "S1", "P2"]);
    assert_eq!(ids(&["3"]), ["3"]);
    assert_eq!(ids(&["--all", "another project"]), ["3"]);
    assert_eq!(
        home.run(&["timeline", "nothing", "of", "that"], b"")
            .status
            .code(),
        Some(1)
    );
    assert!(fails(&home, &["timeline", "S77"]).contains("no summary with id S77"));
}
