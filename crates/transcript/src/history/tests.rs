//! Recorded sessions in which single values were replaced: no reader may panic, and the rest of the session is read.

use std::{
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
};

use backstory_capture::filter::CaptureSettings;
use serde_json::{Value, json};

use super::{
    CursorChatRoot, CursorComposer, CursorConversation, OpenCodePart, path_of_uri, read_cursor_chat,
    read_cursor_composer, read_history, read_opencode,
};
use crate::{
    host::TranscriptHost,
    record::{History, RecordKind},
};

fn settings() -> CaptureSettings {
    CaptureSettings {
        skip_tools: Vec::new(),
        redact: true,
        max_payload: 1 << 20,
    }
}

/// Finds the recorded sessions of a host, the longest first.
fn recorded(host: TranscriptHost, folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../testdata")
        .join(folder);
    let found = super::sessions(host, &folder).unwrap();
    let mut sessions = found.transcripts;
    assert_eq!(sessions.len(), 2, "{folder:?}");
    sessions.sort_by_key(|session| std::cmp::Reverse(session.size));
    sessions.into_iter().map(|session| session.path).collect()
}

/// Calls a function with every value that differs from the given one in one place.
fn each_mutation(value: &Value, visit: &mut dyn FnMut(&Value)) {
    fn paths(value: &Value, path: &str, found: &mut Vec<String>) {
        found.push(path.to_owned());
        match value {
            Value::Object(fields) => {
                for (name, inner) in fields {
                    let name = name.replace('~', "~0").replace('/', "~1");
                    paths(inner, &format!("{path}/{name}"), found);
                }
            }
            Value::Array(items) => {
                for (index, inner) in items.iter().enumerate() {
                    paths(inner, &format!("{path}/{index}"), found);
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    paths(value, "", &mut found);
    for path in found {
        for other in [json!(null), json!(-7), json!("\u{1f980} {"), json!([]), json!({})] {
            let mut changed = value.clone();
            if let Some(place) = changed.pointer_mut(&path) {
                *place = other;
            }
            visit(&changed);
        }
    }
}

fn prompts(history: &History) -> usize {
    let is_prompt = |kind: &RecordKind| matches!(kind, RecordKind::Prompt { .. });
    history
        .records
        .iter()
        .filter(|record| is_prompt(&record.kind))
        .count()
}

#[test]
fn no_value_of_another_type_stops_a_reader() {
    let folder = tempfile::tempdir().unwrap();
    for (host, from) in [
        (TranscriptHost::Codex, "codex/0.166/sessions"),
        (TranscriptHost::GeminiCli, "gemini-cli/0.61/sessions"),
        (TranscriptHost::CopilotCli, "copilot-cli/1.0.102/sessions"),
    ] {
        let session = &recorded(host, from)[0];
        assert_eq!(prompts(&read_history(host, session, &settings()).unwrap()), 1);
        let path = folder.path().join("session.jsonl");
        let prompt = fs::read_to_string(&recorded(host, from)[1]).unwrap();
        for line in fs::read_to_string(session).unwrap().lines() {
            // All variants of a line in one file, before a session with one prompt.
            let mut text = String::new();
            each_mutation(&serde_json::from_str(line).unwrap(), &mut |changed| {
                text.push_str(&format!("{changed}\n"));
            });
            text.push_str(&prompt);
            File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
            let history = read_history(host, &path, &settings()).unwrap();
            assert!(prompts(&history) >= 1, "{host:?}: {line}");
        }
    }
}

#[test]
fn no_value_of_another_type_stops_the_reader_of_parts() {
    let part = |role: &str, content: &Value| OpenCodePart {
        id: "prt_1".to_owned(),
        message_id: "msg_1".to_owned(),
        created_ms: 1_794_864_805_588,
        message: json!({"role": role}).to_string(),
        part: content.to_string(),
    };
    let tool = json!({"type": "tool", "tool": "bash", "callID": "c1", "state": {"status": "completed",
        "input": {"command": "make"}, "output": "ok", "metadata": {"exit": 1}, "time": {"end": 1_794_864_805_600_i64}}});
    each_mutation(&tool, &mut |changed| {
        let parts = [
            part("user", &json!({"type": "text", "text": "Build it"})),
            part("assistant", changed),
        ];
        let history = read_opencode("/w", &parts, &settings());
        assert_eq!(prompts(&history), 1, "{changed}");
    });
    let damaged = OpenCodePart {
        part: "{".to_owned(),
        ..part("user", &json!({}))
    };
    let skipped = read_opencode("/w", &[damaged], &settings()).skipped;
    assert_eq!((skipped.damaged, skipped.damaged_lines), (1, vec![1]));
}

/// A chat of Cursor's editor: its description and its bubbles.
fn cursor_chat() -> (Value, Vec<Value>) {
    let call = json!({"toolCallId": "c1", "name": "run_terminal_cmd", "status": "completed",
        "rawArgs": "{\"command\":\"make\"}", "result": "{\"output\":\"no rule\",\"exitCode\":2}"});
    let edit = json!({"toolCallId": "c2", "name": "edit_file_v2", "status": "completed", "params":
        {"relativeWorkspacePath": "a.rs"}, "result": {"diff": {"chunks": [{"diffString": "-a\n+b"}]}}});
    let bubbles = vec![
        json!({"bubbleId": "b1", "type": 1, "text": "Repair it", "createdAt": 1_000}),
        json!({"bubbleId": "b2", "type": 2, "text": "", "toolFormerData": call}),
        json!({"bubbleId": "b3", "type": 2, "text": "", "toolFormerData": edit}),
        json!({"bubbleId": "b4", "type": 2, "text": "Repaired."}),
    ];
    let headers: Vec<Value> = bubbles
        .iter()
        .map(|bubble| json!({"bubbleId": bubble["bubbleId"]}))
        .collect();
    (
        json!({"createdAt": 900, "fullConversationHeadersOnly": headers}),
        bubbles,
    )
}

fn read_bubbles(description: &Value, bubbles: &[Value]) -> History {
    let bubbles: Vec<(String, Vec<u8>)> = bubbles
        .iter()
        .zip(1..)
        .map(|(bubble, number)| (format!("bubbleId:c:b{number}"), bubble.to_string().into_bytes()))
        .collect();
    let composer = CursorComposer {
        folder: Some("/home/dev/acme"),
        description,
        bubbles: &bubbles,
    };
    read_cursor_composer(&composer, &settings())
}

#[test]
fn no_value_of_another_type_stops_the_reader_of_cursor() {
    let (description, bubbles) = cursor_chat();
    let whole = read_bubbles(&description, &bubbles);
    assert_eq!(prompts(&whole), 1);
    assert_eq!(whole.skipped.damaged, 0);
    each_mutation(&description, &mut |changed| {
        read_bubbles(changed, &bubbles);
    });
    for (index, bubble) in bubbles.iter().enumerate() {
        each_mutation(bubble, &mut |changed| {
            let mut bubbles = bubbles.clone();
            bubbles[index] = changed.clone();
            read_bubbles(&description, &bubbles);
        });
    }
    // The same bubbles inside the description, as older versions store them.
    let inline = json!({"createdAt": 900, "conversation": bubbles});
    assert_eq!(read_bubbles(&inline, &[]).records.len(), whole.records.len());
}

#[test]
fn a_bubble_without_a_time_follows_the_one_before() {
    let (description, bubbles) = cursor_chat();
    let times: Vec<i64> = read_bubbles(&description, &bubbles)
        .records
        .iter()
        .filter(|record| !matches!(record.kind, RecordKind::Facts(_)))
        .map(|record| record.at.as_millis())
        .collect();
    assert_eq!(times, [1_000, 1_001, 1_001, 1_002, 1_002, 1_003]);
}

#[test]
fn messages_of_cursors_command_line_agent_are_found_in_any_bytes() {
    let id = [7_u8; 32];
    let root = [&[0x0a, 0x20][..], &id, &[0x10, 0x96, 0x01, 0x4a, 0x02], b"/w"].concat();
    let expected = CursorChatRoot {
        messages: vec!["07".repeat(32)],
        folder: Some("/w".to_owned()),
    };
    assert_eq!(CursorChatRoot::read(&root), expected);
    for end in 0..root.len() {
        CursorChatRoot::read(&root[..end]);
        let mut damaged = root.clone();
        damaged[end] ^= 0xff;
        CursorChatRoot::read(&damaged);
    }
    let message =
        json!({"role": "user", "content": [{"type": "text", "text": "<user_query>Repair it</user_query>"}]});
    each_mutation(&message, &mut |changed| {
        let messages = [
            ("a".to_owned(), Some(changed.to_string().into_bytes())),
            ("b".to_owned(), None),
        ];
        let chat = CursorConversation {
            folder: None,
            description: changed,
            messages: &messages,
        };
        let read = read_cursor_chat(&chat, &settings());
        assert!(read.skipped.damaged_keys.contains(&"b".to_owned()));
    });
}

#[test]
fn addresses_of_folders_become_paths() {
    for (uri, path) in [
        ("file:///home/dev/a%20b", Some("/home/dev/a b")),
        ("file:///c%3A/work", Some("c:/work")),
        ("/home/dev", Some("/home/dev")),
        ("file:///100%", Some("/100%")),
        ("vscode-remote://ssh/home", None),
    ] {
        assert_eq!(path_of_uri(uri).as_deref(), path, "{uri}");
    }
}
