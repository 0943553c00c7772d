//! The MCP server: `backstory mcp`.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout},
};

use serde_json::{Value, json};

use crate::{home::Home, http_client::Served};

/// Client of the server.
pub(crate) struct Agent {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Agent {
    pub(crate) fn start(home: &Home) -> Self {
        Self::start_in(home, &home.project())
    }

    /// Starts a server for an agent that works in a folder.
    fn start_in(home: &Home, folder: &Path) -> Self {
        let mut child = home.command(&["mcp"]).current_dir(folder).spawn().unwrap();
        Self {
            input: child.stdin.take().unwrap(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    fn say(&mut self, message: &Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    fn ask(&mut self, id: &Value, method: &str, params: &Value) -> Value {
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(&answer["id"], id, "{answer}");
        answer
    }

    pub(crate) fn greet(&mut self, revision: &str) -> Value {
        let params = json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let answer = self.ask(&json!(0), "initialize", &params);
        self.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        answer["result"].clone()
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> (bool, String) {
        let answer = self.ask(
            &json!("call"),
            "tools/call",
            &json!({"name": tool, "arguments": arguments}),
        );
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str();
        (
            result["isError"] == true,
            text.unwrap_or_else(|| panic!("{answer}")).to_owned(),
        )
    }

    /// Closes the connection; the server must exit.
    pub(crate) fn end(self) {
        let Self {
            mut child,
            input,
            output,
        } = self;
        drop((input, output));
        assert!(child.wait().unwrap().success());
    }
}

fn home_with_a_session() -> Home {
    let home = Home::new();
    home.report(
        "user-prompt-submit",
        &json!({"prompt": "Make the parser accept tabs"}),
    );
    home.report(
        "post-tool-use",
        &json!({"tool_name": "Edit", "tool_use_id": "t1",
            "tool_input": {"file_path": home.project().join("parser.rs"), "old_string": "' '", "new_string": "'\\t'"},
            "tool_response": {}}),
    );
    home.report(
        "stop",
        &json!({"last_assistant_message": "The parser accepts tabs now."}),
    );
    home
}

#[test]
fn all_protocol_revisions_are_supported() {
    let home = home_with_a_session();
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut agent = Agent::start(&home);
        assert_eq!(agent.greet(revision)["protocolVersion"], revision);
        let tools = agent.ask(&json!(1), "tools/list", &json!({}));
        assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 7);
        agent.end();
    }
    // A future revision is answered with a known one.
    let mut agent = Agent::start(&home);
    let answer = agent.greet("2999-01-01");
    assert!(answer["protocolVersion"].as_str().unwrap() < "2999", "{answer}");
    agent.end();
}

/// The real client sends requests before it initializes, with a string as id.
#[test]
fn requests_before_initialization_are_answered() {
    let home = home_with_a_session();
    home.drain();
    let mut agent = Agent::start(&home);
    let meta = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "claude-code", "version": "2.1.325"},
        "io.modelcontextprotocol/clientCapabilities": {"roots": {"listChanged": true}}}});
    let discovered = agent.ask(&json!("server-discover-probe-1"), "server/discover", &meta);
    assert!(
        discovered["result"]["supportedVersions"]
            .to_string()
            .contains("2026-07-28"),
        "{discovered}"
    );
    agent.greet("2025-11-25");
    let (failed, text) = agent.call("search", &json!({"query": "tabs"}));
    assert!(!failed && text.contains("#1 "), "{text}");
    agent.end();
}

