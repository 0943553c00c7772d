//! Lines that show the user what was injected (`ui.receipts`).

use serde_json::{Value, json};

use crate::home::Home;

/// Returns a home with one session that left work to do.
fn past() -> Home {
    let home = Home::new();
    let tell = |event: &str, fields: Value| {
        let mut fields = fields;
        fields["session_id"] = "old".into();
        fields["prompt_id"] = "p1".into();
        home.report(event, &fields);
    };
    tell(
        "user-prompt-submit",
        json!({"prompt": "Limit the request rate of the API gateway"}),
    );
    tell(
        "post-tool-use",
        json!({"tool_name": "Write", "tool_use_id": "t1",
            "tool_input": {"file_path": home.project().join("limit.rs"), "content": "struct TokenBucket;"},
            "tool_response": {"filePath": "limit.rs"}}),
    );
    tell(
        "stop",
        json!({"last_assistant_message": "The API gateway now limits the request rate with a token bucket, because a fixed \
            window lets bursts through at its edges.\n\nRemaining:\n- Add a metric for rejected requests."}),
    );
    home.drain();
    home.ok(&["index", "--wait"]);
    home
}

/// Returns the line for the user and the text for the agent.
fn shown(home: &Home, event: &str, fields: &Value) -> (Option<String>, Option<String>) {
    let answer: Value = serde_json::from_str(home.report(event, fields).trim()).unwrap_or_default();
    let text = |value: &Value| value.as_str().map(ToOwned::to_owned);
    (
        text(&answer["systemMessage"]),
        text(&answer["hookSpecificOutput"]["additionalContext"]),
    )
}

const PROMPT: &str = "why does the API gateway limit the request rate with a token bucket";

#[test]
fn a_session_start_shows_what_was_injected() {
    let home = past();
    let start = json!({"session_id": "s1", "source": "startup"});
    let (line, context) = shown(&home, "session-start", &start);
    let line = line.unwrap();
    assert!(context.unwrap().contains("token bucket"));
    assert!(
        line.starts_with("backstory: ") && line.contains(" memor"),
        "{line}"
    );
    assert!(line.ends_with(", 1 open item from today"), "{line}");
    let (line, _) = shown(
        &home,
        "user-prompt-submit",
        &json!({"session_id": "s2", "prompt": PROMPT}),
    );
    assert_eq!(line, None, "only at session start");
    assert_eq!(
        shown(
            &home,
            "session-start",
            &json!({"session_id": "s1", "source": "resume"})
        ),
        (None, None),
        "nothing is injected again"
    );
    let empty = Home::new();
    assert_eq!(shown(&empty, "session-start", &start).0, None);
}

#[test]
fn receipts_can_show_every_recall_or_nothing() {
    let home = past();
    home.ok(&["config", "set", "ui.receipts", "all"]);
    let (line, injected) = shown(
        &home,
        "user-prompt-submit",
        &json!({"session_id": "s1", "prompt": PROMPT}),
    );
    let line = line.unwrap();
    assert!(injected.is_some());
    assert!(
        line.starts_with("backstory: #") && line.ends_with(", less than an hour ago"),
        "{line}"
    );
    let (line, injected) = shown(
        &home,
        "user-prompt-submit",
        &json!({"session_id": "s1", "prompt": "thanks"}),
    );
    assert_eq!((line, injected), (None, None));

    home.ok(&["config", "set", "ui.receipts", "off"]);
    let (line, injected) = shown(
        &home,
        "session-start",
        &json!({"session_id": "s3", "source": "startup"}),
    );
    assert_eq!(line, None);
    assert!(injected.is_some());
}
