//! The HTTP interface of the worker, its events and its socket.

use std::{
    io::{BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    home::{Home, eventually, settings},
    http_client::Served,
};

/// Records a session that changes a file.
fn session(home: &Home) {
    home.report("session-start", &json!({"source": "startup"}));
    home.report(
        "user-prompt-submit",
        &json!({"prompt": "Make the parser accept tabs"}),
    );
    home.report(
        "post-tool-use",
        &json!({"tool_name": "Edit", "tool_use_id": "t1",
            "tool_input": {"file_path": home.project().join("parser.rs"), "old_string": "' '", "new_string": "' ' | '\\t'"},
            "tool_response": {"filePath": home.project().join("parser.rs")}}),
    );
    home.report(
        "stop",
        &json!({"last_assistant_message": "The parser accepts tabs now: `is_blank` treats them like spaces."}),
    );
}

fn with_memories() -> Served {
    let served = Served::start();
    session(&served.home);
    eventually("the session is distilled", || {
        served.get("/api/observations").json()["items"]
            .as_array()
            .is_some_and(|items| !items.is_empty())
            && !served.get("/api/summaries").json()["items"]
                .as_array()
                .unwrap()
                .is_empty()
    });
    served
}

#[test]
fn memories_of_a_session_are_found_listed_and_shown() {
    let served = with_memories();
    assert_eq!(served.get("/api/search?query=parser%20tabs&cwd=here").status, 400);
    let found = served.get("/api/search?query=parser%20tabs&cwd=/").json();
    assert!(found["results"].as_array().unwrap().is_empty(), "{found}");
    let found = served.get("/api/search?q=parser+tabs").json();
    let best = &found["results"][0];
    assert_eq!(best["project"], "acme", "{found}");
    let id = best["id"].as_str().unwrap();
    let detail = served.get(&format!("/api/observations/{id}"));
    assert_eq!(detail.json()["provenance"]["host"], "claude-code");
    let tag = detail.header("etag").unwrap();
    let again = served.raw(&format!(
        "GET /api/observations/{id} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\nIf-None-Match: {tag}\r\nConnection: close\r\n\r\n",
        served.port, served.token
    ));
    assert_eq!((again.status, again.body.as_str()), (304, ""));
    // The same text as on the command line.
    let shown = served.home.json(&["show", id, "--json"]);
    assert_eq!(shown[0], detail.json());

    let sessions = served.get("/api/sessions?project=acme").json();
    assert_eq!(sessions["items"][0]["session_id"], "s1");
    let turns = served.get("/api/sessions/s1").json();
    assert_eq!(turns["turn_list"][0]["prompt"], "Make the parser accept tabs");
    assert!(!turns["turn_list"][0]["memories"].as_array().unwrap().is_empty());
    assert_eq!(served.get("/api/projects").json()["items"][0]["name"], "acme");
    assert_eq!(
        served.get("/api/prompts").json()["items"][0]["text"],
        "Make the parser accept tabs"
    );
    let context = served.get("/api/context/inject?project=acme");
    assert_eq!(
        context.header("content-type"),
        Some("text/markdown; charset=utf-8")
    );
    assert_eq!(context.body.trim(), served.home.ok(&["context"]).trim());
    let small = served.get("/api/context/inject?project=acme&budget=60").body;
    assert!(small.len() < context.body.len());
    let around = served.get(&format!("/api/timeline?anchor={id}")).json();
    assert!(around["timeline"].as_array().unwrap().len() >= 2, "{around}");
    let both = served.send(
        "POST",
        "/api/observations/batch",
        Some(&json!({"ids": [1, "S1", "V99999"]})),
    );
    assert_eq!(both.json()["items"].as_array().unwrap().len(), 2);
    assert_eq!(both.json()["missing"], json!(["V99999"]));
}

#[test]
fn pages_of_a_list_are_contiguous() {
    let served = Served::start();
    for number in 0..23 {
        let text = format!("note number {number}");
        let body = json!({"text": text, "cwd": served.home.project()});
        assert_eq!(served.send("POST", "/api/memories", Some(&body)).status, 200);
    }
    let lines: String = (0..45)
        .map(|number| {
            format!(
                "{{\"kind\":\"observation\",\"project\":\"p\",\"type\":\"{}\",\"title\":\"number {number}\",\"created_at\":\"2026-01-01T00:00:{:02}Z\"}}\n",
                if number % 2 == 0 { "bugfix" } else { "change" },
                number / 3 // several at the same time
            )
        })
        .collect();
    served.home.run(&["import", "jsonl", "-"], lines.as_bytes());
    for (filter, expected) in [("", 45), ("&type=bugfix", 23), ("&project=p&type=change", 22)] {
        let (mut titles, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = served
                .get(&format!("/api/observations?limit=7{filter}{cursor}"))
                .json();
            for item in page["items"].as_array().unwrap() {
                titles.push(item["title"].as_str().unwrap().to_owned());
            }
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        assert_eq!(titles.len(), expected, "{filter}");
        let numbers: Vec<u32> = titles.iter().map(|title| title[7..].parse().unwrap()).collect();
        assert!(numbers.is_sorted_by(|a, b| a > b), "{numbers:?}");
    }
    assert_eq!(served.get("/api/observations?cursor=x").status, 400);
    assert_eq!(served.get("/api/observations?limit=0").status, 400);
    assert_eq!(served.get("/api/observations?project=nobody").status, 404);
    let first = served.get("/api/search?query=number&limit=5").json();
    let next = first["next_cursor"].as_str().unwrap();
    let second = served
        .get(&format!("/api/search?query=number&limit=5&cursor={next}"))
        .json();
    let ids = |page: &Value| -> Vec<String> {
        page["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|hit| hit["id"].to_string())
            .collect()
    };
    assert!(ids(&first).iter().all(|id| !ids(&second).contains(id)));
}

#[test]
fn a_program_without_hooks_records_a_session() {
    let served = Served::start();
    let post = |path: &str, body: Value| served.send("POST", path, Some(&body));
    let cwd = served.home.project();
    let first = post(
        "/api/sessions/init",
        json!({"claudeSessionId": "h1", "cwd": cwd, "userPrompt": "Rename the frobnicator", "promptNumber": 1}),
    );
    assert_eq!(first.json()["prompt_number"], 1, "{first:?}");
    let number = first.json()["session_db_id"].as_i64().unwrap();
    let tool = post(
        "/api/sessions/observations",
        json!({"claudeSessionId": "h1", "tool_name": "Write", "cwd": cwd,
            "tool_input": {"file_path": cwd.join("frob.rs"), "content": "fn frob() {}"}, "tool_response": "{\"ok\": true}"}),
    );
    assert_eq!(tool.json()["status"], "queued");
    let skipped = post(
        "/api/sessions/observations",
        json!({"session_id": "h1", "tool_name": "TodoWrite"}),
    );
    assert_eq!(skipped.json()["status"], "skipped");
    let end = post(
        "/api/sessions/summarize",
        json!({"claudeSessionId": "h1", "last_assistant_message": "The frobnicator is called `frob` now."}),
    );
    assert_eq!(end.json()["status"], "queued");
    let second = post(
        &format!("/sessions/{number}/init"),
        json!({"prompt": "And the tests?"}),
    );
    assert_eq!(second.json()["prompt_number"], 2, "{second:?}");
    assert_eq!(second.json()["session_db_id"], number);
    let private = post(
        "/sessions/init",
        json!({"session_id": "h1", "cwd": cwd, "prompt": "<private>nothing to see</private>"}),
    );
    assert_eq!(private.json()["skipped"], true, "{private:?}");
    post(
        "/api/sessions/complete",
        json!({"sessionId": "h1", "reason": "exit"}),
    );
    eventually("the session has ended", || {
        served.get("/api/sessions/h1").json()["status"] == "completed"
            && served.get("/api/processing").json()["is_processing"] == false
    });
    let story = served.get("/api/sessions/h1").json();
    assert_eq!(story["host"], "http");
    assert_eq!(story["project"], "acme");
    assert!(
        story["turn_list"][0]["memories"].to_string().contains("frob"),
        "{story}"
    );
    served.home.assert_nowhere("nothing to see");
    // A program without a folder has a project by name.
    let named = post(
        "/api/sessions/init",
        json!({"session_id": "h2", "project": "elsewhere", "prompt": "hello there"}),
    );
    assert_eq!(named.json()["prompt_number"], 1, "{named:?}");
    assert_eq!(served.get("/api/sessions/h2").json()["project"], "elsewhere");
    assert_eq!(
        post("/api/sessions/init", json!({"prompt": "whose?"})).status,
        400
    );
    assert_eq!(post("/api/pending-queue/process", json!({})).json()["retried"], 0);
    assert_eq!(served.get("/api/pending-queue").json()["failed"], 0);
}

#[test]
fn memories_are_saved_edited_pinned_and_forgotten() {
    let served = with_memories();
    let new = json!({"text": "Deploys need the blue key ghp_0123456789abcdefghijABCDEFGHIJ012345", "cwd": served.home.project(), "pin": true});
    let saved = served.send("POST", "/api/memories", Some(&new)).json();
    let note = saved["id"].as_str().unwrap().to_owned();
    assert!(served.home.ok(&["context"]).contains("blue key"));
    let change = json!({"text": "Deploys need the green key", "pinned": false});
    let changed = served
        .send("PATCH", &format!("/api/observations/{note}"), Some(&change))
        .json();
    assert_eq!(
        (changed["text"].as_str(), changed["pinned"].as_bool()),
        (Some("Deploys need the green key"), Some(false))
    );
    let wrong = served.send(
        "PATCH",
        &format!("/api/observations/{note}"),
        Some(&json!({"title": "x"})),
    );
    assert_eq!(
        (wrong.status, wrong.json()["error"]["hint"].as_str()),
        (409, Some("it has the fields text, type"))
    );
    assert_eq!(
        served
            .send("DELETE", &format!("/api/observations/{note}"), None)
            .status,
        200
    );
    assert_eq!(
        served
            .send("DELETE", &format!("/api/observations/{note}"), None)
            .status,
        404
    );
    assert_eq!(served.get(&format!("/api/observations/{note}")).status, 404);
    served.home.assert_nowhere("green key");
    served.home.assert_nowhere("ghp_0123456789");
}

#[test]
fn settings_are_listed_and_changed_atomically() {
    let served = Served::start();
    let settings = served.get("/api/settings").json();
    assert_eq!(settings["settings"]["context.full"]["value"], 5);
    assert!(
        settings["settings"]["context.full"]["about"]
            .as_str()
            .unwrap()
            .contains("in full")
    );
    let new = json!({"context": {"full": 3}, "capture.exclude": ["/secret/**"]});
    let changed = served.send("PUT", "/api/settings", Some(&new)).json();
    assert_eq!(changed["settings"]["context.full"]["value"], 3);
    let wrong = json!({"context.full": 4, "context.budget_tokens": 1});
    let refused = served.send("PUT", "/api/settings", Some(&wrong));
    assert_eq!(refused.status, 400, "{refused:?}");
    assert_eq!(served.home.ok(&["config", "get", "context.full"]).trim(), "3");
    let unknown = served
        .send("PUT", "/api/settings", Some(&json!({"context.fulll": 4})))
        .json();
    assert_eq!(
        unknown["error"]["message"],
        "unknown setting `context.fulll`; did you mean `context.full`?"
    );
    // One that only the file can reject makes the others fail too.
    let config = served.home.path().join("config.toml");
    let odd = "context = 3\n";
    std::fs::write(&config, odd).unwrap();
    let both = json!({"ui.timezone": "UTC", "context.full": 4});
    let refused = served.send("PUT", "/api/settings", Some(&both));
    assert_eq!(refused.status, 400, "{refused:?}");
    assert_eq!(std::fs::read_to_string(&config).unwrap(), odd);
    std::fs::write(&config, "[context]\nfull = 4\n").unwrap();
    served.send("PUT", "/api/settings", Some(&json!({"context.full": null})));
    assert_eq!(served.home.ok(&["config", "get", "context.full"]).trim(), "5");
}

#[test]
fn changes_of_any_process_are_broadcast_within_a_second() {
    let served = Served::start();
    let mut listener = served.listen(None);
    let start = Instant::now();
    session(&served.home);
    assert_eq!(listener.until("session_started").data["session_id"], "s1");
    assert_eq!(
        listener.until("prompt").data["text"],
        "Make the parser accept tabs"
    );
    let observation = listener.until("observation");
    let first = listener.until("summary");
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    // Changes by commands are broadcast too.
    let id = observation.data["id"].as_str().unwrap().to_owned();
    for (arguments, name) in [
        (vec!["remember", "A note"], "note"),
        (vec!["pin", &id], "observation"),
        (vec!["edit", &id, "--title", "Corrected"], "observation"),
        (vec!["forget", &id, "--yes"], "forgotten"),
    ] {
        let start = Instant::now();
        served.home.ok(&arguments);
        listener.until(name);
        assert!(
            start.elapsed() < Duration::from_secs(1),
            "{name}: {:?}",
            start.elapsed()
        );
    }
    served.home.report("session-end", &json!({"reason": "other"}));
    let last = listener.until("session_completed");
    // A client that reconnects gets what it missed, in order and once.
    let mut back = served.listen(first.id);
    let mut missed = Vec::new();
    loop {
        let told = back.next().unwrap();
        missed.extend(told.id);
        if told.id == last.id {
            break;
        }
    }
    assert!(
        missed.is_sorted_by(|a, b| a < b) && missed[0] > first.id.unwrap(),
        "{missed:?}"
    );
    // The note, the deletion, the end: a deleted memory is not sent again.
    assert_eq!(missed.len(), 3, "{missed:?}");
}

#[test]
fn the_socket_speaks_lines_and_http() {
    let served = Served::start();
    let mut stream = UnixStream::connect(served.home.path().join("worker.sock")).unwrap();
    let mut answers = BufReader::new(stream.try_clone().unwrap());
    let mut ask = |line: &str| -> Value {
        stream.write_all(format!("{line}\n").as_bytes()).unwrap();
        let mut answer = String::new();
        answers.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap()
    };
    assert_eq!(ask(r#"{"type":"ping"}"#)["status"], "ok");
    let event = json!({"type": "observation", "session_id": "l1", "cwd": served.home.project(),
        "tool_name": "Bash", "tool_input": {"command": "make"}, "tool_response": "ok"});
    assert_eq!(ask(&event.to_string())["status"], "queued");
    assert_eq!(
        ask(r#"{"type":"finalize","session_id":"l1"}"#)["status"],
        "queued"
    );
    assert_eq!(ask(r#"{"type":"dance"}"#)["error"]["code"], "bad_request");
    assert_eq!(ask(r#"{"type":"observation"}"#)["error"]["code"], "bad_request");
    assert_eq!(ask("{broken")["error"]["code"], "bad_request");
    eventually("the events are ingested", || {
        served.get("/api/sessions/l1").json()["events"] == 3
    });
    // No token: the mode of the socket protects it.
    let answer = served.through_socket("GET /api/projects HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert_eq!(answer.json()["items"][0]["name"], "acme");
    use std::os::unix::fs::PermissionsExt;
    for name in ["worker.sock", "token", "worker.json"] {
        let mode = std::fs::metadata(served.home.path().join(name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn metrics_and_health_describe_the_worker() {
    let served = with_memories();
    served.get("/api/search?query=tabs");
    // A round is counted at its end, a moment after its memories exist.
    for expected in [
        "backstory_queue_pending 0",
        "backstory_events_total{host=\"claude-code\",outcome=\"recorded\"} 4",
        "backstory_search_seconds_count 1",
        "backstory_queue_failed 0",
    ] {
        eventually(expected, || {
            served.get("/metrics").body.lines().any(|line| line == expected)
        });
    }
    for name in [
        "backstory_store_bytes ",
        "backstory_resident_bytes ",
        "backstory_distill_seconds_count ",
    ] {
        eventually(name, || {
            let text = served.get("/metrics").body;
            let value = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            value.parse::<u64>().unwrap() > 0
        });
    }
    let stats = served.get("/api/stats").json();
    assert_eq!(
        (
            stats["memories"]["prompt"].as_u64(),
            stats["models"]["provider"].as_str()
        ),
        (Some(1), Some("builtin"))
    );
    // The size of the WAL varies.
    let without_size = |mut stats: Value| {
        stats["store_bytes"].take();
        stats
    };
    let told = served.home.fields(&["stats", "--json"]);
    assert_eq!(without_size(stats), without_size(told));
    let health = served.get("/api/health").json();
    assert_eq!(
        (health["status"].as_str(), health["failed"].as_i64()),
        (Some("ok"), Some(0))
    );
    let open = served.raw(&format!(
        "GET /health HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n\r\n",
        served.port
    ));
    assert_eq!((open.status, open.body.as_str()), (200, "{\"status\":\"ok\"}"));
}

#[test]
fn the_openapi_description_lists_every_route_and_each_answers() {
    let served = Served::start();
    let document = served.get("/api/openapi.json").json();
    assert_eq!(document["openapi"], "3.1.0");
    let mut routes: Vec<String> = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, about) in methods.as_object().unwrap() {
            routes.push(format!("{} {path}", method.to_uppercase()));
            let answers: Vec<&String> = about["responses"].as_object().unwrap().keys().collect();
            assert_eq!(answers, ["200", "4XX", "5XX"], "{method} {path}");
            let path = path.replace("{id}", "1").replace("{db_id}", "1");
            if !["/api/events", "/stream"].contains(&path.as_str()) {
                let answer = served.send(&method.to_uppercase(), &path, None);
                assert!(
                    ![0, 404, 405].contains(&answer.status) || path.contains("/1"),
                    "{method} {path}: {answer:?}"
                );
                assert!(answer.status < 500, "{method} {path}: {answer:?}");
            }
        }
    }
    let streams = ["/api/events", "/stream"].map(|path| document["paths"][path]["get"]["parameters"].clone());
    assert!(streams[0].is_array() && streams[0] == streams[1], "{streams:?}");
    // A search is 500 memories deep: so far its cursors reach.
    let asked = document["paths"]["/api/search"]["get"]["parameters"].as_array();
    let cursor = asked.unwrap().iter().find(|one| one["name"] == "cursor").unwrap();
    assert_eq!(cursor["schema"]["pattern"], "^[0-9]{1,3}$");
    assert_eq!(served.get("/api/search?query=x&cursor=500").status, 200);
    routes.sort();
    settings().bind(|| insta::assert_snapshot!("routes", routes.join("\n")));
}

#[test]
fn a_port_in_use_is_avoided_and_shutdown_is_clean() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let served = Served::start_in(Home::new().with("BACKSTORY_HTTP_PORT", &port.to_string()));
    assert_ne!(served.port, port);
    assert_eq!(served.get("/api/health").status, 200);
    let mut listener = served.listen(None);
    let pid = served.pid().to_string();
    let start = Instant::now();
    assert!(
        std::process::Command::new("kill")
            .args(["-TERM", &pid])
            .status()
            .unwrap()
            .success()
    );
    while listener.next().is_some() {}
    eventually("the worker exits", || {
        !served.home.path().join("worker.json").exists()
    });
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
    assert!(!served.home.path().join("worker.sock").exists());
}

#[test]
fn a_silent_client_does_not_delay_shutdown() {
    let served = Served::start();
    let connect = || UnixStream::connect(served.home.path().join("worker.sock")).unwrap();
    let (nothing, mut lines) = (connect(), connect());
    lines.write_all(b"{\"type\":\"ping\"}\n").unwrap();
    let mut answers = BufReader::new(lines.try_clone().unwrap());
    let mut answer = String::new();
    answers.read_line(&mut answer).unwrap();
    let start = Instant::now();
    let pid = served.pid().to_string();
    let status = std::process::Command::new("kill").args(["-TERM", &pid]).status();
    assert!(status.unwrap().success());
    eventually("the worker exits", || {
        !served.home.path().join("worker.json").exists()
    });
    // Requests in progress would be awaited for two seconds.
    assert!(
        start.elapsed() < Duration::from_millis(1500),
        "{:?}",
        start.elapsed()
    );
    drop((nothing, lines));
}

#[test]
fn a_slow_disk_delays_only_requests_that_need_it() {
    let event = json!({"session_id": "h1", "tool_name": "Bash", "tool_input": {"command": "make"}});
    for (method, path, body) in [
        ("GET", "/api/settings", None),
        ("PUT", "/api/settings", Some(json!({"context.full": 3}))),
        ("GET", "/api/health", None),
        ("GET", "/sessions", None),
        ("GET", "/settings", None),
        ("POST", "/api/sessions/observations", Some(event)),
        (
            "PATCH",
            "/api/observations/1",
            Some(json!({"title": "other words"})),
        ),
    ] {
        let served = Served::start();
        // A pipe without a writer: reading the settings blocks.
        let config = served.home.path().join("config.toml");
        let pipe = std::process::Command::new("mkfifo").arg(&config).status();
        assert!(pipe.unwrap().success());
        let waits = served.begin(method, path, body.as_ref());
        std::thread::sleep(Duration::from_millis(200));
        let start = Instant::now();
        let host = format!("Host: 127.0.0.1:{}\r\nConnection: close", served.port);
        let other = served.raw(&format!("GET /health HTTP/1.1\r\n{host}\r\n\r\n"));
        assert_eq!(other.status, 200, "{method} {path}");
        assert!(start.elapsed() < Duration::from_secs(2), "{method} {path}");
        waits.set_nonblocking(true).unwrap();
        let answer = std::io::Read::read(&mut &waits, &mut [0]);
        assert!(answer.is_err(), "{method} {path} did not need the settings");
    }
}

/// Regression: asking for the lock holder inside the worker released its lock, so that a second worker started.
#[test]
fn recording_over_http_starts_no_second_worker() {
    let served = Served::start_in(Home::new().with("BACKSTORY_NO_WORKER", "0"));
    for number in 0..3 {
        let body = json!({"contentSessionId": format!("h{number}"), "project": "acme", "prompt": "Sort the shelves"});
        let answer = served.send("POST", "/api/sessions/init", Some(&body));
        assert_eq!(answer.status / 100, 2, "{}", answer.body);
    }
    let status = served.home.json(&["worker", "status", "--json"]);
    assert_eq!(status["pid"], served.pid(), "{status}");
    served.home.ok(&["worker", "stop"]);
    let left = served.home.run(&["worker", "status"], b"");
    assert_eq!(left.status.code(), Some(1), "one worker, and it has ended");
}

#[test]
fn tool_output_is_another_name_of_tool_response() {
    let served = Served::start();
    let home = &served.home;
    home.report(
        "user-prompt-submit",
        &json!({"prompt": "Build the crate", "session_id": "h1"}),
    );
    let tool = |session: &str, field: &str, value: Value| {
        json!({"session_id": session, "cwd": home.project(), "tool_name": "Bash",
            "tool_input": {"command": format!("make {field}")}, field: value})
    };
    home.report(
        "post-tool-use",
        &tool("h1", "tool_output", json!({"stdout": "zebra crossing built"})),
    );
    for field in ["tool_output", "toolOutput"] {
        let body = tool("h2", field, json!(format!("zebra {field} built")));
        assert_eq!(
            served
                .send("POST", "/api/sessions/observations", Some(&body))
                .status,
            200
        );
    }
    let mut line = tool("h3", "tool_output", json!("zebra line built"));
    line["type"] = json!("observation");
    let mut stream = UnixStream::connect(home.path().join("worker.sock")).unwrap();
    stream.write_all(format!("{line}\n").as_bytes()).unwrap();
    let mut answer = String::new();
    BufReader::new(&stream).read_line(&mut answer).unwrap();
    assert!(answer.contains("queued"), "{answer}");
    for wanted in ["crossing", "tool_output", "toolOutput", "line"] {
        eventually("the output is recorded", || {
            let responses = home.rows("select coalesce(cast(read_hash as text), '') || payload from event");
            responses.iter().any(|payload| {
                payload.contains("\"tool_response\"") && payload.contains(&format!("zebra {wanted}"))
            })
        });
    }
}

#[test]
fn saving_a_file_in_an_editor_is_an_edit() {
    let home = Home::new();
    home.report(
        "user-prompt-submit",
        &json!({"prompt": "Tidy up the settings page"}),
    );
    let path = home.project().join("src/settings.ts");
    home.report(
        "post-tool-use",
        &json!({"tool_name": "FileSave", "tool_use_id": "t1", "tool_input": {"file_path": path}, "tool_response": {}}),
    );
    home.report(
        "stop",
        &json!({"last_assistant_message": "The settings page is tidy: its sections fold."}),
    );
    home.drain();
    let changed =
        home.rows("select files_modified from observation union all select files_edited from summary");
    assert!(
        changed.iter().any(|files| files.contains("src/settings.ts")),
        "{changed:?}"
    );
}

#[test]
fn a_prompt_that_is_sent_again_with_its_number_counts_once() {
    let served = Served::start();
    let init = |prompt: &str, number: Option<u32>| {
        let body = json!({"claudeSessionId": "n1", "cwd": served.home.project(), "userPrompt": prompt, "promptNumber": number});
        served.send("POST", "/api/sessions/init", Some(&body)).json()["prompt_number"].clone()
    };
    assert_eq!(init("Paint the fence <private>blue</private>", Some(1)), 1);
    assert_eq!(init("Paint the fence <private>blue</private>", Some(1)), 1);
    assert_eq!(init("Paint the gate", Some(2)), 2);
    assert_eq!(init("Paint the gate", Some(2)), 2);
    // The same words without a number, or other words, are another prompt.
    assert_eq!(init("Paint the gate", None), 3);
    assert_eq!(init("Paint the door", Some(3)), 4);
    assert_eq!(served.home.rows("select prompt from turn").len(), 4);
}

#[test]
fn a_session_without_a_folder_belongs_to_the_project_unknown() {
    let served = Served::start();
    let home = &served.home;
    let summarize = json!({"claudeSessionId": "u1", "last_user_message": "Feed the cat", "last_assistant_message": "Fed."});
    let tool = json!({"session_id": "u2", "tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_response": "x"});
    let init = json!({"session_id": "u3", "prompt": "Feed the dog"});
    for (route, body) in [("summarize", summarize), ("observations", tool), ("init", init)] {
        let answer = served.send("POST", &format!("/api/sessions/{route}"), Some(&body));
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    home.hook("stop", br#"{"session_id":"u5","cwd":"src"}"#);
    for session in ["u1", "u2", "u3", "u5"] {
        eventually("the session is there", || {
            home.run(&["session", session], b"").status.success()
        });
        let shown = home.json(&["session", session, "--json"]);
        assert_eq!(
            (&shown["project"], &shown["project_id"]),
            (&json!("unknown"), &json!("unknown")),
            "{session}"
        );
    }
}

#[test]
fn a_first_line_that_is_not_json_is_answered_on_the_socket() {
    let served = Served::start();
    for first in ["hello", "PING", "[1]", "\"x\"", "get / http"] {
        let mut stream = UnixStream::connect(served.home.path().join("worker.sock")).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        let mut say = |line: &str| {
            stream.write_all(format!("{line}\n").as_bytes()).unwrap();
            serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap()
        };
        assert_eq!(say(first)["error"]["code"], "bad_request", "{first}");
        assert_eq!(
            say("{\"type\": \"ping\"}")["status"],
            "ok",
            "{first}: the connection stays open"
        );
    }
    // A request that arrives letter by letter is still HTTP.
    let mut stream = UnixStream::connect(served.home.path().join("worker.sock")).unwrap();
    for byte in b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" {
        stream.write_all(&[*byte]).unwrap();
        stream.flush().unwrap();
    }
    let mut head = String::new();
    BufReader::new(stream).read_line(&mut head).unwrap();
    assert_eq!(head, "HTTP/1.1 200 OK\r\n");
}

#[test]
fn the_context_of_an_unknown_project_is_empty() {
    let served = Served::start();
    let answer = served.get("/api/context/inject?project=nosuch");
    assert_eq!((answer.status, answer.body.as_str()), (200, ""));
    assert!(
        answer
            .header("content-type")
            .unwrap()
            .starts_with("text/markdown")
    );
}
