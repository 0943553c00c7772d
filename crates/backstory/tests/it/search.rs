//! Search: inflected words, parts of identifiers, meaning, filters.

use serde_json::{Value, json};

use crate::{
    home::{Home, settings, text},
    mcp::Agent,
};

/// Returns a home with memories of two projects, the first of which is that of the current folder.
fn library() -> Home {
    let home = Home::new();
    home.report(
        "user-prompt-submit",
        &json!({"prompt": "private", "session_id": "s0"}),
    );
    home.drain();
    let here = home.project();
    let lines = [
        json!({"kind": "observation", "type": "bugfix", "title": "Token refresh retries once on 401", "narrative": "`refreshToken` gave up at the first 401.", "facts": ["`refreshToken` in `src/auth.rs` retries once"], "concepts": ["gotcha"], "files_modified": ["src/auth.rs"], "session_id": "a1", "created_at": "2026-03-01T10:00:00Z", "project": here}),
        json!({"kind": "observation", "type": "decision", "title": "Uploads go through presigned URLs", "narrative": "The proxy cuts bodies above 100 MB.", "session_id": "a2", "created_at": "2026-04-01T10:00:00Z", "project": here}),
        json!({"kind": "note", "text": "Deploys are done by the release train on Tuesdays", "project": here}),
        json!({"kind": "passage", "text": "$ cargo test\nerror: could not bind 令牌 to socket 🎉", "session_id": "a2", "created_at": "2026-04-01T10:00:00Z", "project": here}),
        json!({"kind": "observation", "type": "bugfix", "title": "Token bucket refills in steps", "project": "elsewhere"}),
    ];
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    let output = home.run(&["import", "jsonl", "-"], lines.join("\n").as_bytes());
    assert!(output.status.success(), "{}", text(&output.stderr));
    home
}

