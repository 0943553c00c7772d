//! Recall before a command: the remedy of a known failure and the user's rules, once, and silence otherwise.

use serde_json::{Value, json};

use crate::home::{Home, run, text};

/// Reports a turn: a prompt and commands, each with its error or without one.
fn turn(home: &Home, session: &str, prompt: &str, commands: &[(&str, Option<&str>)]) {
    home.report(
        "user-prompt-submit",
        &json!({"session_id": session, "prompt_id": session, "prompt": prompt}),
    );
    for (at, (command, error)) in commands.iter().enumerate() {
        let mut fields = json!({"session_id": session, "prompt_id": session, "tool_name": "Bash",
            "tool_use_id": format!("{session}-{at}"), "tool_input": {"command": command}});
        let event = match error {
            Some(error) => {
                fields["error"] = format!("Exit code 1\n{error}").into();
                "post-tool-use-failure"
            }
            None => {
                fields["tool_response"] = json!({"stdout": "done", "stderr": ""});
                "post-tool-use"
            }
        };
        home.report(event, &fields);
    }
    home.report(
        "stop",
        &json!({"session_id": session, "prompt_id": session, "last_assistant_message": "Done."}),
    );
    home.drain();
}

/// Returns the output of the hook before a command.
fn before(home: &Home, session: &str, command: &str) -> Option<Value> {
    let printed = home.report(
        "pre-tool-use",
        &json!({"session_id": session, "tool_name": "Bash", "tool_input": {"command": command}}),
    );
    let answer: Value = serde_json::from_str(printed.trim()).ok()?;
    assert_eq!(answer["hookSpecificOutput"]["hookEventName"], "PreToolUse");
    Some(answer["hookSpecificOutput"].clone())
}

fn warning(home: &Home, session: &str, command: &str) -> Option<String> {
    before(home, session, command).map(|answer| answer["additionalContext"].as_str().unwrap().to_owned())
}

/// Returns a home in which three commands failed until another one worked.
fn past() -> Home {
    let home = Home::new();
    turn(
        &home,
        "old",
        "Summarize the open pull requests",
        &[
            (
                "gh pr diff 104 --stat",
                Some(
                    "unknown flag: --stat\n\nUsage:  gh pr diff [<number> | <url>] [flags]\n\nFlags:\n  --name-only",
                ),
            ),
            ("gh pr diff 104 --name-only", None),
            (
                "pytest tests/api",
                Some("bash: line 1: pytest: command not found"),
            ),
            ("uv run pytest tests/api", None),
            (
                "go test ./store",
                Some("undefined: sqlite_fts5, build with -tags fts5"),
            ),
            ("go test -tags fts5 ./store", None),
        ],
    );
    home
}

#[test]
fn the_remedy_comes_before_a_command_that_failed_before() {
    let home = past();
    for (command, failed, remedy) in [
        (
            "cd src && GH_PAGER= gh pr diff 7 --stat 2>&1 | tail",
            "gh pr diff 104 --stat",
            "gh pr diff 104 --name-only",
        ),
        (
            "pytest -x tests/db",
            "pytest tests/api",
            "uv run pytest tests/api",
        ),
        ("go test ./store", "go test ./store", "go test -tags fts5 ./store"),
    ] {
        let text = warning(&home, "s1", command).unwrap_or_else(|| panic!("silent before {command}"));
        let (worked, before) = text.split_once(" worked here; ").unwrap();
        assert!(worked.ends_with(&format!("`{remedy}`")), "{text}");
        assert!(before.starts_with(&format!("`{failed}` failed on 20")), "{text}");
        assert!(text.starts_with("<backstory-context>\n") && text.ends_with("\n</backstory-context>"));
        assert!(text.len().div_ceil(4) <= 60, "{text}");
        assert_eq!(warning(&home, "s1", command), None, "once per session: {command}");
        assert!(
            warning(&home, "s2", command).is_some(),
            "another session: {command}"
        );
    }
}

