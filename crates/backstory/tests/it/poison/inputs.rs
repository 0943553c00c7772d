//! Feeds a text in as in real use: in the middle of a turn that fixes a bug.

use std::{
    fs,
    io::{Read, Write},
    os::unix::net::UnixStream,
};

use serde_json::{Value, json};

use super::cases::{Case, Way};
use crate::{
    fake_provider::{Answer, Server},
    home::{Home, eventually, run, text},
    mcp::Agent,
    models::with_model,
};

const FIXED: &str = "Fixed: the token refresh now retries once on a 401 before it gives up.";

/// Returns a home in which the text was recorded and distilled.
pub(super) fn feed(case: &Case) -> Home {
    let home = match case.way {
        Way::Model => {
            let told = case.text;
            let answer = format!(
                "<observation><type>bugfix</type><title>{told}</title><narrative>{told}</narrative><facts><fact>{told}</fact></facts></observation>
                <summary><request>mend it</request><completed>{told}</completed><next_steps>{told}</next_steps></summary>"
            );
            with_model("anthropic", &Server::always(Answer::anthropic(&answer)))
        }
        _ => Home::new(),
    };
    if case.way == Way::Branch {
        let head = format!("ref: refs/heads/{}\n", case.text);
        fs::write(home.project().join(".git/HEAD"), head).unwrap();
    }
    match case.way {
        Way::Host(host) => of_host(&home, host, case.text),
        way => turn(&home, way, case.text),
    }
    home.drain();
    match case.way {
        Way::Import(kind, pinned) => import(&home, kind, pinned, case.text),
        Way::Remember => remember(&home, case.text),
        Way::Http => over_http(&home, case.text),
        _ => {}
    }
    home.ok(&["index", "--wait"]);
    home
}

/// Returns the file that the turn changes.
pub(super) fn file(home: &Home, case: &Case) -> String {
    let name = match case.way {
        Way::Name => case.text,
        _ => "src/auth.rs",
    };
    home.project().join(name).to_str().unwrap().to_owned()
}

fn turn(home: &Home, way: Way, told: &str) {
    let prompt = match way {
        Way::Prompt | Way::Machine => told,
        _ => "Token refresh fails with 401 after the laptop slept, mend it",
    };
    let transcript = home.outside().join("s1.jsonl");
    let line = |kind: &str, content: Value| {
        json!({"type": kind, "sessionId": "s1", "uuid": format!("{content:.30}"), "timestamp": "2026-11-15T10:00:00.000Z",
            "message": {"role": kind, "content": content}})
    };
    let result = if way == Way::Transcript { told } else { "ok" };
    let lines = [
        line("user", json!(prompt)),
        line(
            "assistant",
            json!([{"type": "tool_use", "id": "t0", "name": "Bash", "input": {"command": "cargo test"}}]),
        ),
        line(
            "user",
            json!([{"type": "tool_result", "tool_use_id": "t0", "content": result}]),
        ),
    ];
    fs::write(&transcript, lines.map(|line| format!("{line}\n")).concat()).unwrap();
    let report = |event: &str, mut fields: Value| {
        fields["transcript_path"] = json!(transcript);
        home.report(event, &fields);
    };
    report("user-prompt-submit", json!({"prompt": prompt}));
    if let Some((event, fields)) = tool(home, way, told) {
        report(event, fields);
    }
    let name = if way == Way::Name { told } else { "src/auth.rs" };
    let path = home.project().join(name);
    let old = if way == Way::Replaced {
        told
    } else {
        "refresh(token)"
    };
    report(
        "post-tool-use",
        json!({"tool_name": "Edit", "tool_use_id": "t2",
            "tool_input": {"file_path": path, "old_string": old, "new_string": "retry_once(|| refresh(token))"},
            "tool_response": {"filePath": path, "structuredPatch": [{"oldStart": 3, "oldLines": 1, "newStart": 3, "newLines": 1,
                "lines": [format!("-{old}"), "+retry_once(|| refresh(token))"]}]}}),
    );
    report(
        "post-tool-use",
        json!({"tool_name": "Bash", "tool_use_id": "t3", "tool_input": {"command": "cargo test auth"},
            "tool_response": {"stdout": "test result: ok. 4 passed", "stderr": ""}}),
    );
    let said = if way == Way::Said { told } else { FIXED };
    report("stop", json!({"last_assistant_message": said}));
}

