//! `backstory queue`.

use std::fs;

use serde_json::json;

use crate::home::{Home, settings};

#[test]
fn pending_events_are_counted_in_spool_and_database() {
    let home = Home::new();
    assert_eq!(
        home.fields(&["queue", "--json"]),
        json!({"pending": 0, "processing": 0, "failed": 0, "oldest_seconds": 0.0, "items": []})
    );
    home.report("user-prompt-submit", &json!({"prompt": "x"}));
    home.report("post-tool-use", &json!({"tool_name": "Bash"}));
    let queue = home.json(&["queue", "--json"]);
    assert_eq!(
        (&queue["pending"], queue["items"].as_array().unwrap().len()),
        (&json!(2), 2)
    );
    assert!(queue["oldest_seconds"].as_f64().unwrap() < 60.0);
    assert!(home.spooled().is_empty(), "a reading command takes the spool in");
    let mut settings = settings();
    settings.add_filter(r#""20\d\d-[^"]+Z""#, "\"[time]\"");
    settings.add_filter(r"seconds: \d+\.\d+", "seconds: [n]");
    settings.bind(|| {
        insta::assert_snapshot!("queue", home.ok(&["queue"]));
        insta::assert_snapshot!("queue_cut", home.ok(&["queue", "--limit", "1"]));
    });
}

#[test]
fn retry_reports_its_result() {
    let home = Home::new();
    assert_eq!(home.ok(&["queue", "retry"]), "No event has failed.\n");
    home.report("stop", &json!({}));
    let output = home.run(&["queue", "retry", "1"], b"");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "None of these events has failed.\n"
    );
}

#[test]
fn torn_files_are_set_aside_and_counted() {
    let home = Home::new();
    for n in 0..3 {
        home.report("stop", &json!({"n": n}));
    }
    let files = home.spooled();
    let whole = fs::read(&files[0]).unwrap();
    fs::write(&files[0], &whole[..whole.len() / 2]).unwrap();
    fs::write(&files[1], b"").unwrap();
    let printed = home.ok(&["worker", "run", "--once"]);
    assert_eq!(
        printed,
        "Ingested 1 event, distilled 1 event.\n2 files incomplete, moved to spool/torn.\n"
    );
    assert_eq!((home.lost("torn"), home.spooled().len()), (2, 0));
    assert_eq!(fs::read_dir(home.path().join("spool/torn")).unwrap().count(), 2);
}

#[test]
fn an_event_of_a_newer_version_stays_in_the_spool() {
    let home = Home::new();
    home.report("stop", &json!({}));
    let file = &home.spooled()[0];
    let text = fs::read_to_string(file)
        .unwrap()
        .replace("\"format\":1", "\"format\":7");
    fs::write(file, text).unwrap();
    home.report("stop", &json!({}));
    assert_eq!(
        home.ok(&["worker", "run", "--once"]),
        "Ingested 1 event, distilled 1 event.\n1 file left in the spool: from a newer version, or unreadable.\n"
    );
    assert_eq!(home.spooled().len(), 1);
    let queue = home.run(&["queue", "--json"], b"");
    let json: serde_json::Value = serde_json::from_slice(&queue.stdout).unwrap();
    assert_eq!(json["pending"], 1);
}

#[test]
fn a_duplicate_file_counts_once() {
    let home = Home::new();
    home.report("user-prompt-submit", &json!({"prompt": "x"}));
    let file = home.spooled().remove(0);
    let bytes = fs::read(&file).unwrap();
    home.drain();
    assert!(!file.exists());
    fs::write(&file, bytes).unwrap();
    assert_eq!(
        home.ok(&["worker", "run", "--once"]),
        "Ingested 0 events, distilled 0 events.\n"
    );
    assert!(!file.exists());
    assert_eq!(home.json(&["session", "s1", "--json"])["prompts"], 1);
}