#[test]
fn commands_without_a_lesson_are_silent() {
    let home = past();
    for command in [
        "gh pr diff 104 --name-only",
        "gh pr view 104 --stat",
        "git diff --stat",
        "uv run pytest tests/api",
        "go test ./api",
        "go vet ./store",
        "ls",
        "",
        "python3 - <<'E'\nprint('gh pr diff --stat')\nE",
    ] {
        assert_eq!(before(&home, "s1", command), None, "{command}");
    }
    let elsewhere = home.repository("other", None);
    let printed = home.report(
        "pre-tool-use",
        &json!({"session_id": "s3", "cwd": elsewhere, "tool_name": "Bash", "tool_input": {"command": "pytest"}}),
    );
    assert_eq!(printed, "", "another project");
    home.ok(&["config", "set", "recall.guard", "off"]);
    assert_eq!(before(&home, "s1", "gh pr diff 1 --stat"), None);
}

#[test]
fn a_command_that_works_again_is_silent() {
    let home = past();
    turn(&home, "later", "Run the tests", &[("pytest tests/api", None)]);
    assert_eq!(before(&home, "s1", "pytest tests/api"), None);
    assert!(before(&home, "s1", "gh pr diff 1 --stat").is_some());
}

#[test]
fn a_failure_that_an_edit_fixed_is_no_lesson() {
    let home = Home::new();
    let call = |event: &str, fields: Value| {
        let mut fields = fields;
        fields["session_id"] = "old".into();
        fields["prompt_id"] = "p".into();
        home.report(event, &fields);
    };
    call(
        "user-prompt-submit",
        json!({"prompt": "Make the store tests pass"}),
    );
    call(
        "post-tool-use-failure",
        json!({"tool_name": "Bash", "tool_use_id": "1", "tool_input": {"command": "go test ./store"},
            "error": "Exit code 1\n--- FAIL: TestStore (0.00s)"}),
    );
    call(
        "post-tool-use",
        json!({"tool_name": "Edit", "tool_use_id": "2",
            "tool_input": {"file_path": home.project().join("store.go"), "old_string": "a", "new_string": "b"},
            "tool_response": {"filePath": "store.go"}}),
    );
    call(
        "post-tool-use",
        json!({"tool_name": "Bash", "tool_use_id": "3", "tool_input": {"command": "go test ./store -count=1"},
            "tool_response": {"stdout": "ok  \tstore\t0.1s", "stderr": ""}}),
    );
    call("stop", json!({"last_assistant_message": "Fixed."}));
    home.drain();
    assert_eq!(before(&home, "s1", "go test ./store"), None);
}

#[test]
fn a_rule_of_the_user_warns_or_asks() {
    let home = Home::new();
    turn(
        &home,
        "old",
        "Never push to main. Fix the typo in the readme.",
        &[("git status", None)],
    );
    let text = warning(&home, "s1", "git add -A && git push origin main").unwrap();
    assert!(
        text.contains("The user said on 20") && text.contains("“Never push to main.”"),
        "{text}"
    );
    assert_eq!(
        before(&home, "s1", "git push origin main"),
        None,
        "once per session"
    );
    assert_eq!(before(&home, "s2", "git push origin feature"), None);

    home.ok(&["config", "set", "recall.guard", "ask"]);
    for _ in 0..2 {
        let answer = before(&home, "s3", "git push origin HEAD:main").unwrap();
        assert_eq!(answer["permissionDecision"], "ask");
        let reason = answer["permissionDecisionReason"].as_str().unwrap();
        assert!(reason.starts_with("backstory: you said on 20"), "{reason}");
        assert!(reason.ends_with("“Never push to main.”"), "{reason}");
    }
}

/// Returns the output of a hook of another host before a command.
fn before_on(home: &Home, host: &str, session: &str, command: &str) -> Value {
    let payload = match host {
        "copilot-cli" => json!({"sessionId": session, "cwd": home.project(), "toolName": "bash",
            "toolArgs": json!({"command": command}).to_string()}),
        _ => {
            json!({"session_id": session, "cwd": home.project(), "hook_event_name": "PreToolUse", "turn_id": "t",
            "tool_name": "Bash", "tool_input": {"command": command}})
        }
    };
    let hook = home.command(&["hook", "pre-tool-use", "--host", host]);
    let output = run(hook, payload.to_string().as_bytes());
    assert_eq!(
        (output.status.code(), text(&output.stderr).as_str()),
        (Some(0), "")
    );
    serde_json::from_slice(output.stdout.trim_ascii()).unwrap_or_default()
}