/// Returns the tool use that contains the text, if the input is one.
fn tool(home: &Home, way: Way, told: &str) -> Option<(&'static str, Value)> {
    let readme = home.project().join("README.md");
    let bash = |command: &str, stdout: &str, stderr: &str| {
        json!({"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": command},
            "tool_response": {"stdout": stdout, "stderr": stderr}})
    };
    let fields = match way {
        Way::Read => json!({"tool_name": "Read", "tool_use_id": "t1", "tool_input": {"file_path": readme},
            "tool_response": {"type": "text", "file": {"filePath": readme, "content": told, "numLines": 3}}}),
        Way::Grep => json!({"tool_name": "Grep", "tool_use_id": "t1", "tool_input": {"pattern": "refresh"},
            "tool_response": {"mode": "content", "content": told, "numLines": 1}}),
        Way::Fetch => json!({"tool_name": "WebFetch", "tool_use_id": "t1",
            "tool_input": {"url": "https://docs.example/refresh", "prompt": "How does refresh work?"},
            "tool_response": {"result": told, "code": 200, "bytes": 900}}),
        Way::Failure => {
            return Some(("post-tool-use-failure", failure(told)));
        }
        Way::Log => bash("git log -3", told, ""),
        Way::Output => bash("cargo test refresh", told, ""),
        Way::Errors => bash("cargo build", "", told),
        Way::Server => {
            json!({"tool_name": "mcp__tickets__read", "tool_use_id": "t1", "tool_input": {"id": 7},
            "tool_response": [{"type": "text", "text": told}]})
        }
        Way::Delegate => {
            json!({"tool_name": "Read", "tool_use_id": "t1", "agent_id": "a1", "agent_type": "general-purpose",
            "tool_input": {"file_path": readme}, "tool_response": {"type": "text", "file": {"filePath": readme, "content": told}}})
        }
        _ => return None,
    };
    Some(("post-tool-use", fields))
}

/// Returns a failure with this error.
pub(super) fn failure(error: &str) -> Value {
    json!({"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "cargo test auth"},
        "error": format!("Exit code 101\n{error}")})
}

/// Replays the recorded session of another host, with the text in every tool output.
fn of_host(home: &Home, host: &str, told: &str) {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../testdata")
        .join(host);
    let version = fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let mut files: Vec<_> = fs::read_dir(version)
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    files.retain(|file| file.extension().is_some_and(|kind| kind == "json"));
    files.sort();
    for file in files {
        let name = file.file_stem().unwrap().to_str().unwrap()[3..].to_owned();
        let payload = fs::read_to_string(&file)
            .unwrap()
            .replace("CWD", home.project().to_str().unwrap());
        let mut payload: Value = serde_json::from_str(&payload).unwrap();
        for field in ["tool_output", "tool_response", "error_message"] {
            if let Some(output) = payload.get_mut(field) {
                poison(output, told);
            }
        }
        let output = run(
            home.command(&["hook", &name, "--host", host]),
            payload.to_string().as_bytes(),
        );
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{host} {name}: {}",
            text(&output.stderr)
        );
    }
}

/// Appends the text to every string.
fn poison(output: &mut Value, told: &str) {
    match output {
        Value::String(text) => match serde_json::from_str::<Value>(text) {
            Ok(mut inner @ Value::Object(_)) => {
                poison(&mut inner, told);
                *text = inner.to_string();
            }
            _ => *text = format!("{text}\n{told}"),
        },
        Value::Array(list) => list.iter_mut().for_each(|one| poison(one, told)),
        Value::Object(fields) => fields
            .iter_mut()
            .filter(|(name, _)| !name.to_lowercase().contains("path"))
            .for_each(|(_, one)| poison(one, told)),
        _ => {}
    }
}

fn import(home: &Home, kind: &str, pinned: bool, told: &str) {
    let fields = match kind {
        "observation" => {
            json!({"type": "decision", "title": told, "narrative": told, "facts": [told], "concepts": [told],
                "files_read": [told], "files_modified": ["src/auth.rs"]})
        }
        "summary" => json!({"request": told, "completed": told, "next_steps": told}),
        _ => json!({"text": told}),
    };
    let mut line = fields;
    line["kind"] = json!(kind);
    line["pinned"] = json!(pinned);
    line["project"] = json!(home.project());
    let mut lines = line.to_string();
    if kind == "observation" {
        // Names can contain anything too.
        line["project"] = json!(told);
        lines = format!("{lines}\n{line}\n");
    }
    let output = home.run(&["import", "jsonl", "-"], lines.as_bytes());
    assert!(output.status.success(), "{}", text(&output.stderr));
}

fn remember(home: &Home, told: &str) {
    let mut agent = Agent::start(home);
    agent.greet("2025-11-25");
    let (failed, answer) = agent.call(
        "remember",
        &json!({"text": told, "pin": true, "files": ["src/auth.rs"]}),
    );
    assert!(!failed, "{answer}");
    agent.end();
}

fn over_http(home: &Home, told: &str) {
    let mut worker = home.command(&["worker", "run"]).spawn().unwrap();
    let socket = home.path().join("worker.sock");
    eventually("the worker listens", || UnixStream::connect(&socket).is_ok());
    let body = json!({"text": told, "project": home.project()}).to_string();
    let mut stream = UnixStream::connect(&socket).unwrap();
    let head = format!(
        "POST /api/memories HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    worker.kill().unwrap();
    worker.wait().unwrap();
    assert!(answer.starts_with("HTTP/1.1 20"), "{answer}");
}
