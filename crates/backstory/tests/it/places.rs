//! Which project a request means, and what it gets when it means none.

use serde_json::{Value, json};

use crate::{home::eventually, served::Served};

/// A server that knows one session, in the sample project.
fn with_a_session() -> Served {
    let served = Served::start();
    let home = &served.home;
    home.report(
        "user-prompt-submit",
        &json!({"prompt": "Make the parser accept tabs"}),
    );
    let file = home.project().join("parser.rs");
    home.report(
        "post-tool-use",
        &json!({"tool_name": "Edit", "tool_use_id": "t1",
            "tool_input": {"file_path": file, "old_string": "' '", "new_string": "'\\t'"}, "tool_response": {}}),
    );
    home.report(
        "stop",
        &json!({"last_assistant_message": "The parser accepts tabs now."}),
    );
    eventually("the session is distilled", || {
        let found = served.get("/api/observations").json();
        found["items"].as_array().is_some_and(|items| !items.is_empty())
    });
    served
}

#[test]
fn a_folder_of_which_nothing_is_remembered_shows_nothing_of_others() {
    let served = with_a_session();
    for path in [
        "/api/search?query=parser%20tabs",
        "/api/timeline?query=parser%20tabs",
        "/api/observations?limit=5",
        "/api/sessions?limit=5",
        "/sessions?after=9999999999999-1",
        "/files?path=parser.rs",
        "/search?q=parser%20tabs",
    ] {
        let known = served.get(&format!("{path}&project=acme"));
        assert_eq!(known.status, 200, "{path}: {known:?}");
        assert!(known.body.contains("accept"), "{path}: {known:?}");
        let unknown = served.get(&format!("{path}&project=/nowhere/at/all"));
        assert_eq!(unknown.status, 200, "{path}: {unknown:?}");
        assert!(!unknown.body.contains("accept"), "{path}: {unknown:?}");
        if path.starts_with("/api") {
            let unknown = served.get(&format!("{path}&cwd=/nowhere/at/all"));
            assert!(!unknown.body.contains("accept"), "{path}: {unknown:?}");
            assert_eq!(served.get(&format!("{path}&cwd=")).status, 400, "{path}");
        }
    }
    let around: Value = served
        .get("/api/timeline?query=parser&cwd=/nowhere/at/all")
        .json();
    assert_eq!(around, json!({"anchor": null, "timeline": []}));
}
