//! Forks: sessions that begin with a copy of another session.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::home::Home;

const ORIGINAL: &str = "11111111-1111-4111-8111-111111111111";
const FORK: &str = "22222222-2222-4222-8222-222222222222";

/// Returns transcript lines as 2.1.325 writes them: time, session, prompt, role, content.
fn lines(session: &str, said: &[(u32, &str, &str, Value)]) -> String {
    let line = |(second, prompt, kind, content): &(u32, &str, &str, Value)| {
        let mut line = json!({"type": kind, "sessionId": session, "uuid": format!("line-{second}"),
            "timestamp": format!("2026-11-15T10:00:{second:02}.000Z"), "cwd": "/work/shop", "gitBranch": "main",
            "message": {"role": kind, "content": content}});
        if *kind == "user" {
            line["promptId"] = json!(prompt);
        }
        format!("{line}\n")
    };
    said.iter().map(line).collect()
}

/// Writes a session and a fork of it. `marked`: print mode starts the file with a line that has the time; a terminal
/// does not. In both the copies have the fork's id, and all of them the id of its first own prompt.
fn forked(folder: &Path, marked: bool) {
    fs::create_dir_all(folder).unwrap();
    let told = |first: &'static str, second: &'static str| {
        vec![
            (1, first, "user", json!("Why does checkout time out?")),
            (
                2,
                first,
                "assistant",
                json!([{"type": "text", "text": "Checkout times out because the stock lock is held during the payment."}]),
            ),
            (3, second, "user", json!("Where is that lock taken?")),
            (
                4,
                second,
                "assistant",
                json!([{"type": "text", "text": "The stock lock is taken in `reserve()` because two carts could buy the last item."}]),
            ),
        ]
    };
    let original = lines(ORIGINAL, &told("p1", "p2"));
    let begin =
        json!({"type": "queue-operation", "timestamp": "2026-11-15T10:00:30.000Z", "sessionId": FORK});
    let mut own = told("p3", "p3");
    own.push((31, "p3", "user", json!("Could the lock be per item?")));
    own.push((
        32,
        "p3",
        "assistant",
        json!([{"type": "text", "text": "A lock per item works because a cart never takes two at once."}]),
    ));
    own.push((33, "p4", "user", json!("And per warehouse?")));
    own.push((
        34,
        "p4",
        "assistant",
        json!([{"type": "text", "text": "A lock per warehouse fails because stock moves between warehouses."}]),
    ));
    let begin = if marked {
        format!("{begin}\n")
    } else {
        String::new()
    };
    fs::write(folder.join(format!("{ORIGINAL}.jsonl")), original).unwrap();
    fs::write(folder.join(format!("{FORK}.jsonl")), begin + &lines(FORK, &own)).unwrap();
}

/// Query for all passages with their sessions.
const STORED: &str = "select s.session_id || ' ' || kind || ' ' || text from passage p
    join session s on s.id = p.session_db_id union all
    select s.session_id || ' ' || type || ' ' || o.title from observation o join session s on s.id = o.session_db_id
    order by 1";

#[test]
fn a_fork_duplicates_nothing() {
    for marked in [true, false] {
        let live = Home::new();
        let folder = live.outside().join("projects/-work-shop");
        forked(&folder, marked);
        let report = |session: &str, event: &str, mut fields: Value| {
            fields["session_id"] = session.into();
            fields["transcript_path"] = json!(folder.join(format!("{session}.jsonl")));
            live.report(event, &fields);
        };
        let turn = |session: &str, id: &str, prompt: &str, answer: &str| {
            report(
                session,
                "user-prompt-submit",
                json!({"prompt_id": id, "prompt": prompt}),
            );
            report(
                session,
                "stop",
                json!({"prompt_id": id, "last_assistant_message": answer}),
            );
        };
        turn(
            ORIGINAL,
            "p1",
            "Why does checkout time out?",
            "Checkout times out because the stock lock is held during the payment.",
        );
        turn(
            ORIGINAL,
            "p2",
            "Where is that lock taken?",
            "The stock lock is taken in `reserve()` because two carts could buy the last item.",
        );
        report(FORK, "session-start", json!({"source": "fork"}));
        turn(
            FORK,
            "p3",
            "Could the lock be per item?",
            "A lock per item works because a cart never takes two at once.",
        );
        turn(
            FORK,
            "p4",
            "And per warehouse?",
            "A lock per warehouse fails because stock moves between warehouses.",
        );
        live.drain();
        let stored = live.rows(STORED);
        for said in [
            "held during",
            "two carts",
            "never takes two",
            "between warehouses",
        ] {
            let found = stored
                .iter()
                .filter(|row| row.contains(" report ") && row.contains(said));
            assert_eq!(found.count(), 1, "{said}: {stored:#?}");
        }

        let imported = Home::new();
        let folder = imported.outside().join("projects/-work-shop");
        forked(&folder, marked);
        imported.ok(&[
            "import",
            "claude-code",
            folder.parent().unwrap().to_str().unwrap(),
        ]);
        imported.drain();
        assert_eq!(imported.rows(STORED), stored, "marked: {marked}");
        let turns = |home: &Home| {
            home.json(&["session", FORK, "--json"])["turns"]
                .as_array()
                .unwrap()
                .len()
        };
        assert_eq!((turns(&imported), turns(&live)), (2, 2));
    }
}
