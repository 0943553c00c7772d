//! The MCP server: `backstory mcp`.

use std::{
    io::{BufRead, BufReader, Write},
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
        let mut child = home.command(&["mcp"]).spawn().unwrap();
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
        assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 5);
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
    let mut command = home.command(&["mcp"]);
    let mut child = command.current_dir(other).spawn().unwrap();
    let mut agent = Agent {
        input: child.stdin.take().unwrap(),
        output: BufReader::new(child.stdout.take().unwrap()),
        child,
    };
    agent.greet("2025-11-25");
    let (_, text) = agent.call("search", &json!({"query": "parser tabs"}));
    assert!(text.starts_with("No memories of this project yet"), "{text}");
    let (_, text) = agent.call("search", &json!({"query": "parser tabs", "project": "acme"}));
    assert!(text.contains("#1 "), "{text}");
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
