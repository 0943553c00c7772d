//! Recorded sessions in which single values were replaced: no reader may panic, and the rest of the session is read.

use std::{
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
};

use backstory_capture::filter::CaptureSettings;
use serde_json::{Value, json};

use super::{OpenCodePart, read_history, read_opencode};
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