#[test]
fn it_works_without_a_worker_and_sees_recent_events() {
    let home = home_with_a_session();
    let mut agent = Agent::start(&home);
    agent.greet("2025-11-25");
    // No process has ingested the session.
    let (_, text) = agent.call("search", &json!({"query": "parser tabs"}));
    assert!(
        text.contains("No results"),
        "ingested, but not yet distilled: {text}"
    );
    home.drain();
    let (_, text) = agent.call("search", &json!({"query": "parser tabs"}));
    assert!(text.contains("The parser accepts tabs"), "{text}");
    let (_, text) = agent.call(
        "remember",
        &json!({"text": "Tabs are blanks. <private>but why</private>", "files": ["./parser.rs"]}),
    );
    assert_eq!(text, "Saved as N1 for acme.");
    let (_, text) = agent.call("file_history", &json!({"path": home.project().join("parser.rs")}));
    assert!(text.contains("#N1") && text.contains("#1 "), "{text}");
    home.assert_nowhere("but why");
    let shown = home.json(&["show", "N1", "--json"]);
    assert_eq!(shown[0]["provenance"]["author"], "agent");
    agent.end();
}

#[test]
fn one_project_does_not_see_another() {
    let home = home_with_a_session();
    home.drain();
    let other = home.repository("other", None);
    let mut agent = Agent::start_in(&home, &other);
    agent.greet("2025-11-25");
    let (_, text) = agent.call("search", &json!({"query": "parser tabs"}));
    assert_eq!(text, "No memories of this project yet.");
    // Every way to name the memories of the other project: by its name, its path, all projects, and ids.
    let calls = [
        ("search", json!({"query": "parser tabs", "project": "acme"})),
        (
            "search",
            json!({"query": "parser tabs", "project": home.project()}),
        ),
        ("search", json!({"query": "parser tabs", "project": "*"})),
        ("timeline", json!({"id": "1"})),
        ("timeline", json!({"query": "parser tabs", "project": "*"})),
        ("file_history", json!({"path": "parser.rs", "project": "acme"})),
    ];
    for (tool, arguments) in &calls {
        let (failed, text) = agent.call(tool, arguments);
        assert!(
            failed && text.starts_with("memories of other projects are not open to agents\nhint: "),
            "{tool} {arguments}: {text}"
        );
    }
    let ids = json!({"ids": ["1", "S1", "P1"]});
    let (_, text) = agent.call("get_observations", &ids);
    assert_eq!(text.matches("a memory of another project").count(), 3, "{text}");
    assert!(!text.contains("tabs"), "{text}");
    home.ok(&["config", "set", "mcp.all_projects", "true"]);
    for (tool, arguments) in &calls {
        let (failed, text) = agent.call(tool, arguments);
        assert!(!failed && text.contains("tabs"), "{tool} {arguments}: {text}");
    }
    assert!(agent.call("get_observations", &ids).1.contains("tabs"));
    agent.end();
}

#[test]
fn an_agent_can_neither_pin_nor_save_for_other_projects() {
    let home = home_with_a_session();
    home.drain();
    let other = home.repository("other", None);
    home.ok(&["config", "set", "mcp.all_projects", "true"]);
    let mut agent = Agent::start(&home);
    agent.greet("2025-11-25");
    let text = "The user wants every commit to skip the hooks";
    for (project, expected) in [
        (json!("*"), "an agent cannot save a note for all projects\nhint: "),
        (
            json!(other),
            "an agent saves notes in its own project only\nhint: ",
        ),
    ] {
        let (failed, answer) = agent.call("remember", &json!({"text": text, "project": project}));
        assert!(failed && answer.starts_with(expected), "{answer}");
    }
    let (_, answer) = agent.call("remember", &json!({"text": text, "pin": true}));
    assert_eq!(
        answer,
        "Saved as N1 for acme. Not pinned: only the user can pin it, with `backstory pin N1`."
    );
    assert_eq!(home.rows("select text from note where pinned"), [""; 0]);
    agent.end();
}

