//! What time and trouble make of a session: searchable soon, interrupted by silence, failed with its events.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::{
    home::{Home, eventually, settings},
    session_lifecycle::{Life, Worker},
};

#[test]
fn a_summary_is_found_by_its_words_soon_after_the_stop() {
    let life = Life::new(Worker::WhenAllIsOver);
    let mut worker = life.home.command(&["worker", "run"]).spawn().unwrap();
    eventually("the worker is up", || {
        life.home.path().join("worker.json").exists()
    });
    let found = |words: &str| {
        let sql = format!(
            "select kind from document where id in (select rowid from words where words match '{words}')"
        );
        life.home.rows(&sql).contains(&"summary".to_owned())
    };
    life.retry_turn("s1", "p1");
    let mut waits = Vec::new();
    for (id, word) in [("p2", "ferret"), ("p3", "walrus"), ("p4", "heron")] {
        life.prompt("s1", id, &format!("Cap the cache of the {word}"));
        life.edit(
            "s1",
            id,
            &format!("src/{word}.rs"),
            "Cache::new()",
            "Cache::with_capacity(512)",
        );
        assert!(!found(word));
        life.stop(
            "s1",
            id,
            &format!("The cache of the {word} now holds 512 entries at most."),
        );
        let stopped = Instant::now();
        eventually("the summary is found", || found(word));
        waits.push(stopped.elapsed());
    }
    worker.kill().unwrap();
    worker.wait().unwrap();
    // One second is the promise; a machine that runs a hundred tests at once gets some slack.
    assert!(
        waits.iter().all(|wait| *wait < Duration::from_secs(3)),
        "{waits:?}"
    );
}

/// Moves the last event of all sessions so far back, as time does.
fn age(home: &Home, hours: i64) {
    let connection = rusqlite::Connection::open(home.path().join("backstory.db")).unwrap();
    connection
        .execute(
            "update session set last_event_at = last_event_at - ?1",
            [hours * 3_600_000],
        )
        .unwrap();
}

#[test]
fn a_silent_session_is_interrupted_while_the_worker_runs_and_its_turn_is_remembered() {
    let life = Life::new(Worker::WhenAllIsOver);
    let mut worker = life.home.command(&["worker", "run"]).spawn().unwrap();
    let pending = || life.home.json(&["queue", "--json"])["pending"].as_u64().unwrap();
    life.prompt("s1", "p1", "Token refresh fails with 401, mend it");
    life.edit(
        "s1",
        "p1",
        "src/auth.rs",
        "refresh(token)",
        "retry_once(|| refresh(token))",
    );
    eventually("the events are distilled", || pending() == 0);
    let turn = || life.home.json(&["session", "s1", "--json"])["turns"][0].clone();
    assert_eq!(
        (&turn()["ended_at"], &turn()["observations"]),
        (&json!(null), &json!([]))
    );
    age(&life.home, 23);
    life.start("s2", "startup");
    eventually("the event is distilled", || pending() == 0);
    assert_eq!(life.status("s1"), "active", "a day is not over");

    age(&life.home, 2);
    life.event("s3", "session-start", json!({"source": "startup"}));
    eventually("the session is interrupted", || {
        life.status("s1") == "interrupted"
    });
    eventually("its turn is remembered", || turn()["summary"].is_object());
    assert_eq!(
        turn()["observations"][0]["files_modified"],
        json!(["src/auth.rs"])
    );
    assert_eq!(pending(), 0);
    assert_eq!(life.status("s2"), "active", "it was heard of two hours ago");
    assert!(worker.try_wait().unwrap().is_none(), "the same worker saw it all");
    worker.kill().unwrap();
    worker.wait().unwrap();
}

#[test]
fn a_session_that_is_heard_of_again_is_active_again() {
    for event in ["post-tool-use", "stop", "subagent-stop", "user-prompt-submit"] {
        let life = Life::new(Worker::WhenAllIsOver);
        life.prompt("s1", "p1", "Run the long migration");
        life.home.drain();
        age(&life.home, 30);
        // Nobody runs a worker, and the list is right all the same.
        assert_eq!(life.status("s1"), "interrupted");
        let fields = json!({"prompt_id": "p1", "prompt": "x", "tool_name": "Bash", "agent_type": "Explore"});
        life.event("s1", event, fields);
        life.home.drain();
        assert_eq!(life.status("s1"), "active", "{event}");
    }
    let life = Life::new(Worker::WhenAllIsOver);
    life.prompt("s1", "p1", "Run the long migration");
    life.home.drain();
    age(&life.home, 30);
    life.end("s1", "other");
    life.home.drain();
    assert_eq!(life.status("s1"), "completed");
}

/// What waits was on the desk of a worker that died over it once too often.
fn give_up(home: &Home) {
    home.ok(&["sessions"]);
    let connection = rusqlite::Connection::open(home.path().join("backstory.db")).unwrap();
    let sql = "update event set state = 'processing', tries = 8, lease_until = 1 where state = 'pending'";
    assert!(connection.execute(sql, []).unwrap() > 0);
    home.drain();
}

#[test]
fn a_session_fails_with_its_events_and_comes_back_with_them() {
    let life = Life::new(Worker::WhenAllIsOver);
    life.retry_turn("s1", "p1");
    life.cache_turn("s2", "p2");
    life.end("s2", "other");
    give_up(&life.home);
    life.cache_turn("s3", "p3");
    life.home.drain();
    let mut settings = settings();
    settings.add_filter(r" #\d+", " #[id]");
    settings.bind(|| {
        insta::assert_snapshot!("life_failed", life.shown() + &life.home.ok(&["queue"]));
    });
    // The end does not hide it, nor does it hide the end.
    life.end("s1", "other");
    life.home.drain();
    assert_eq!(life.status("s1"), "failed");
    // Going on does not wait for it.
    life.cache_turn("s2", "p4");
    life.home.drain();
    assert_eq!(life.status("s2"), "active");
    life.end("s2", "other");
    assert_eq!(life.status("s2"), "failed");

    let first = life.home.json(&["queue", "--json"])["items"][0]["id"].clone();
    life.home.ok(&["queue", "retry", &first.to_string()]);
    assert_eq!(life.status("s1"), "failed", "most of it is still given up");
    assert!(life.home.ok(&["queue", "retry"]).contains("Retrying "));
    assert_eq!(
        (life.status("s1"), life.status("s2")),
        (json!("completed"), json!("completed"))
    );
    life.home.drain();
    settings.bind(|| insta::assert_snapshot!("life_retried", life.shown()));
}
