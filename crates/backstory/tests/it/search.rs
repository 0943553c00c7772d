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
    assert_eq!(
        titles(&home, &["令牌"]),
        ["$ cargo test error: could not bind 令牌 to socket 🎉"]
    );
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
    for question in ["xyzzy", "kubernetes ingress tls", "a recipe for pancakes"] {
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
    let output = home.run(&["search", "x", "--since", "yesterday"], b"");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("or an age: 12h, 7d, 4w"));
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
    settings.add_filter(r#""took_ms": [\d.]+"#, r#""took_ms": "[ms]""#);
    settings.add_filter(r#""score": [\d.]+"#, r#""score": "[score]""#);
    settings.add_filter(r"· 0\.\d\d|· 1\.00", "· [score]");
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