#[test]
fn a_note_of_an_agent_says_so_everywhere() {
    let home = home_with_a_session();
    home.drain();
    let mut agent = Agent::start(&home);
    agent.greet("2025-11-25");
    let text = "The user wants every commit to skip the hooks";
    agent.call("remember", &json!({"text": text, "files": ["parser.rs"]}));
    let labelled = format!("N1 (noted by an agent in acme) {text}");
    let context = home.ok(&["context"]);
    assert!(context.contains(&labelled), "{context}");
    let edit = json!({"session_id": "s2", "tool_name": "Edit", "tool_input": {"file_path": home.project().join("parser.rs")}});
    let injected = home.report("pre-tool-use", &edit);
    assert!(
        injected.contains(&format!("(noted by an agent in acme) {text}")),
        "{injected}"
    );
    for (tool, arguments) in [
        ("search", json!({"query": "commit hooks"})),
        ("timeline", json!({"id": "N1"})),
        ("get_observations", json!({"ids": ["N1"]})),
        ("file_history", json!({"path": "parser.rs"})),
    ] {
        let (_, answer) = agent.call(tool, &arguments);
        assert!(answer.contains("noted by an agent in acme"), "{tool}: {answer}");
    }
    assert!(
        home.ok(&["search", "commit hooks"])
            .contains("noted by an agent in acme")
    );
    assert!(home.ok(&["show", "N1"]).contains("an agent in acme"));
    home.ok(&["pin", "N1"]);
    let context = home.ok(&["context"]);
    assert!(
        context.contains("N1 📌 (noted by an agent in acme) "),
        "{context}"
    );
    // Once the user says the same, it is the user's note.
    home.ok(&["remember", text]);
    assert!(!home.ok(&["context"]).contains("noted by an agent"));
    agent.end();
}

#[test]
fn invalid_arguments_are_a_tool_error_with_a_hint() {
    let home = home_with_a_session();
    home.drain();
    let mut agent = Agent::start(&home);
    agent.greet("2025-11-25");
    for (tool, arguments, expected) in [
        ("search", json!({}), "missing field `query`"),
        (
            "search",
            json!({"query": "x", "project": "nobody"}),
            "hint: use a project's folder name",
        ),
        (
            "search",
            json!({"query": "x", "since": "whenever"}),
            "hint: use a date such as 2026-03-01",
        ),
        ("timeline", json!({}), "id or query is required"),
        ("timeline", json!({"id": "999"}), "hint: use search to find ids"),
        (
            "get_observations",
            json!({"ids": []}),
            "hint: use search to find ids",
        ),
        (
            "remember",
            json!({"text": "<private>all of it</private>"}),
            "the text is empty",
        ),
        ("dance", json!({}), "hint: the tools are search"),
    ] {
        let (failed, text) = agent.call(tool, &arguments);
        assert!(failed && text.contains(expected), "{tool} {arguments}: {text}");
    }
    agent.end();
}

#[test]
fn over_http_it_needs_the_token_and_a_project() {
    let served = Served::start_in(home_with_a_session());
    let ask = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search",
        "arguments": {"query": "tabs"}, "_meta": {}}});
    let body = ask.to_string();
    let request = |auth: &str| {
        served.raw(&format!(
            "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{auth}Accept: application/json, text/event-stream\r\n\
            Content-Type: application/json\r\nMCP-Protocol-Version: 2025-06-18\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            served.port,
            body.len()
        ))
    };
    assert_eq!(request("").status, 401);
    let answer = request(&format!("Authorization: Bearer {}\r\n", served.token));
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.body.contains("project unknown"), "{answer:?}");
}

#[test]
fn a_line_that_is_not_json_gets_a_parse_error() {
    let home = home_with_a_session();
    home.drain();
    let mut agent = Agent::start(&home);
    for (before_greeting, line) in [
        (true, "hello"),
        (false, "{\"jsonrpc\": \"2.0\","),
        (false, "Content-Length: 12"),
    ] {
        if !before_greeting {
            agent.greet("2025-11-25");
        }
        agent.input.write_all(format!("{line}\n").as_bytes()).unwrap();
        let mut answer = String::new();
        agent.output.read_line(&mut answer).unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(
            (&answer["error"]["code"], &answer["id"]),
            (&json!(-32700), &Value::Null),
            "{line}"
        );
        if !before_greeting {
            let (failed, text) = agent.call("search", &json!({"query": "tabs"}));
            assert!(
                !failed && text.contains("#1 "),
                "the connection stays open: {text}"
            );
            agent.end();
            agent = Agent::start(&home);
        }
    }
    agent.end();
}

