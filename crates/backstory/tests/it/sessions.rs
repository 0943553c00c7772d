//! `backstory sessions` and `backstory session`.

use serde_json::{Value, json};

use crate::home::{Home, settings};

/// Returns a home with a session that has two prompts, a failure, a sub-agent and a machine-made prompt.
fn sample() -> Home {
    let home = Home::new();
    home.report("session-start", &json!({"source": "startup", "model": "opus"}));
    home.report(
        "user-prompt-submit",
        &json!({"prompt_id": "p1", "prompt": "Retry the token refresh once on 401"}),
    );
    home.report(
        "post-tool-use",
        &json!({"prompt_id": "p1", "tool_name": "Edit", "tool_use_id": "t1"}),
    );
    home.report(
        "post-tool-use-failure",
        &json!({"prompt_id": "p1", "tool_name": "Bash", "error": "Exit code 1"}),
    );
    home.report(
        "post-tool-use",
        &json!({"prompt_id": "p1", "tool_name": "Grep", "agent_id": "a1", "agent_type": "Explore"}),
    );
    home.report(
        "stop",
        &json!({"prompt_id": "p1", "last_assistant_message": "Done."}),
    );
    home.report(
        "user-prompt-submit",
        &json!({"prompt_id": "p2", "prompt": "<task-notification>x</task-notification>"}),
    );
    home.report(
        "stop",
        &json!({"prompt_id": "p2", "last_assistant_message": "Noted."}),
    );
    home.report(
        "user-prompt-submit",
        &json!({"prompt_id": "p3", "prompt": "Now write a\nchangelog line \u{1b}[31m for it"}),
    );
    home
}

#[test]
fn a_session_is_listed_and_shown() {
    let home = sample();
    settings().bind(|| {
        insta::assert_snapshot!("sessions", home.ok(&["sessions"]));
        insta::assert_snapshot!("session", home.ok(&["session", "s1"]));
    });
}

#[test]
fn the_json_is_stable() {
    let home = sample();
    let mut settings = settings();
    settings.add_filter(r#""20\d\d-[^"]+Z""#, "\"[time]\"");
    let pretty = |arguments: &[&str]| serde_json::to_string_pretty(&home.json(arguments)).unwrap();
    settings.bind(|| {
        insta::assert_snapshot!("sessions_json", pretty(&["sessions", "--json"]));
        insta::assert_snapshot!("session_json", pretty(&["session", "s1", "--json"]));
    });
}

#[test]
fn an_empty_home_is_reported_and_stays_empty() {
    let home = Home::new();
    assert!(home.ok(&["sessions"]).starts_with("No sessions yet."));
    assert_eq!(home.fields(&["sessions", "--json"]), json!({"sessions": []}));
    assert!(!home.path().exists());
    let output = home.run(&["session", "nope"], b"");
    assert_eq!(output.status.code(), Some(1));
    settings().bind(|| insta::assert_snapshot!("session_unknown", String::from_utf8(output.stderr).unwrap()));
}

#[test]
fn a_session_is_found_by_a_prefix_of_its_id() {
    let home = Home::new();
    for id in ["abc-1", "abc-2", "abc"] {
        home.report("stop", &json!({"session_id": id}));
    }
    assert_eq!(home.json(&["session", "abc-2", "--json"])["session_id"], "abc-2");
    assert_eq!(home.json(&["session", "abc", "--json"])["session_id"], "abc");
    let output = home.run(&["session", "ab"], b"");
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("several session ids: abc, abc-1, abc-2")
    );
    assert_eq!(home.run(&["session", "%"], b"").status.code(), Some(1));
}

/// Reports events by name and returns the status.
fn status_after(events: &[(&str, Value)]) -> (Value, Value) {
    let home = Home::new();
    for (event, fields) in events {
        home.report(event, fields);
    }
    home.drain();
    let session = home.json(&["session", "s1", "--json"]);
    (
        session["status"].clone(),
        session["turns"].as_array().unwrap().len().into(),
    )
}

#[test]
fn a_session_ends_and_continues() {
    let prompt = ("user-prompt-submit", json!({"prompt": "x"}));
    let stop = ("stop", json!({}));
    let end = ("session-end", json!({"reason": "other"}));
    let clear = ("session-end", json!({"reason": "clear"}));
    let resume = ("session-start", json!({"source": "resume"}));
    let cases = [
        (vec![prompt.clone(), stop.clone()], "active", 1),
        (vec![prompt.clone(), stop.clone(), end.clone()], "completed", 1),
        (vec![prompt.clone(), end.clone()], "completed", 1),
        (vec![prompt.clone(), stop.clone(), clear], "active", 1),
        (
            vec![prompt.clone(), stop.clone(), end.clone(), resume, prompt.clone()],
            "active",
            2,
        ),
        (vec![prompt.clone(), prompt.clone(), stop.clone()], "active", 2),
        (vec![stop.clone(), prompt], "active", 2),
        (vec![end], "completed", 0),
    ];
    for (events, status, turns) in cases {
        assert_eq!(status_after(&events), (json!(status), json!(turns)), "{events:?}");
    }
}

#[test]
fn a_session_without_a_start_is_not_listed() {
    let home = Home::new();
    home.report("session-end", &json!({"session_id": "ghost", "reason": "other"}));
    home.report(
        "session-start",
        &json!({"session_id": "fresh", "source": "startup"}),
    );
    let sessions = home.json(&["sessions", "--json"]);
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(sessions["sessions"][0]["session_id"], "fresh");
}

#[test]
fn lines_of_the_list_fit_a_narrow_terminal() {
    let home = sample();
    for width in [40, 60, 80] {
        let home = home
            .command(&["sessions"])
            .env("COLUMNS", width.to_string())
            .output()
            .unwrap();
        let shown = String::from_utf8(home.stdout).unwrap();
        assert!(shown.contains("2 prompts · 9 events"), "{shown}");
        for line in shown.lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
}
