//! Every hook with payloads of a real agent, and with invalid ones.

use std::{collections::BTreeMap, fs};

use serde_json::{Value, json};

use crate::home::{DEFAULT_OUTPUT, Home, recorded, run, settings, text};

/// Hooks, their aliases, and their output.
const HOOKS: [(&str, &[&str], &str); 9] = [
    ("session-start", &["context", "SessionStart"], ""),
    ("user-prompt-submit", &["new", "UserPromptSubmit"], ""),
    ("pre-tool-use", &["file-context", "PreToolUse"], ""),
    ("post-tool-use", &["save", "PostToolUse"], DEFAULT_OUTPUT),
    ("post-tool-use-failure", &["PostToolUseFailure"], DEFAULT_OUTPUT),
    ("stop", &["summary", "Stop"], DEFAULT_OUTPUT),
    ("subagent-stop", &["SubagentStop"], DEFAULT_OUTPUT),
    ("pre-compact", &["PreCompact"], DEFAULT_OUTPUT),
    ("session-end", &["cleanup", "SessionEnd"], DEFAULT_OUTPUT),
];

#[test]
fn every_recorded_payload_goes_through_the_hook_it_was_recorded_from() {
    let home = Home::new();
    let mut outcomes = BTreeMap::new();
    for (name, payload) in recorded() {
        let event = name.split('.').next().unwrap().to_owned();
        let before = home.spooled().len();
        let unknown = home.lost("unknown_event");
        let printed = home.hook(&event, payload.as_bytes());
        let outcome = match home.spooled().len() - before {
            1 => "recorded",
            _ if home.lost("unknown_event") > unknown => "unknown event, counted",
            _ => "nothing to record",
        };
        let prints = HOOKS
            .iter()
            .find(|(_, aliases, _)| aliases.contains(&event.as_str()));
        assert_eq!(printed, prints.map_or("", |(_, _, prints)| prints), "{name}");
        outcomes.insert(name, outcome);
    }
    let listing: String = outcomes
        .iter()
        .map(|(name, outcome)| format!("{name:<44} {outcome}\n"))
        .collect();
    let queue = home.json(&["queue", "--json", "--limit", "1000"]);
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    for item in queue["items"].as_array().unwrap() {
        *kinds
            .entry(item["kind"].as_str().unwrap().to_owned())
            .or_default() += 1;
    }
    let recorded = outcomes
        .values()
        .filter(|outcome| **outcome == "recorded")
        .count();
    assert_eq!(queue["pending"], recorded);
    settings().bind(|| insta::assert_snapshot!("recorded_payloads", format!("{listing}\n{kinds:#?}")));
}

#[test]
fn every_alias_works_like_its_event() {
    for (event, aliases, prints) in HOOKS {
        for name in aliases.iter().chain([&event]) {
            let home = Home::new();
            assert_eq!(home.report(name, &json!({})), prints, "{name}");
            let recorded = home.spooled();
            assert_eq!(recorded.len(), usize::from(event != "pre-tool-use"), "{name}");
            assert!(
                recorded
                    .iter()
                    .all(|path| path.to_string_lossy().ends_with(event)),
                "{name}"
            );
        }
    }
}