fn titles(home: &Home, arguments: &[&str]) -> Vec<String> {
    let output = home.run(&[&["search", "--json"], arguments].concat(), b"");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let results = answer["results"].as_array().unwrap();
    assert_eq!(output.status.code(), Some(i32::from(results.is_empty())));
    results
        .iter()
        .map(|hit| hit["title"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn identifiers_and_inflected_words_match() {
    let home = library();
    for question in [
        "refresh_token",
        "refreshToken",
        "refreshing tokens",
        "REFRESH",
        "auth.rs",
        "tok",
    ] {
        let found = titles(&home, &[question]);
        assert_eq!(
            found.first().map(String::as_str),
            Some("Token refresh retries once on 401"),
            "{question}"
        );
    }
    assert_eq!(titles(&home, &["令牌"]), ["$ cargo test"]);
}

#[test]
fn semantic_matches_need_no_common_word() {
    let home = library();
    assert_eq!(titles(&home, &["shipping", "schedule", "weekday"]), [""; 0]);
    assert!(home.ok(&["index", "--wait"]).contains("(100 %)"));
    let found = titles(&home, &["shipping", "schedule", "weekday"]);
    assert_eq!(found[0], "Deploys are done by the release train on Tuesdays");
    let answer = home.json(&["search", "--json", "token"]);
    assert_eq!(answer["vectors"], 1.0);
}

#[test]
fn irrelevant_memories_are_not_found() {
    let home = library();
    home.ok(&["index", "--wait"]);
    for question in [
        "xyzzy",
        "qwxz",
        "asdfgh",
        "kubernetes ingress tls",
        "a recipe for pancakes",
    ] {
        assert_eq!(titles(&home, &[question]), [""; 0], "{question}");
    }
    let output = home.run(&["search", "xyzzy"], b"");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        text(&output.stderr),
        "No results in acme. Use `--all` to search all projects.\n"
    );
    assert_eq!(
        titles(&home, &["presigned", "zebra"]),
        ["Uploads go through presigned URLs"],
        "no padding behind what was found"
    );
}

#[test]
fn one_project_is_searched_unless_all_is_given() {
    let home = library();
    assert!(!titles(&home, &["token"]).contains(&"Token bucket refills in steps".to_owned()));
    assert!(titles(&home, &["token", "--all"]).contains(&"Token bucket refills in steps".to_owned()));
    assert_eq!(
        titles(&home, &["token", "--project", "elsewhere"]),
        ["Token bucket refills in steps"]
    );
    let output = home.run(&["search", "token", "--project", "nowhere"], b"");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("no project is called `nowhere`"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn filters_work_with_and_without_a_query() {
    let home = library();
    let first = ["Token refresh retries once on 401".to_owned()];
    let second = ["Uploads go through presigned URLs".to_owned()];
    assert_eq!(titles(&home, &["--type", "bugfix"]), first);
    assert_eq!(titles(&home, &["--concept", "gotcha"]), first);
    assert_eq!(titles(&home, &["--file", "auth.rs"]), first);
    assert_eq!(
        titles(&home, &["--session", "a2", "--kind", "observation"]),
        second
    );
    assert_eq!(
        titles(
            &home,
            &[
                "--since",
                "2026-03-15",
                "--until",
                "2026-04-15",
                "--kind",
                "observation"
            ]
        ),
        second
    );
    assert_eq!(titles(&home, &["token", "--type", "decision"]), [""; 0]);
    let output = home.run(&["search", "x", "--since", "soon"], b"");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("an age (12h, 7d, 4w) or words"));
}

/// Returns a home with two sessions: one of yesterday with open work, and one of three weeks ago.
fn calendar() -> Home {
    let home = Home::new();
    home.report(
        "user-prompt-submit",
        &json!({"prompt": "private", "session_id": "s0"}),
    );
    home.drain();
    let here = home.project();
    let days_ago =
        |days: i64| (jiff::Timestamp::now() - jiff::SignedDuration::from_hours(24 * days)).to_string();
    let lines = [
        json!({"kind": "summary", "request": "Cap the cache", "completed": "The cache has a cap of 64 MB.", "next_steps": "Measure the cap under load.", "session_id": "new", "created_at": days_ago(1), "project": here}),
        json!({"kind": "observation", "type": "decision", "title": "The cap of the cache is 64 MB", "session_id": "new", "created_at": days_ago(1), "project": here}),
        json!({"kind": "passage", "text": "Traceback (most recent call last): yesterday was not a date, last week neither", "session_id": "new", "created_at": days_ago(1), "project": here}),
        json!({"kind": "passage", "text": "$ git tag v1.2.0 && git push --tags", "type": "command", "session_id": "old", "created_at": days_ago(20), "project": here}),
        json!({"kind": "observation", "type": "bugfix", "title": "The cache leaked its keys", "session_id": "old", "created_at": days_ago(21), "project": here}),
        json!({"kind": "observation", "type": "feature", "title": "Export writes CSV", "session_id": "mid", "created_at": days_ago(15), "project": here}),
    ];
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    let output = home.run(&["import", "jsonl", "-"], lines.join("\n").as_bytes());
    assert!(output.status.success(), "{}", text(&output.stderr));
    home.ok(&["index", "--wait"]);
    home
}

#[test]
fn questions_about_time_and_state_are_answered_from_both() {
    let home = calendar();
    let [new, decision] = ["Cap the cache", "The cap of the cache is 64 MB"];
    for (question, expected) in [
        ("what did we do yesterday?", vec![new, decision]),
        ("yesterday", vec![new, decision]),
        ("cache, in the last 3 days", vec![decision, new]),
        ("what is still open?", vec![new]),
        ("where did we stop", vec![new]),
        ("what did we decide yesterday", vec![decision]),
        ("what did I decide about the cache", vec![decision]),
        ("cache before yesterday", vec!["The cache leaked its keys"]),
        ("what did we do in the last 2 hours", vec![]),
    ] {
        let found = titles(&home, &[question]);
        assert_eq!(found[..expected.len().min(found.len())], expected, "{question}");
        let has_traceback = found.iter().any(|title| title.starts_with("Traceback"));
        assert!(!has_traceback, "{question}: {found:?}");
    }
    let open = home.json(&["search", "--json", "what is open"]);
    assert_eq!(open["results"][0]["snippet"], "Open: Measure the cap under load.");
    let since = titles(&home, &["what changed since the release"]);
    assert_eq!(since, [new, decision, "Export writes CSV"]);
}

#[test]
fn filters_alone_list_memories_and_hand_overs_but_no_evidence() {
    let home = calendar();
    let new = ["Cap the cache", "The cap of the cache is 64 MB"];
    let mut found = titles(&home, &["--since", "yesterday"]);
    found.sort();
    assert_eq!(found, new);
    assert_eq!(
        titles(&home, &["--since", "yesterday", "--until", "yesterday"]).len(),
        2
    );
    assert_eq!(titles(&home, &["--session", "new"]).len(), 2);
    assert_eq!(titles(&home, &["--session", "new", "--kind", "passage"]).len(), 1);
}

#[test]
fn agents_ask_about_time_and_state() {
    let home = calendar();
    let mut agent = Agent::start(&home);
    agent.greet("2025-06-18");
    let (_, answer) = agent.call("search", &json!({"query": "what is open?"}));
    assert!(answer.contains("Measure the cap under load."), "{answer}");
    let (_, answer) = agent.call(
        "search",
        &json!({"query": "what happened yesterday", "since": "last week"}),
    );
    assert!(
        answer.contains("Cap the cache") && !answer.contains("Traceback"),
        "{answer}"
    );
}

#[test]
fn any_query_is_valid() {
    let home = library();
    let long = "token ".repeat(2_000);
    let questions = [
        "\"",
        "AND OR NOT NEAR(",
        "title:x*",
        "((((",
        "🎉🎉",
        "'; drop table words; --",
        "\u{0}",
        " ",
        &long,
    ];
    for question in questions {
        let output = home.run(
            &["search", "--stdin", "--json"],
            format!("{}\n", question.replace('\u{0}', " ")).as_bytes(),
        );
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(answer["results"].is_array(), "{question}");
        assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
    }
}

#[test]
fn each_line_of_stdin_is_answered_in_order() {
    let home = library();
    let output = home.run(
        &["search", "--stdin", "--limit", "1"],
        b"presigned\n\nrefresh token\n",
    );
    let answers: Vec<Value> = text(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let found: Vec<&Value> = answers
        .iter()
        .map(|answer| &answer["results"][0]["title"])
        .collect();
    assert_eq!(
        found,
        [
            &json!("Uploads go through presigned URLs"),
            &Value::Null,
            &json!("Token refresh retries once on 401")
        ]
    );
}

#[test]
fn hits_are_printed_as_text_and_as_stable_json() {
    let home = library();
    let mut settings = settings();
    settings.add_filter(r#""took_ms":[\d.]+"#, r#""took_ms":"[ms]""#);
    settings.add_filter(r#""score":[\d.]+"#, r#""score":"[score]""#);
    settings.add_filter(r"  (?:0\.\d\d|1\.00)\n", "  [score]\n");
    settings.bind(|| {
        let shown =
            home.ok(&["search", "token", "refresh"]) + &home.ok(&["search", "token", "refresh", "--json"]);
        insta::assert_snapshot!("search", shown);
    });
}

#[test]
fn superseded_memories_rank_below_valid_ones() {
    let home = library();
    let sql = "insert into observation (project_id, type, title, created_at, last_seen_at, superseded_by)
        select project_id, type, title || ' at most', created_at, created_at, id from observation where id = 1";
    let connection = rusqlite::Connection::open(home.path().join("backstory.db")).unwrap();
    connection.execute(sql, []).unwrap();
    drop(connection);
    home.ok(&[
        "edit",
        "4",
        "--title",
        "Token refresh retries once on 401 at most",
    ]);
    let answer = home.json(&["search", "--json", "token refresh retries once on 401"]);
    assert_eq!(answer["results"][0]["id"], "1");
    assert_eq!(answer["results"][1]["superseded_by"], "1");
}

#[test]
fn a_memory_without_title_is_not_printed_twice() {
    let home = library();
    let text = "The importer of transcripts takes the mtime for the end of a session, which is wrong on file systems that \
        keep no mtime, so that such sessions count as interrupted after a day without an event.";
    let line = json!({"kind": "passage", "text": text, "project": home.project(), "session_id": "a2"});
    home.run(&["import", "jsonl", "-"], line.to_string().as_bytes());
    let shown = home.ok(&["search", "importer mtime", "--limit", "1"]);
    let mut agent = Agent::start(&home);
    agent.greet("2025-06-18");
    let (_, told) = agent.call("search", &json!({"query": "importer mtime", "limit": 1}));
    for said in [shown, told] {
        assert_eq!(said.matches("The importer of").count(), 1, "{said}");
        assert!(said.contains("keep no mtime"), "what follows is there: {said}");
    }
}
