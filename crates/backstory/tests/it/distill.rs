//! From hooks to memories, with the real worker.

use std::fs;

use serde_json::{Value, json};

use crate::home::{Home, eventually};

/// Records a turn with a bug fix, and its transcript as the agent writes it: prose between the tool uses, and
/// without the last message, which is written later.
fn fix_bug(home: &Home) {
    let transcript = home.outside().join("s1.jsonl");
    let line = |kind: &str, content: Value| {
        json!({"type": kind, "sessionId": "s1", "uuid": format!("{content:.40}"), "timestamp": "2026-11-15T10:00:00.000Z",
            "message": {"role": kind, "content": content}})
        .to_string()
    };
    let lines = [
        line("user", json!("Token refresh fails with 401, mend it")),
        line(
            "assistant",
            json!([{"type": "text", "text": "The refresh gives up on the first 401 because `refresh()` never retries."}]),
        ),
        line(
            "assistant",
            json!([{"type": "tool_use", "id": "t1", "name": "Edit", "input": {}}]),
        ),
    ];
    fs::write(&transcript, lines.join("\n") + "\n").unwrap();
    let with = |mut fields: Value| {
        fields["transcript_path"] = json!(transcript);
        fields
    };
    home.report(
        "user-prompt-submit",
        &with(json!({"prompt": "Token refresh fails with 401, mend it"})),
    );
    home.report(
        "post-tool-use",
        &with(json!({"tool_name": "Edit", "tool_use_id": "t1",
            "tool_input": {"file_path": home.project().join("src/auth.rs"), "old_string": "refresh(token)", "new_string": "retry_once(|| refresh(token))"},
            "tool_response": {"filePath": home.project().join("src/auth.rs"), "structuredPatch": [
                {"oldStart": 3, "oldLines": 1, "newStart": 3, "newLines": 1, "lines": ["-refresh(token)", "+retry_once(|| refresh(token))"]}]}})),
    );
    home.report("stop", &with(json!({"last_assistant_message":
        "Fixed: token refresh now retries once on a 401 before it gives up.\n\nNext steps: bound the retries of the upload as well."})));
}

fn rows(home: &Home, sql: &str) -> Vec<String> {
    let connection = rusqlite::Connection::open(home.path().join("backstory.db")).unwrap();
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

#[test]
fn memories_of_a_turn_name_its_files_and_its_reason() {
    let home = Home::new();
    fix_bug(&home);
    home.drain();
    let files = rows(&home, "select files_modified from observation");
    assert!(
        files.iter().any(|files| files == "[\"src/auth.rs\"]"),
        "{files:?}"
    );
    let everything = rows(
        &home,
        "select title || ' ' || coalesce(narrative, '') || facts from observation",
    )
    .join("\n");
    assert!(
        everything.contains("401") && everything.contains("retries"),
        "{everything}"
    );
    let said = rows(&home, "select text from passage").join("\n");
    assert!(
        said.contains("never retries"),
        "what was said between the tool uses stands in the transcript: {said}"
    );
    assert_eq!(
        rows(&home, "select next_steps from summary"),
        ["Bound the retries of the upload as well"]
    );
    let found = rows(
        &home,
        "select kind from document where id in (select rowid from words where words match 'refresh')",
    );
    assert!(
        found.contains(&"observation".to_owned()) && found.contains(&"prompt".to_owned()),
        "{found:?}"
    );
    let session = home.json(&["session", "s1", "--json"]);
    assert_eq!(session["status"], "active");
    assert!(session["title"].as_str().unwrap().contains("401"), "{session}");
    assert_eq!(home.json(&["queue", "--json"])["pending"], 0);
}

#[test]
fn the_next_session_gets_the_memories() {
    let home = Home::new();
    fix_bug(&home);
    home.drain();
    let printed = home.report("session-start", &json!({"session_id": "s2", "source": "startup"}));
    let answer: Value = serde_json::from_str(&printed).unwrap();
    let context = answer["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .unwrap();
    assert!(context.contains("401") && context.contains("upload"), "{context}");
}

#[test]
fn distilling_again_changes_nothing() {
    let home = Home::new();
    fix_bug(&home);
    home.drain();
    let before = rows(
        &home,
        "select title || facts || coalesce(narrative, '') from observation order by id",
    );
    let passages = rows(&home, "select text from passage order by id");
    assert!(!passages.is_empty());
    let connection = rusqlite::Connection::open(home.path().join("backstory.db")).unwrap();
    connection
        .execute("update event set state = 'failed'", [])
        .unwrap();
    assert!(home.ok(&["queue", "retry"]).contains("Retrying "));
    home.drain();
    assert_eq!(
        rows(
            &home,
            "select title || facts || coalesce(narrative, '') from observation order by id"
        ),
        before
    );
    assert_eq!(rows(&home, "select text from passage order by id"), passages);
    assert_eq!(rows(&home, "select request from summary").len(), 1);
}

#[test]
fn memories_exist_soon_after_the_stop() {
    let home = Home::new().with("BACKSTORY_NO_WORKER", "0");
    home.report("session-start", &json!({"source": "startup"}));
    eventually("the worker is up", || home.path().join("worker.json").exists());
    fix_bug(&home);
    let stopped = std::time::Instant::now();
    eventually("there is a memory", || {
        !rows(
            &home,
            "select title from observation where files_modified like '%auth%'",
        )
        .is_empty()
    });
    assert!(
        // The guarantee is one second; a machine that runs seventy tests at once needs some slack.
        stopped.elapsed() < std::time::Duration::from_secs(3),
        "{:?}",
        stopped.elapsed()
    );
}

#[test]
fn a_private_prompt_in_the_transcript_leaves_no_trace() {
    let home = Home::new();
    fix_bug(&home);
    let transcript = home.outside().join("s1.jsonl");
    let mut text = fs::read_to_string(&transcript).unwrap();
    for (kind, content) in [
        ("user", json!("<private>about Initech</private>")),
        (
            "assistant",
            json!([{"type": "text", "text": "Initech is a customer because of the merger."}]),
        ),
    ] {
        let line = json!({"type": kind, "sessionId": "s1", "uuid": kind, "message": {"role": kind, "content": content}});
        text.push_str(&format!("{line}\n"));
    }
    fs::write(&transcript, text).unwrap();
    home.report(
        "user-prompt-submit",
        &json!({"prompt": "<private>about Initech</private>", "transcript_path": transcript}),
    );
    home.report(
        "stop",
        &json!({"transcript_path": transcript, "last_assistant_message": "Initech it is."}),
    );
    home.report(
        "user-prompt-submit",
        &json!({"prompt": "And now the tests", "transcript_path": transcript}),
    );
    home.report(
        "stop",
        &json!({"transcript_path": transcript, "last_assistant_message": "The tests pass."}),
    );
    home.drain();
    home.assert_nowhere("Initech");
}
