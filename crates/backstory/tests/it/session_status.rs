//! Status of a session over time: searchable soon, interrupted by silence, failed with its events.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::{
    home::{Home, eventually, settings},
    session_lifecycle::{Scenario, Worker},
};

#[test]
fn a_summary_is_found_by_its_words_soon_after_the_stop() {
    let scenario = Scenario::new(Worker::WhenAllIsOver);
    let mut worker = scenario.home.command(&["worker", "run"]).spawn().unwrap();
    eventually("the worker is up", || {
        scenario.home.path().join("worker.json").exists()
    });
    let found = |words: &str| {
        let sql = format!(
            "select kind from document where id in (select rowid from words where words match '{words}')"
        );
        scenario.home.rows(&sql).contains(&"summary".to_owned())
    };
    scenario.retry_turn("s1", "p1");
    let mut waits = Vec::new();
    for (id, word) in [("p2", "ferret"), ("p3", "walrus"), ("p4", "heron")] {
        scenario.prompt("s1", id, &format!("Cap the cache of the {word}"));
        scenario.edit(
            "s1",
            id,
            &format!("src/{word}.rs"),
            "Cache::new()",
            "Cache::with_capacity(512)",
        );
        assert!(!found(word));
        scenario.stop(
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
    // The guarantee is one second; a machine that runs a hundred tests at once needs some slack.
    assert!(
        waits.iter().all(|wait| *wait < Duration::from_secs(3)),
        "{waits:?}"
    );
}

/// Moves the last event of all sessions back in time.
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
fn a_running_worker_interrupts_a_silent_session_and_distills_its_turn() {
    let scenario = Scenario::new(Worker::WhenAllIsOver);
    let mut worker = scenario.home.command(&["worker", "run"]).spawn().unwrap();
    let pending = || {
        scenario.home.json(&["queue", "--json"])["pending"]
            .as_u64()
            .unwrap()
    };
    scenario.prompt("s1", "p1", "Token refresh fails with 401, mend it");
    scenario.edit(
        "s1",
        "p1",
        "src/auth.rs",
        "refresh(token)",
        "retry_once(|| refresh(token))",
    );
    eventually("the events are distilled", || pending() == 0);
    let turn = || scenario.home.json(&["session", "s1", "--json"])["turns"][0].clone();
    assert_eq!(
        (&turn()["ended_at"], &turn()["observations"]),
        (&json!(null), &json!([]))
    );
    age(&scenario.home, 23);
    scenario.start("s2", "startup");
    eventually("the event is distilled", || pending() == 0);
    assert_eq!(scenario.status("s1"), "active", "a day is not over");

    age(&scenario.home, 2);
    scenario.event("s3", "session-start", json!({"source": "startup"}));
    eventually("the session is interrupted", || {
        scenario.status("s1") == "interrupted"
    });
    eventually("its turn is distilled", || turn()["summary"].is_object());
    assert_eq!(
        turn()["observations"][0]["files_modified"],
        json!(["src/auth.rs"])
    );
    assert_eq!(pending(), 0);
    assert_eq!(scenario.status("s2"), "active", "it was heard of two hours ago");
    assert!(worker.try_wait().unwrap().is_none(), "the same worker saw it all");
    worker.kill().unwrap();
    worker.wait().unwrap();
}

#[test]
fn a_session_with_new_events_is_active_again() {
    for event in ["post-tool-use", "stop", "subagent-stop", "user-prompt-submit"] {
        let scenario = Scenario::new(Worker::WhenAllIsOver);
        scenario.prompt("s1", "p1", "Run the long migration");
        scenario.home.drain();
        age(&scenario.home, 30);
        // The status is right even without a worker.
        assert_eq!(scenario.status("s1"), "interrupted");
        let fields = json!({"prompt_id": "p1", "prompt": "x", "tool_name": "Bash", "agent_type": "Explore"});
        scenario.event("s1", event, fields);
        scenario.home.drain();
        assert_eq!(scenario.status("s1"), "active", "{event}");
    }
    let scenario = Scenario::new(Worker::WhenAllIsOver);
    scenario.prompt("s1", "p1", "Run the long migration");
    scenario.home.drain();
    age(&scenario.home, 30);
    scenario.end("s1", "other");
    scenario.home.drain();
    assert_eq!(scenario.status("s1"), "completed");
}

/// Marks pending items as claimed by a worker that crashed once too often.
fn fail_pending_items(home: &Home) {
    home.ok(&["sessions"]);
    let connection = rusqlite::Connection::open(home.path().join("backstory.db")).unwrap();
    let sql = "update event set state = 'processing', tries = 8, lease_until = 1 where state = 'pending'";
    assert!(connection.execute(sql, []).unwrap() > 0);
    home.drain();
}

#[test]
fn a_session_fails_with_its_events_and_recovers_with_them() {
    let scenario = Scenario::new(Worker::WhenAllIsOver);
    scenario.retry_turn("s1", "p1");
    scenario.cache_turn("s2", "p2");
    scenario.end("s2", "other");
    fail_pending_items(&scenario.home);
    scenario.cache_turn("s3", "p3");
    scenario.home.drain();
    let mut settings = settings();
    settings.add_filter(r" #\d+", " #[id]");
    settings.bind(|| {
        insta::assert_snapshot!("life_failed", scenario.shown() + &scenario.home.ok(&["queue"]));
    });
    // The end does not hide the failure, nor the failure the end.
    scenario.end("s1", "other");
    scenario.home.drain();
    assert_eq!(scenario.status("s1"), "failed");
    // New turns do not wait for the failed one.
    scenario.cache_turn("s2", "p4");
    scenario.home.drain();
    assert_eq!(scenario.status("s2"), "active");
    scenario.end("s2", "other");
    assert_eq!(scenario.status("s2"), "failed");

    let first = scenario.home.json(&["queue", "--json"])["items"][0]["id"].clone();
    scenario.home.ok(&["queue", "retry", &first.to_string()]);
    assert_eq!(scenario.status("s1"), "failed", "most of it is still given up");
    assert!(scenario.home.ok(&["queue", "retry"]).contains("Retrying "));
    assert_eq!(
        (scenario.status("s1"), scenario.status("s2")),
        (json!("completed"), json!("completed"))
    );
    scenario.home.drain();
    settings.bind(|| insta::assert_snapshot!("life_retried", scenario.shown()));
}
