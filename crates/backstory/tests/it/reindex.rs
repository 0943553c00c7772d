//! `backstory reindex`: memories of earlier versions are rebuilt, and what the user chose to keep stays.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::home::Home;

/// Puts the database of an earlier schema into a home.
fn with_old_database(schema: u32) -> Home {
    let home = Home::new();
    fs::create_dir_all(home.path()).unwrap();
    let old = format!(
        "{}/../../testdata/databases/schema-{schema}.db",
        env!("CARGO_MANIFEST_DIR")
    );
    fs::copy(old, home.path().join("backstory.db")).unwrap();
    home
}

fn run(home: &Home, sql: &str) {
    let connection = rusqlite::Connection::open(home.path().join("backstory.db")).unwrap();
    connection.execute_batch(sql).unwrap();
}

#[test]
fn a_store_of_an_earlier_schema_is_rebuilt_and_ids_resolve() {
    for schema in [5, 6] {
        let home = with_old_database(schema);
        home.ok(&["pin", "1"]);
        home.ok(&["edit", "S2", "--next-steps", "Ask the quorum"]);
        let pinned = home.json(&["show", "1", "--json"]);
        let replaced = home.json(&["show", "2", "--json"]);
        assert_eq!(home.rows("select id from turn where log is not null"), [""; 0]);

        assert_eq!(
            home.fields(&["reindex", "--json"]),
            json!({"turns": 6, "restored": 0, "skipped": 0})
        );
        assert_eq!(
            home.rows("select cast(count(*) as text) from turn where log is null"),
            ["0"]
        );
        assert_eq!(
            home.rows("select cast(count(*) as text) from passage where item_key is null"),
            ["0"]
        );
        assert_eq!(home.rows("select cast(count(*) as text) from handover"), ["1"]);
        let title = |memory: &Value| memory[0]["title"].as_str().map(ToOwned::to_owned);
        assert_eq!(title(&home.json(&["show", "1", "--json"])), title(&pinned));
        assert_eq!(
            home.json(&["show", "S2", "--json"])[0]["next_steps"],
            "Ask the quorum"
        );
        // The number of a replaced memory leads to its successor.
        let successor = home.json(&["show", "2", "--json"]);
        assert!(title(&successor).is_some(), "{replaced} {successor}");
        assert!(!home.ok(&["search", "return b + a", "--all"]).is_empty());

        assert_eq!(home.ok(&["reindex"]), "Nothing to rebuild.\n");
    }
}

const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";

fn session(home: &Home, transcript: &Path) {
    let command = json!({"command": "cargo test --workspace"});
    let lines = [
        json!({"type": "user", "promptId": "p1", "message": {"role": "user", "content": "Fix the parser"}}),
        json!({"type": "assistant", "message": {"id": "m1", "content": [
            {"type": "tool_use", "id": "t1", "name": "Bash", "input": command}]}}),
        json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t1", "content": "x"}]},
            "toolUseResult": {"stdout": "parser: 12 passed"}}),
        json!({"type": "assistant", "message": {"id": "m2", "content": [
            {"type": "text", "text": "The parser accepts tabs now because the lexer counts them as blanks."}]}}),
    ];
    let lines: String = lines
        .into_iter()
        .enumerate()
        .map(|(at, mut line)| {
            line["sessionId"] = SESSION.into();
            line["cwd"] = "/w/app".into();
            line["uuid"] = format!("u{at}").into();
            line["timestamp"] = format!("2026-02-07T04:00:{at:02}.000Z").into();
            format!("{line}\n")
        })
        .collect();
    fs::write(transcript, lines).unwrap();
    let with = |mut fields: Value| {
        fields["transcript_path"] = transcript.to_string_lossy().into();
        fields["prompt_id"] = "p1".into();
        fields
    };
    home.report("user-prompt-submit", &with(json!({"prompt": "Fix the parser"})));
    let answer = json!({"stdout": "parser: 12 passed"});
    home.report(
        "post-tool-use",
        &with(
            json!({"tool_name": "Bash", "tool_use_id": "t1", "tool_input": command, "tool_response": answer}),
        ),
    );
    let report = "The parser accepts tabs now because the lexer counts them as blanks.";
    home.report("stop", &with(json!({"last_assistant_message": report})));
    home.drain();
}

const PASSAGES: &str = "select kind || ': ' || text from passage order by position";

#[test]
fn expired_events_are_read_from_the_transcript_that_still_exists() {
    let home = Home::new();
    let transcript = home.outside().join("s.jsonl");
    session(&home, &transcript);
    let before = home.rows(PASSAGES);
    assert!(before.len() >= 2, "{before:?}");
    run(&home, "update event set payload = '{}', packed = null");
    assert_eq!(home.json(&["reindex", "--all", "--json"])["turns"], 1);
    assert_eq!(home.rows(PASSAGES), before);

    fs::remove_file(transcript).unwrap();
    assert_eq!(
        home.fields(&["reindex", "--all", "--json"]),
        json!({"turns": 0, "restored": 0, "skipped": 1})
    );
    assert_eq!(home.rows(PASSAGES), before);
    let printed = home.ok(&["reindex", "--all"]);
    assert!(printed.contains("Kept 1 turn as is"), "{printed}");
}

#[test]
fn imported_sessions_are_read_again_and_forgotten_ones_are_not() {
    let home = Home::new();
    let transcript = home.outside().join(format!("{SESSION}.jsonl"));
    session(&Home::new(), &transcript);
    home.ok(&["import", "claude-code", &transcript.to_string_lossy()]);
    let before = home.rows(PASSAGES);
    assert!(before.iter().any(|text| text.contains("12 passed")), "{before:?}");
    let expire = "update event set payload = '{}', packed = null; update turn set log = null";
    run(&home, expire);
    let report = home.json(&["reindex", "--json"]);
    assert_eq!(
        (&report["turns"], &report["skipped"]),
        (&json!(1), &json!(0)),
        "{report}"
    );
    assert_eq!(home.rows(PASSAGES), before);

    home.ok(&["forget", "--match", "passed", "--yes"]);
    run(&home, expire);
    assert_eq!(home.json(&["reindex", "--all", "--json"])["restored"], 0);
    home.assert_nowhere("12 passed");
}

#[test]
fn the_memories_of_turns_that_cannot_be_rebuilt_stay_when_the_session_goes_on() {
    let home = with_old_database(6);
    home.ok(&["sessions"]);
    let titles = "select title from observation order by id";
    let before = home.rows(titles);
    run(
        &home,
        "update event set payload = '{}' where kind like 'post-tool-use%'",
    );
    let report = home.json(&["reindex", "--json"]);
    assert!(report["skipped"].as_u64() > Some(0), "{report}");
    let after = home.rows(titles);
    assert!(
        before.iter().all(|title| after.contains(title)),
        "{before:?} {after:?}"
    );
}