#[test]
fn bad_input_is_counted_and_never_fails() {
    let long = "x".repeat(600);
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("nothing", b"".to_vec(), "unreadable"),
        ("blank", b" \n\n".to_vec(), "unreadable"),
        (
            "half a JSON",
            br#"{"session_id":"s1","prompt":"hel"#.to_vec(),
            "unreadable",
        ),
        ("no object", b"[1,2,3]".to_vec(), "unreadable"),
        ("text", b"hello there".to_vec(), "unreadable"),
        (
            "two objects",
            br#"{"session_id":"s1"}{"session_id":"s1"}"#.to_vec(),
            "unreadable",
        ),
        ("zeroes", vec![0; 100], "unreadable"),
        ("no session", b"{}".to_vec(), "no_session"),
        ("blank session", br#"{"session_id":"  "}"#.to_vec(), "no_session"),
        (
            "long session",
            format!(r#"{{"session_id":"{long}"}}"#).into_bytes(),
            "no_session",
        ),
        (
            "session of another type",
            br#"{"session_id":{"a":["b"]}}"#.to_vec(),
            "no_session",
        ),
        (
            "session with a line break",
            br#"{"session_id":"a\nb"}"#.to_vec(),
            "no_session",
        ),
    ];
    for (name, input, reason) in cases {
        for (event, _, prints) in HOOKS.iter().filter(|(event, ..)| *event != "pre-tool-use") {
            let home = Home::new();
            assert_eq!(home.hook(event, &input), *prints, "{name}");
            assert_eq!(home.lost(reason), 1, "{event}: {name}");
            assert!(home.spooled().is_empty(), "{name}");
            let log = fs::read_to_string(home.path().join("logs/hook.log")).unwrap();
            assert!(
                log.contains(&format!("{} bytes", input.len())) && !log.contains("hel"),
                "{log}"
            );
        }
    }
}

#[test]
fn odd_input_that_is_json_is_recorded() {
    let cases: Vec<(&str, Vec<u8>)> = vec![
        (
            "not UTF-8",
            b"{\"session_id\":\"s1\",\"prompt\":\"a\xff\xfeb\"}".to_vec(),
        ),
        (
            "half an emoji",
            br#"{"session_id":"s1","prompt":"cut \ud83d"}"#.to_vec(),
        ),
        ("byte order mark", b"\xef\xbb\xbf{\"session_id\":\"s1\"}".to_vec()),
        (
            "pretty",
            b"{\n  \"session_id\": \"s1\",\n  \"prompt\": \"x\"\n}\n".to_vec(),
        ),
        ("twice", br#"{"session_id":"s0","session_id":"s1"}"#.to_vec()),
        (
            "deep",
            format!(
                r#"{{"session_id":"s1","tool_input":{}1{}}}"#,
                "[".repeat(100_000),
                "]".repeat(100_000)
            )
            .into(),
        ),
        (
            "wide",
            format!(
                r#"{{"session_id":"s1","tool_input":[{}1]}}"#,
                "1,".repeat(500_000)
            )
            .into(),
        ),
        (
            "long key",
            format!(r#"{{"session_id":"s1","{}":1}}"#, "k".repeat(300_000)).into(),
        ),
    ];
    for (name, input) in cases {
        let home = Home::new();
        assert_eq!(home.hook("user-prompt-submit", &input), "");
        assert_eq!(home.spooled().len(), 1, "{name}");
        home.drain();
        assert_eq!(home.json(&["session", "s1", "--json"])["prompts"], 1, "{name}");
    }
}

#[test]
fn every_field_may_have_any_type() {
    let values = [
        json!(null),
        json!(true),
        json!(-1.5e300),
        json!("x"),
        json!([]),
        json!([{"a": null}]),
        json!({"b": {}}),
    ];
    let fields = [
        "cwd",
        "prompt",
        "prompt_id",
        "transcript_path",
        "tool_name",
        "tool_input",
        "tool_response",
        "error",
        "tool_use_id",
        "agent_id",
        "agent_type",
        "last_assistant_message",
        "source",
        "reason",
        "model",
        "duration_ms",
        "background_tasks",
        "hook_event_name",
        "custom_instructions",
    ];
    let home = Home::new();
    for (event, _, prints) in HOOKS.iter().filter(|(event, ..)| *event != "pre-tool-use") {
        for value in &values {
            let mut payload = json!({"session_id": "s1"});
            for field in fields {
                payload[field] = value.clone();
            }
            assert_eq!(home.hook(event, payload.to_string().as_bytes()), *prints);
        }
    }
    assert_eq!(home.spooled().len(), 8 * values.len());
    home.drain();
    assert_eq!(home.events(), 8 * values.len() as u64);
    assert_eq!(home.json(&["queue", "--json"])["failed"], 0);
}

#[test]
fn twenty_megabytes_are_trimmed_and_keep_head_and_tail() {
    let home = Home::new();
    let stdout = format!(
        "FIRST line\n{}LAST line",
        "some output of a build\n".repeat(900_000)
    );
    home.report(
        "post-tool-use",
        &json!({"tool_name": "Bash", "tool_response": {"stdout": stdout}}),
    );
    let spooled = home.spooled_text();
    assert!(spooled.len() < 256 * 1024, "{}", spooled.len());
    assert!(spooled.contains("FIRST line") && spooled.contains("LAST line"));
}

#[test]
fn an_unknown_event_is_counted_and_ignored() {
    let home = Home::new();
    for event in [
        "",
        "no-such-event",
        "PostCompact",
        "../../etc/passwd",
        "--help-me",
    ] {
        assert_eq!(home.hook(event, br#"{"session_id":"s1"}"#), "");
    }
    assert_eq!(home.lost("unknown_event"), 5);
    assert!(home.spooled().is_empty());
    let no_event = home.run(&["hook"], b"{}");
    assert!(no_event.status.success() && no_event.stdout.is_empty() && no_event.stderr.is_empty());
}

#[test]
fn a_panic_exits_0_with_the_default_output() {
    let home = Home::new().with("BACKSTORY_TEST_PANIC", "1");
    let output = home.run(&["hook", "post-tool-use"], br#"{"session_id":"s1"}"#);
    assert_eq!(
        (output.status.code(), text(&output.stdout), text(&output.stderr)),
        (Some(0), String::new(), String::new())
    );
    let loud = home
        .with("BACKSTORY_DEBUG", "1")
        .run(&["hook", "post-tool-use"], br#"{"session_id":"s1"}"#);
    assert_eq!(loud.status.code(), Some(0));
    assert!(text(&loud.stderr).contains("panic"));
}

#[test]
fn a_hook_with_a_read_only_home_still_exits_0() {
    let home = Home::new();
    let file = home.outside().join("a-file");
    fs::File::create(&file).unwrap();
    for place in [file.to_str().unwrap(), "/proc/nowhere", "/dev/null/x"] {
        let home = Home::new().with("BACKSTORY_HOME", place);
        assert_eq!(home.report("stop", &json!({})), DEFAULT_OUTPUT, "{place}");
    }
    let mut command = home.command(&["hook", "stop"]);
    command.env_remove("HOME");
    assert!(run(command, br#"{"session_id":"s1"}"#).status.success());
}

#[test]
fn debug_prints_the_outcome_of_an_event() {
    let home = Home::new().with("BACKSTORY_DEBUG", "1");
    let said = |event: &str, payload: &Value| {
        text(&home.run(&["hook", event], payload.to_string().as_bytes()).stderr)
    };
    assert!(said("stop", &json!({"session_id": "s1"})).starts_with("backstory: recorded as 0"));
    assert_eq!(
        said("stop", &json!({})),
        "backstory: not recorded: stop of 2 bytes names no session\n"
    );
    assert_eq!(
        said("nope", &json!({})),
        "backstory: not recorded: unknown event `nope`\n"
    );
}

#[test]
fn long_files_are_stored_once_and_the_original_of_an_edit_not_at_all() {
    let home = Home::new();
    let content = "a line of the file\n".repeat(50);
    let before = "the file before\n".repeat(50);
    home.report("post-tool-use", &json!({"tool_name": "Write", "tool_input": {"file_path": "/w/a", "content": content},
        "tool_response": {"type": "update", "content": content, "originalFile": before, "structuredPatch": []}}));
    let spooled = home.spooled_text();
    assert_eq!(spooled.matches("a line of the file").count(), 50);
    assert!(!spooled.contains("the file before"));
}

#[test]
fn a_file_read_again_unchanged_is_stored_once() {
    let home = Home::new();
    let read = |content: &str| {
        let response = json!({"type": "text", "file": {"filePath": "/w/a", "content": content}});
        home.report(
            "post-tool-use",
            &json!({"tool_name": "Read", "tool_input": {"file_path": "/w/a"}, "tool_response": response}),
        );
    };
    let version = |name: &str| -> String {
        (0..200)
            .map(|n| format!("{} {name} {}\n", n * 7919, n * n))
            .collect()
    };
    read(&version("first"));
    read(&version("first"));
    read(&version("second"));
    home.drain();
    // Payloads are stored packed.
    let sizes: Vec<usize> = home
        .rows("select cast(length(payload) + coalesce(length(packed), 0) as text) from event order by key")
        .iter()
        .map(|size| size.parse().unwrap())
        .collect();
    assert!(sizes[1] * 2 < sizes[0] && sizes[1] * 2 < sizes[2], "{sizes:?}");
}

#[test]
fn sub_agents_are_recorded_separately() {
    let home = Home::new();
    home.report("user-prompt-submit", &json!({"prompt": "go"}));
    home.report("post-tool-use", &json!({"tool_name": "Bash"}));
    home.report(
        "post-tool-use",
        &json!({"tool_name": "Bash", "agent_id": "a1", "agent_type": "Explore"}),
    );
    home.report("subagent-stop", &json!({"agent_id": "a2", "agent_type": ""}));
    let turn = &home.json(&["session", "s1", "--json"])["turns"][0];
    assert_eq!((&turn["tools"], &turn["subagent_tools"]), (&json!(1), &json!(1)));
    assert_eq!(home.json(&["queue", "--json"])["pending"], 3);
}