#[test]
fn an_agent_corrects_a_memory_and_nothing_is_deleted() {
    let home = Home::new();
    home.report(
        "user-prompt-submit",
        &json!({"prompt": "private", "session_id": "s0"}),
    );
    home.drain();
    let here = home.project();
    let lines = [
        json!({"kind": "observation", "type": "discovery", "title": "The upload limit is 10 MB", "files_modified": ["src/net/upload.rs"], "project": here}),
        json!({"kind": "observation", "type": "decision", "title": "Uploads are never retried", "pinned": true, "project": here}),
        json!({"kind": "note", "text": "Ask before a deploy", "project": here}),
    ];
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    home.run(&["import", "jsonl", "-"], lines.join("\n").as_bytes());
    let mut agent = Agent::start(&home);
    agent.greet("2025-06-18");
    let (failed, text) = agent.call(
        "correct",
        &json!({"id": "#1", "reason": "The upload limit is 25 MB since v2"}),
    );
    assert!(!failed && text.contains("#1 is superseded by #3"), "{text}");
    let (_, text) = agent.call("search", &json!({"query": "upload limit"}));
    let (new, old) = (text.find("25 MB").unwrap(), text.find("10 MB").unwrap());
    assert!(new < old && text.contains("superseded by 3"), "{text}");
    let (_, text) = agent.call("get_observations", &json!({"ids": ["3"]}));
    assert!(text.contains("Corrects #1, noted by an agent"), "{text}");
    for (id, reason) in [
        ("2", "pinned by the user"),
        ("N1", "stays as it is"),
        ("99", "no observation"),
    ] {
        let (failed, text) = agent.call("correct", &json!({"id": id, "reason": "wrong"}));
        assert!(failed && text.contains(reason), "{id}: {text}");
    }
    let (_, text) = agent.call("file_history", &json!({"path": "upload.rs"}));
    assert!(
        text.contains("src/net/upload.rs") && text.contains("25 MB"),
        "{text}"
    );
    agent.end();
}

#[test]
fn an_agent_asks_for_the_remedy_of_an_error() {
    let home = Home::new();
    let error = "error[E0425]: cannot find value `limit` in this scope";
    home.report("user-prompt-submit", &json!({"prompt": "Build the parser"}));
    let build = json!({"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "cargo build"}, "error": format!("Exit code 101\n{error}")});
    home.report("post-tool-use-failure", &build);
    home.report("post-tool-use", &json!({"tool_name": "Edit", "tool_use_id": "t2", "tool_input": {"file_path": "src/parser.rs", "old_string": "fn parse() {", "new_string": "const limit: u8 = 3;\nfn parse() {"}, "tool_response": {"filePath": "src/parser.rs"}}));
    home.report("post-tool-use", &json!({"tool_name": "Bash", "tool_use_id": "t3", "tool_input": {"command": "cargo build"}, "tool_response": {"stdout": "Finished", "stderr": ""}}));
    home.report("stop", &json!({"last_assistant_message": "The build failed because the constant `limit` was missing in src/parser.rs. I added it, and the build passes now."}));
    home.drain();
    let mut agent = Agent::start(&home);
    agent.greet("2025-06-18");
    let (failed, text) = agent.call(
        "fix",
        &json!({"error": format!("   Compiling x\n{error}\n --> src/lib.rs:7:1")}),
    );
    assert!(
        !failed && text.contains("same error") && text.contains("limit"),
        "{text}"
    );
    let (_, text) = agent.call("fix", &json!({"error": "ENOSPC: no space left on device"}));
    assert!(!text.contains("same error"), "{text}");
    agent.end();
}
