//! Secrets that one string of an event announces and another holds.

use backstory_model::EventKind;
use serde_json::{Value, json};

use crate::{
    filter::{CaptureDecision, CaptureSettings, filter_payload},
    hook_payload::HookPayload,
    seen_secrets::SeenSecrets,
};

fn captured(payload: &Value) -> String {
    let settings = CaptureSettings {
        skip_tools: Vec::new(),
        redact: true,
        max_payload: 256 * 1024,
    };
    let text = payload.to_string();
    match filter_payload(
        EventKind::PostToolUse,
        &HookPayload::read(&text).unwrap(),
        &settings,
        &mut SeenSecrets::default(),
    ) {
        CaptureDecision::Event(json) => {
            serde_json::from_str::<Value>(&json).unwrap_or_else(|error| panic!("{error}: {json}"));
            json
        }
        other => panic!("{other:?}"),
    }
}

/// Twelve lines of a private key, as openssl writes them; the last is short.
fn key_lines() -> Vec<String> {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut state = 7_u32;
    let mut line = |length: usize| -> String {
        (0..length)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                char::from(alphabet[(state >> 24) as usize % 64])
            })
            .collect()
    };
    let mut lines: Vec<String> = (0..11).map(|_| line(64)).collect();
    lines.push(format!("{}==", line(10)));
    lines
}

fn whole_key(label: &str) -> Vec<String> {
    let mut lines = vec![format!("-----BEGIN {label}-----")];
    lines.extend(key_lines());
    lines.push(format!("-----END {label}-----"));
    lines
}

fn assert_no_key_line(json: &str) {
    for line in key_lines() {
        assert!(!json.contains(&line), "{line} is left in {json}");
    }
}

/// The payload of Claude Code's Edit, with the lines of the patch.
fn edit(path: &str, lines: &[String]) -> Value {
    json!({"tool_name": "Edit", "tool_input": {"file_path": path, "old_string": "a", "new_string": "b", "replace_all": false},
        "tool_response": {"filePath": path, "oldString": "a", "newString": "b", "originalFile": "a\n",
            "structuredPatch": [{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 14, "lines": lines}],
            "userModified": false, "replaceAll": false}, "duration_ms": 6})
}

#[test]
fn a_private_key_in_the_lines_of_a_patch_is_redacted() {
    for label in [
        "PRIVATE KEY",
        "RSA PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
        "PGP PRIVATE KEY BLOCK",
    ] {
        for sign in ["+", "-", " "] {
            let mut lines = vec![" before".to_owned()];
            lines.extend(whole_key(label).iter().map(|line| format!("{sign}{line}")));
            lines.push(" after".to_owned());
            let json = captured(&edit("/w/deploy.txt", &lines));
            assert_no_key_line(&json);
            assert!(json.contains(" before") && json.contains(" after"), "{json}");
            assert!(
                json.contains(&format!("\"{sign}[redacted:private-key]\"")),
                "{json}"
            );
        }
    }
}

