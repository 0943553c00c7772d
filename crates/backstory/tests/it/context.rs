//! The context block at session start.

use serde_json::{Value, json};

use crate::{
    home::{Home, eventually, settings},
    http_client::Served,
};

/// Writes memories for the project of the sample session, as a distiller does.
fn remember(home: &Home, count: usize) {
    let connection = rusqlite::Connection::open(home.path().join("backstory.db")).unwrap();
    let day = 86_400_000_i64;
    let start = 1_794_700_000_000_i64;
    for n in 0..count as i64 {
        let (kind, superseded) = (
            if n % 3 == 1 { "decision" } else { "bugfix" },
            (n == 1).then_some(1),
        );
        connection
            .execute(
                "insert into observation (project_id, type, title, superseded_by, created_at, last_seen_at)
                 values (1, ?1, ?2, ?3, ?4, ?4)",
                (
                    kind,
                    format!("Memory number {n} holds"),
                    superseded,
                    start + n * day / 3,
                ),
            )
            .unwrap();
    }
    connection
        .execute(
            "insert into summary (project_id, session_db_id, request, completed, next_steps, created_at)
             values (1, 1, 'Retry on 401', 'Refresh retries once', 'Bound the retries', ?1)",
            [start],
        )
        .unwrap();
}

fn start(home: &Home, source: &str) -> Option<String> {
    let printed = home.report("session-start", &json!({"source": source}));
    if printed.is_empty() {
        return None;
    }
    let answer: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(answer["hookSpecificOutput"]["hookEventName"], "SessionStart");
    Some(
        answer["hookSpecificOutput"]["additionalContext"]
            .as_str()
            .unwrap()
            .to_owned(),
    )
}

fn sample() -> Home {
    let home = Home::new();
    home.report("user-prompt-submit", &json!({"prompt": "x"}));
    home.drain();
    home
}

#[test]
fn a_new_session_gets_the_context_block() {
    let home = sample();
    assert_eq!(start(&home, "startup"), None, "no memories yet");
    remember(&home, 5);
    let mut settings = settings();
    settings.add_filter(r"acme · 20\d\d-\d\d-\d\d \d\d:\d\d UTC", "acme · [now]");
    settings.add_filter(r"`main`, .*ago", "`main`, [age]");
    settings.bind(|| insta::assert_snapshot!("context", start(&home, "startup").unwrap()));
    assert!(start(&home, "clear").is_some() && start(&home, "compact").is_some());
    assert_eq!((start(&home, "resume"), start(&home, "fork")), (None, None));
}

/// Records a session of one turn that ends with a message.
fn session(home: &Home, id: &str, prompt: &str, message: &str) {
    home.report(
        "user-prompt-submit",
        &json!({"session_id": id, "prompt_id": id, "prompt": prompt}),
    );
    home.report(
        "stop",
        &json!({"session_id": id, "prompt_id": id, "last_assistant_message": message}),
    );
    home.drain();
}

#[test]
fn open_work_is_included_until_it_is_done() {
    let home = Home::new();
    session(
        &home,
        "s1",
        "Take coupons off the total",
        "Added coupons to `total()` in `src/cart.py`: they are taken off before tax.\n\nNext: add a test for a coupon larger than the net amount, which currently gives a negative total.",
    );
    session(
        &home,
        "s2",
        "Add French texts",
        "Added the French texts to `texts/fr.json`.",
    );
    session(&home, "s3", "ok commit", "Committed the texts as `a1b2c3d`.");
    let mut settings = settings();
    settings.add_filter(r"acme · 20\d\d-\d\d-\d\d \d\d:\d\d UTC", "acme · [now]");
    settings.add_filter(r"20\d\d-\d\d-\d\d", "[day]");
    settings.add_filter(r"\d\d:\d\d ", "[time] ");
    let block = home.ok(&["context"]);
    settings.bind(|| insta::assert_snapshot!("context_open_work", block));
    let served = Served::start_in(home);
    let page = || {
        let id = served.home.rows("select key from project").remove(0);
        let page = served.get(&format!("/projects/{}", id.replace('/', "%2F")));
        assert_eq!(page.status, 200);
        page.body
    };
    assert!(!page().contains("Nothing is open."), "{}", page());
    let home = &served.home;
    session(
        home,
        "s4",
        "Do what is left for coupons",
        "Added a test for a coupon that is larger than the net amount: the total is never negative.",
    );
    eventually("nothing is open", || {
        !home.ok(&["context"]).contains("Still open")
    });
    assert!(page().contains("Nothing is open."), "{}", page());
}

