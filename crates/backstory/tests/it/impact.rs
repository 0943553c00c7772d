//! What became of injected memories, the experiment, and the ranking by outcomes.

use serde_json::{Value, json};

use crate::{
    home::Home,
    recall::{ALIKE, injected, past, prompt},
};

/// Reports an event of a session.
fn report(home: &Home, session: &str, event: &str, mut fields: Value) -> String {
    fields["session_id"] = session.into();
    home.report(event, &fields)
}

/// Reports that a session edits a file, and ends its turn.
fn edit_and_stop(home: &Home, session: &str, file: &str) {
    let file = home.project().join(file);
    std::fs::write(&file, "changed\n").unwrap();
    report(
        home,
        session,
        "post-tool-use",
        json!({"tool_name": "Edit", "tool_use_id": "e1",
            "tool_input": {"file_path": file, "old_string": "a", "new_string": "changed"},
            "tool_response": {"filePath": file, "structuredPatch": [{"oldStart": 1, "oldLines": 1, "newStart": 1,
                "newLines": 1, "lines": ["-a", "+changed"]}]}}),
    );
    report(
        home,
        session,
        "stop",
        json!({"last_assistant_message": "Done, the change is in place."}),
    );
    home.drain();
}

/// Reports a known failure; returns what was injected.
fn fail(home: &Home, session: &str, number: u32) -> Option<String> {
    injected(&report(
        home,
        session,
        "post-tool-use-failure",
        json!({"tool_name": "Bash", "tool_use_id": format!("f{number}"), "tool_input": {"command": "cargo test auth"},
            "error": format!("Exit code 101\nRefreshError: clock skew of {} s is not allowed", 40 + number)}),
    ))
}

fn impact(home: &Home) -> Value {
    home.json(&["stats", "--impact", "--json"])["impact"].clone()
}

#[test]
fn memories_are_used_ignored_or_contradicted() {
    let home = past();
    assert_eq!(impact(&home)["recalls"], 0);
    assert!(prompt(&home, "s1", ALIKE).is_some());
    edit_and_stop(&home, "s1", "src/auth.rs");
    assert!(prompt(&home, "s2", ALIKE).is_some());
    edit_and_stop(&home, "s2", "src/other.rs");
    report(
        &home,
        "s3",
        "user-prompt-submit",
        json!({"prompt": "Run the tests of the login page"}),
    );
    assert!(fail(&home, "s3", 1).is_some());
    fail(&home, "s3", 2);
    report(
        &home,
        "s3",
        "stop",
        json!({"last_assistant_message": "The tests fail."}),
    );
    home.drain();
    let impact = impact(&home);
    assert_eq!(
        (&impact["used"], &impact["ignored"], &impact["contradicted"]),
        (&json!(1), &json!(2), &json!(1)),
        "{impact}"
    );
    assert_eq!(impact["failures_repeated"], 1, "{impact}");
    let text = home.ok(&["stats", "--impact"]);
    assert!(text.contains("used        1 (25 %)"), "{text}");

    let id = home.rows("select cast(id as text) from observation where superseded_by is null")[0].clone();
    let why = home.ok(&["why", &id]);
    assert!(why.contains("used: src/auth.rs"), "{why}");
    assert!(why.contains("the error came back"), "{why}");
    assert!(why.contains("Rank: 0.875 times"), "{why}");
    home.ok(&["why", &id, "--reset"]);
    assert!(!home.ok(&["why", &id]).contains("Rank:"));
    home.drain();
    assert_eq!(home.json(&["why", &id, "--json"])["feedback"]["weight"], 1.0);
}

#[test]
fn used_memories_rise_and_contradicted_ones_drop_in_the_context() {
    let home = past();
    prompt(&home, "s1", ALIKE).unwrap();
    edit_and_stop(&home, "s1", "src/auth.rs");
    let reason = |home: &Home| {
        let entries = home.json(&["context", "--json"])["entries"].clone();
        let entries = entries.as_array().unwrap().clone();
        let one = entries.iter().find(|entry| {
            let is_observation = entry["reason"] != "where work stopped";
            is_observation && entry["title"].as_str().unwrap().contains("401")
        });
        one.unwrap()["reason"].as_str().unwrap().to_owned()
    };
    assert!(reason(&home).contains("used before"), "{}", reason(&home));
    home.ok(&["stats", "--impact", "--reset"]);
    assert!(!reason(&home).contains("used before"), "{}", reason(&home));
}

#[test]
fn an_experiment_withholds_recall_by_session_and_never_pinned_notes() {
    let home = past();
    home.ok(&["remember", "--pin", "Never log tokens."]);
    home.ok(&["experiment", "start", "--share", "50%"]);
    let again = home.run(&["experiment", "start"], b"");
    assert!(!again.status.success());
    let mut groups = [0, 0];
    for number in 0..12 {
        let session = format!("session-{number}");
        let told = prompt(&home, &session, ALIKE).is_some();
        let start = report(&home, &session, "session-start", json!({"source": "startup"}));
        let start = injected(&start).unwrap();
        assert!(start.contains("Never log tokens."), "{start}");
        assert_eq!(
            start.contains("retries once on a 401"),
            told,
            "{session}: {start}"
        );
        let resumed = report(&home, &session, "session-start", json!({"source": "compact"}));
        let resumed = injected(&resumed).unwrap();
        assert_eq!(
            resumed.contains("retries once on a 401"),
            told,
            "{session} stays in its group"
        );
        groups[usize::from(told)] += 1;
    }
    assert!(groups[0] > 0 && groups[1] > 0, "{groups:?}");
    let report = home.ok(&["experiment", "report"]);
    assert!(report.contains("Too little data"), "{report}");
    assert!(home.ok(&["experiment", "stop"]).contains("Stopped"));
    assert!((0..6).all(|number| prompt(&home, &format!("after-{number}"), ALIKE).is_some()));
}

/// A scripted agent that repeats a failure unless it is told the remedy.
#[test]
fn an_experiment_finds_a_planted_effect() {
    let home = past();
    home.ok(&["experiment", "start", "--share", "50%"]);
    for number in 0..70 {
        let session = format!("agent-{number}");
        report(
            &home,
            &session,
            "user-prompt-submit",
            json!({"prompt": "Run the tests of the login page"}),
        );
        let is_told = fail(&home, &session, number).is_some();
        if !is_told {
            fail(&home, &session, number + 100);
        }
        report(
            &home,
            &session,
            "stop",
            json!({"last_assistant_message": "The tests were run."}),
        );
    }
    home.drain();
    let report = home.json(&["experiment", "report", "--json"]);
    assert_eq!(report["enough_data"], true, "{report}");
    let failures = &report["differences"][0];
    assert_eq!(failures["measure"], "repeated failures");
    assert_eq!(failures["effect"], true, "{report}");
    let difference = failures["difference"].as_f64().unwrap();
    assert!((difference + 1.0).abs() < 0.2, "{report}");
    let text = home.ok(&["experiment", "report"]);
    assert!(text.contains("fewer with recall"), "{text}");
}