#[test]
fn a_private_key_in_text_blocks_is_redacted() {
    let blocks: Vec<Value> = whole_key("EC PRIVATE KEY")
        .iter()
        .map(|line| json!({"type": "text", "text": line}))
        .collect();
    let payload =
        json!({"tool_name": "mcp__files__read", "tool_input": {"query": "auth"}, "tool_response": blocks});
    let json = captured(&payload);
    assert_no_key_line(&json);
    assert!(
        json.contains(r#""query":"auth""#) && json.contains(r#""type":"text""#),
        "{json}"
    );

    // Half of the key in one block, the rest in the next, and text after it.
    let lines = whole_key("PRIVATE KEY");
    let (first, second) = lines.split_at(6);
    let json = captured(
        &json!({"tool_response": [{"type": "text", "text": first.join("\n")},
        {"type": "text", "text": format!("{}\nplain text", second.join("\n"))}]}),
    );
    assert_no_key_line(&json);
    assert!(json.contains("plain text"), "{json}");
}

#[test]
fn a_private_key_in_a_notebook_or_a_numbered_list_is_redacted() {
    let source: Vec<String> = whole_key("PRIVATE KEY")
        .iter()
        .map(|line| format!("{line}\n"))
        .collect();
    assert_no_key_line(&captured(
        &json!({"tool_response": {"cells": [{"cell_type": "code", "source": source}]}}),
    ));
    let matches: Vec<Value> = whole_key("PRIVATE KEY")
        .iter()
        .enumerate()
        .map(|(line, text)| json!({"line": line, "content": text}))
        .collect();
    assert_no_key_line(&captured(&json!({"tool_response": {"matches": matches}})));
}

#[test]
fn part_of_a_key_file_is_redacted_without_its_first_and_last_line() {
    for path in [
        "/w/server.pem",
        "/w/tls.key",
        "/w/AuthKey.p8",
        "/w/me.asc",
        "/w/x.p12",
        "/w/y.jks",
    ] {
        let lines: Vec<String> = key_lines().iter().map(|line| format!(" {line}")).collect();
        assert_no_key_line(&captured(&edit(path, &lines)));
        let stdout = key_lines().join("\n");
        let command = format!("sed -n 2,13p {path}");
        assert_no_key_line(&captured(
            &json!({"tool_input": {"command": command}, "tool_response": {"stdout": stdout}}),
        ));
    }
}

#[test]
fn a_value_after_its_name_in_an_array_is_redacted() {
    for arguments in [
        json!(["--password", "quiet otter 7"]),
        json!(["tool", "--db-password", "quiet-otter-7", "-v"]),
        json!(["curl", "-s", "-u", "me:quiet-otter-7", "https://a.b"]),
        json!(["mysql", "-pquiet-otter-7", "db"]),
        json!(["run", "-e", "DB_PASSWORD=quiet-otter-7"]),
    ] {
        let json = captured(&json!({"tool_input": {"command": "tool", "args": arguments}}));
        assert!(!json.contains("otter"), "{json}");
    }
}

#[test]
fn a_value_beside_its_name_is_redacted() {
    for object in [
        json!({"name": "DB_PASSWORD", "value": "quiet-otter"}),
        json!({"key": "db.password", "type": "String", "value": "quiet-otter"}),
        json!({"value": "quiet-otter", "secure": true, "name": "DB_PASSWORD"}),
        json!({"name": "admin_password", "value": 1234567}),
        json!({"header": "X-Api-Key", "value": "0f8Hq2Lz7Vx1Pm5Rt9Yw"}),
    ] {
        let json = captured(&json!({"tool_input": {"env": [object]}}));
        assert!(
            !json.contains("otter") && !json.contains("1234567") && !json.contains("0f8Hq2Lz"),
            "{json}"
        );
    }
    let kept = json!({"tool_input": {"env": [{"name": "LOG_LEVEL", "value": "quiet-otter"}]}});
    assert!(captured(&kept).contains("quiet-otter"));
}

#[test]
fn a_column_of_secrets_is_redacted() {
    let rows = json!([[1, "ann", "quiet-otter"], [2, null, "loud-otter-2"]]);
    for table in [
        json!({"columns": ["id", "name", "password"], "rows": rows}),
        json!({"fields": [{"name": "id", "type": 23}, {"name": "name"}, {"name": "password"}], "rows": rows}),
        json!([["id", "name", "password"], ["1", "ann", "quiet-otter"]]),
    ] {
        let json = captured(&json!({"tool_response": table}));
        assert!(!json.contains("otter") && json.contains("ann"), "{json}");
    }
}

#[test]
fn a_setting_over_two_lines_of_a_patch_is_redacted() {
    let lines = ["+  - name: DB_PASSWORD", "+    value: quiet-otter-7", " host: x"];
    let json = captured(&edit("/w/deploy.yaml", &lines.map(str::to_owned)));
    assert!(!json.contains("otter") && json.contains("host: x"), "{json}");
}

#[test]
fn lists_without_secrets_are_unchanged() {
    for list in [
        json!(["--verbose", "-p", "8080", "file.txt"]),
        json!([" def add(a, b):", "-    return a + b", "+    return b + a"]),
        json!(["username", "password", "email"]),
        json!(["grep", "-n", "-----BEGIN RSA PRIVATE KEY-----", "src/main.rs"]),
        json!([{"name": "resetPassword", "text": "function resetPassword() { return 1; }"}]),
        json!([["a", "b"], ["c", "d"]]),
    ] {
        let payload = json!({"tool_input": {"list": list}});
        assert_eq!(
            serde_json::from_str::<Value>(&captured(&payload)).unwrap(),
            payload
        );
    }
}

#[test]
fn an_event_of_a_megabyte_is_sanitized_in_linear_time() {
    let repeated = |piece: &str| piece.repeat(1_000_000 / piece.len());
    let list = |piece: Value| vec![piece.clone(); 1_000_000 / piece.to_string().len()];
    let key = key_lines().remove(0);
    let events = [
        json!(repeated("\u{1b}[32mpassword\u{1b}[0m=")),
        json!(repeated("&quot;password&quot;:&quot;")),
        json!(repeated(&format!("-----BEGIN PRIVATE KEY-----\n{key}\n"))),
        json!(repeated(&format!("{key}\n-----END PRIVATE KEY-----\n"))),
        json!(list(json!("-----BEGIN PRIVATE KEY-----"))),
        json!(list(json!(key))),
        json!(list(json!("--password"))),
        json!(list(json!({"name": "password", "value": "quiet-otter"}))),
        json!(list(json!({"value": "quiet-otter", "name": "password"}))),
        json!(list(json!(["password", "quiet-otter"]))),
        json!(list(
            json!({"type": "text", "text": "-----BEGIN PRIVATE KEY-----"})
        )),
        json!({"columns": list(json!("password")), "rows": [list(json!("x"))]}),
    ];
    let start = std::time::Instant::now();
    for event in &events {
        captured(&json!({"tool_response": event}));
    }
    // Twelve megabytes, without optimization. Reading a text once per piece would take minutes.
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}