#[test]
fn unpinned_notes_are_included() {
    let home = Home::new();
    home.ok(&["remember", "The staging database is wiped on Mondays"]);
    home.ok(&["remember", "--global", "Answer in British English"]);
    home.ok(&["remember", "--pin", "Never edit src/legacy by hand"]);
    let block = home.ok(&["context"]);
    let told: Vec<&str> = block.lines().filter(|line| !line.is_empty()).skip(4).collect();
    assert_eq!(
        told,
        [
            "## Pinned",
            "N3 📌 Never edit src/legacy by hand",
            "## Notes",
            "N2 Answer in British English (less than an hour ago)",
            "N1 The staging database is wiped on Mondays (less than an hour ago)",
            "</backstory-context>",
        ]
    );
    for n in 0..6 {
        home.ok(&["remember", &format!("Port {n} is taken")]);
    }
    let explained = home.ok(&["context", "--explain"]);
    let (included, skipped) = explained.split_once("Skipped:").unwrap();
    assert!(included.contains("Port 1 is taken") && included.contains("a recent note"));
    assert!(skipped.contains("Port 0 is taken") && skipped.contains("newer notes are included"));
}

#[test]
fn global_notes_are_included_in_a_project_without_memories() {
    let served = Served::start_in(sample());
    let home = &served.home;
    home.ok(&["remember", "--global", "Answer in British English"]);
    home.ok(&["remember", "--global", "--pin", "Never push to main"]);
    home.ok(&["remember", "Only acme knows this"]);
    let other = home.repository("fresh", None);
    let block = home.ok(&["context", "--cwd", &other.to_string_lossy()]);
    let told: Vec<&str> = block.lines().filter(|line| !line.is_empty()).collect();
    assert!(told[1].starts_with("# fresh · "), "{block}");
    assert_eq!(
        told[4..],
        [
            "## Pinned",
            "N2 📌 Never push to main",
            "## Notes",
            "N1 Answer in British English (less than an hour ago)",
            "</backstory-context>",
        ]
    );
    let without_time = |block: &str| -> Vec<String> {
        let lines = block.trim_end().lines();
        lines
            .filter(|line| !line.starts_with("# "))
            .map(ToOwned::to_owned)
            .collect()
    };
    let start = json!({"session_id": "s2", "source": "startup", "cwd": other});
    let answer = home.report("session-start", &start);
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let at_start = answer["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .unwrap();
    assert_eq!(without_time(at_start), without_time(&block));
    let another = home.repository("another", None);
    let over_http = served.get(&format!("/api/context/inject?cwd={}", another.display()));
    assert_eq!(without_time(&over_http.body), without_time(&block));
}

#[test]
fn restricted_types_and_concepts_reach_behind_the_latest_memories() {
    let home = sample();
    let connection = rusqlite::Connection::open(home.path().join("backstory.db")).unwrap();
    let insert = "insert into observation (project_id, type, title, concepts, created_at, last_seen_at)
        values (1, ?1, ?2, ?3, ?4, ?4)";
    let start_of_work = 1_794_700_000_000_i64;
    let old = (
        "decision",
        "Payments go through a queue",
        r#"["trade-off"]"#,
        start_of_work,
    );
    connection.execute(insert, old).unwrap();
    for n in 1..=300_i64 {
        let title = format!("Fault {n}{n} of part {n} in module {n} is gone");
        connection
            .execute(insert, ("bugfix", title, "[]", start_of_work + n * 60_000))
            .unwrap();
    }
    let block = start(&home, "startup").unwrap();
    assert!(!block.contains("Payments go through a queue"), "{block}");
    for (key, value) in [("context.types", "decision"), ("context.concepts", "trade-off")] {
        home.ok(&["config", "set", key, value]);
        let block = start(&home, "startup").unwrap();
        assert!(block.contains("Payments go through a queue"), "{key}: {block}");
        home.ok(&["config", "unset", key]);
    }
}

#[test]
fn hand_overs_of_ten_sessions_are_listed() {
    let home = sample();
    let connection = rusqlite::Connection::open(home.path().join("backstory.db")).unwrap();
    for n in 2..=14_i64 {
        let at = 1_794_700_000_000_i64 + n * 3_600_000;
        connection
            .execute(
                "insert into session (id, host, session_id, project_id, cwd, title, subtitle, status, started_at, last_event_at)
                 select ?1, host, 'old-' || ?1, project_id, cwd, 'Work number ' || ?1, 'Done with ' || ?1, status, ?2, ?2 from session where id = 1",
                (n, at),
            )
            .unwrap();
        connection
            .execute(
                "insert into summary (project_id, session_db_id, request, completed, created_at) values (1, ?1, 'Work', 'Done', ?2)",
                (n, at),
            )
            .unwrap();
    }
    let block = start(&home, "startup").unwrap();
    let listed = block.lines().filter(|line| line.contains("Work number")).count();
    assert_eq!(listed, 10, "{block}");
    assert!(
        block.contains("Work number 13: Done with 13") && !block.contains("Done with 5"),
        "{block}"
    );
}

#[test]
fn near_duplicates_are_included_once() {
    let home = sample();
    let (here, day) = (home.project(), "2026-11-14T10:00:00Z");
    let lines = [
        json!({"kind": "observation", "type": "bugfix", "title": "The exporter writes dates in UTC", "narrative": "The exporter wrote local dates because `strftime` takes the zone of the machine. It writes them in UTC now.", "session_id": "a1", "created_at": day, "project": here}),
        json!({"kind": "observation", "type": "discovery", "title": "The exporter wrote local dates because of `strftime`", "session_id": "a1", "created_at": day, "project": here}),
        json!({"kind": "observation", "type": "discovery", "title": "Partners read the export at midnight", "narrative": "A late file is taken a day later.", "session_id": "a1", "created_at": day, "project": here}),
        json!({"kind": "summary", "request": "Dates are off by one", "completed": "The exporter writes dates in UTC.", "learned": "It wrote local dates because `strftime` takes the zone of the machine.", "session_id": "a1", "created_at": day, "project": here}),
    ];
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    home.run(&["import", "jsonl", "-"], lines.join("\n").as_bytes());
    let block = home.ok(&["context"]);
    let (_, told) = block.split_once("## 2026-11-14\n").unwrap();
    assert_eq!(
        told,
        "#3 10:00 🟡 Partners read the export at midnight (~18)\n  A late file is taken a day later.\n\
         #1 10:00 🔴 The exporter writes dates in UTC (~36)\n</backstory-context>\n"
    );
    let explained = home.ok(&["context", "--explain"]);
    assert!(explained.contains("already covered by the fix"), "{explained}");
}

#[test]
fn the_block_stays_within_its_budget() {
    let home = sample();
    remember(&home, 400);
    let block = start(&home, "startup").unwrap();
    assert_eq!(block.matches("Memory number").count(), 50);
    let home = home
        .with("BACKSTORY_CONTEXT_OBSERVATIONS", "200")
        .with("BACKSTORY_CONTEXT_BUDGET_TOKENS", "500");
    let block = start(&home, "startup").unwrap();
    assert!(
        block.len() / 4 <= 500 && block.ends_with("</backstory-context>"),
        "{block}"
    );
    let home = home.with("BACKSTORY_CONTEXT_BUDGET_TOKENS", "9000");
    assert!(start(&home, "startup").unwrap().encode_utf16().count() < 9_500);
    let home = home.with("BACKSTORY_CONTEXT_ON_START", "off");
    assert_eq!(start(&home, "startup"), None);
}

#[test]
fn memories_of_another_project_are_not_shown() {
    let home = sample();
    remember(&home, 5);
    let other = home.repository("elsewhere/acme", None);
    let start = json!({"session_id": "s2", "source": "startup", "cwd": other});
    assert_eq!(home.report("session-start", &start), "");
}

#[test]
fn a_damaged_or_locked_store_yields_no_context_and_no_error() {
    let home = sample();
    remember(&home, 5);
    let path = home.path().join("backstory.db");
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection
        .execute_batch("pragma locking_mode = exclusive; begin exclusive")
        .unwrap();
    assert!(home.report("session-start", &json!({"source": "startup"})).len() < 10_000);
    drop(connection);
    std::fs::write(&path, b"this is no database at all, not even nearly one").unwrap();
    assert_eq!(home.report("session-start", &json!({"source": "startup"})), "");
    assert_eq!(home.spooled().len(), 2);
}

#[test]
fn a_missing_folder_is_an_error() {
    let home = sample();
    let output = home.run(&["context", "--cwd", "/nowhere/at/all"], b"");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "error: no such folder: /nowhere/at/all\n"
    );
}

#[test]
fn context_right_after_the_first_events_waits_until_they_are_distilled() {
    let home = Home::new();
    home.report("user-prompt-submit", &json!({"prompt": "Retry the refresh once"}));
    home.report("stop", &json!({"last_assistant_message": "It retries once."}));
    let block = home.ok(&["context"]);
    assert!(block.contains("Retry the refresh once"), "{block}");
}