#[test]
fn other_hosts_are_told_in_their_format() {
    let home = past();
    let command = "pytest -x tests/db";
    let codex = before_on(&home, "codex", "s1", command);
    assert_eq!(codex["hookSpecificOutput"]["hookEventName"], "PreToolUse");
    let told = codex["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(told.contains("`uv run pytest tests/api` worked here"), "{told}");
    assert_eq!(before_on(&home, "codex", "s1", command), Value::Null, "once");
    let copilot = before_on(&home, "copilot-cli", "s2", command);
    assert_eq!(copilot["additionalContext"], told);
    assert_eq!(copilot.as_object().unwrap().len(), 1, "{copilot}");
    // These hosts accept no text before a command.
    for host in ["gemini-cli", "opencode"] {
        assert_eq!(before_on(&home, host, "s3", command), Value::Null, "{host}");
    }
}

#[test]
fn a_host_that_cannot_ask_warns_once() {
    let home = Home::new().with("BACKSTORY_RECALL_GUARD", "ask");
    turn(
        &home,
        "old",
        "Never push to main. Fix the typo.",
        &[("git status", None)],
    );
    let command = "git push origin main";
    for _ in 0..2 {
        let copilot = before_on(&home, "copilot-cli", "s1", command);
        assert_eq!(copilot["permissionDecision"], "ask");
        assert!(copilot["additionalContext"].is_string(), "{copilot}");
    }
    let codex = before_on(&home, "codex", "s2", command);
    assert!(
        codex["hookSpecificOutput"]["permissionDecision"].is_null(),
        "{codex}"
    );
    assert!(
        codex["hookSpecificOutput"]["additionalContext"].is_string(),
        "{codex}"
    );
    assert_eq!(before_on(&home, "codex", "s2", command), Value::Null);
}

#[test]
fn only_the_user_can_make_the_client_ask() {
    let home = Home::new().with("BACKSTORY_RECALL_GUARD", "ask");
    home.ok(&[
        "remember",
        "--pin",
        "Don't use npm here, the lock file is pnpm's.",
    ]);
    let answer = before(&home, "s1", "npm install left-pad").unwrap();
    assert_eq!(answer["permissionDecision"], "ask");
    let reason = answer["permissionDecisionReason"].as_str().unwrap();
    assert!(
        reason.starts_with("backstory: your pinned note #N1: “Don't use npm here"),
        "{reason}"
    );
    assert_eq!(before(&home, "s1", "pnpm install"), None);

    // The agent's words and a tool's output rule nothing out, and a failure only warns.
    turn(
        &home,
        "old",
        "Look at the build",
        &[
            ("yarn build", Some("yarn: command not found")),
            ("pnpm build", None),
        ],
    );
    home.report(
        "stop",
        &json!({"session_id": "old", "prompt_id": "old", "last_assistant_message": "Never use cargo here. Never push to main."}),
    );
    home.drain();
    home.ok(&["remember", "Never use make here."]);
    for command in ["cargo build", "git push origin main", "make"] {
        assert_eq!(before(&home, "s2", command), None, "{command}");
    }
    let answer = before(&home, "s2", "yarn build").unwrap();
    assert_eq!(answer["permissionDecision"], Value::Null);
    assert!(
        answer["additionalContext"]
            .as_str()
            .unwrap()
            .contains("`pnpm build` worked here")
    );
}

#[test]
fn a_forgotten_turn_leaves_no_lesson_and_no_rule() {
    let home = past();
    turn(
        &home,
        "rule",
        "Never push to main. Fix the typo.",
        &[("git status", None)],
    );
    assert!(before(&home, "s1", "gh pr diff 1 --stat").is_some());
    home.ok(&["forget", "--session", "old", "--yes"]);
    home.ok(&["forget", "--session", "rule", "--yes"]);
    assert_eq!(before(&home, "s2", "gh pr diff 1 --stat"), None);
    assert_eq!(before(&home, "s2", "git push origin main"), None);
    home.assert_nowhere("--name-only");
}
