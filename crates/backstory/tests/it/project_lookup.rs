//! Project of a request, and requests without one.

use serde_json::{Value, json};

use crate::{
    home::{Home, eventually},
    http_client::Served,
    mcp::Agent,
};

/// Starts a server with one session in the sample project.
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
fn a_folder_without_memories_shows_nothing_of_other_projects() {
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

#[test]
fn nothing_is_saved_without_a_project() {
    let served = Served::start();
    let post = |path: &str, body: &Value| served.send("POST", path, Some(body));
    for place in [
        json!({"cwd": ""}),
        json!({"cwd": "relative/x"}),
        json!({"project": ""}),
        json!({"project": " "}),
    ] {
        let mut note = place.clone();
        note["text"] = json!("Deploys need the blue key");
        let refused = post("/api/memories", &note);
        assert_eq!(refused.status, 400, "{note}: {refused:?}");
        let mut session = place.clone();
        session["session_id"] = json!("h1");
        session["prompt"] = json!("Paint the fence");
        let refused = post("/api/sessions/init", &session);
        assert_eq!(refused.status, 400, "{session}: {refused:?}");
        let query = place.as_object().unwrap().iter().next().unwrap();
        let query = format!(
            "/api/search?query=x&{}={}",
            query.0,
            query.1.as_str().unwrap().replace(' ', "%20")
        );
        assert_eq!(served.get(&query).status, 400, "{query}");
    }
    let no_session = json!({"session_id": "h1", "project": "*", "prompt": "Paint the fence"});
    assert_eq!(post("/api/sessions/init", &no_session).status, 400);
    let relative = json!({"session_id": "h1", "cwd": "x", "tool_name": "Bash"});
    assert_eq!(post("/api/sessions/observations", &relative).status, 400);
    assert_eq!(served.home.rows("select key from project"), Vec::<String>::new());
    // All projects together have a name of their own, for reading and writing.
    let everywhere = json!({"text": "Deploys need the blue key", "project": "*"});
    let saved = post("/api/memories", &everywhere).json();
    let id = saved["id"].as_str().unwrap();
    assert_eq!(
        served.get(&format!("/api/observations/{id}")).json()["project"],
        Value::Null
    );
    let found = served.get("/api/search?query=blue%20key&project=*").json();
    assert_eq!(found["results"][0]["id"], id, "{found}");
    assert_eq!(served.home.rows("select key from project"), Vec::<String>::new());
}

#[test]
fn an_agent_cannot_name_a_project_without_a_name() {
    let home = Home::new();
    let mut agent = Agent::start(&home);
    agent.greet("2025-11-25");
    for (tool, wish) in [
        (
            "remember",
            json!({"text": "Deploys need the blue key", "project": ""}),
        ),
        ("search", json!({"query": "blue key", "project": ""})),
    ] {
        let (failed, text) = agent.call(tool, &wish);
        assert!(failed && text.contains("project is empty"), "{tool}: {text}");
    }
    agent.end();
}

#[test]
fn a_query_without_words_finds_the_latest_memories() {
    let served = with_a_session();
    for place in [
        "project=acme".to_owned(),
        format!("cwd={}", served.home.project().display()),
    ] {
        let found = served.get(&format!("/api/search?{place}")).json();
        let titles: Vec<&str> = found["results"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|hit| hit["title"].as_str())
            .collect();
        assert!(
            titles.contains(&"The parser accepts tabs now"),
            "{place}: {found}"
        );
        let first = served.get(&format!("/api/search?{place}&limit=1")).json();
        assert_eq!(first["results"][0], found["results"][0]);
        let next = first["next_cursor"].as_str().unwrap();
        let second = served
            .get(&format!("/api/search?{place}&limit=1&cursor={next}"))
            .json();
        assert_eq!(second["results"][0], found["results"][1]);
    }
    let nothing = served.get("/api/search?project=/nowhere/at/all").json();
    assert_eq!(nothing["results"], json!([]));
}
