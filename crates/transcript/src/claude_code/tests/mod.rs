//! Helpers that render the records of a transcript as text, one line each.

mod damage;
mod messages;
mod privacy;
mod properties;
mod recorded;
mod sources;

use serde_json::{Value, json};

use crate::{Position, Reader, Record, RecordKind, SessionFacts, Skipped, TranscriptOwner};
use backstory_capture::filter::CaptureSettings;

fn settings() -> CaptureSettings {
    CaptureSettings {
        skip_tools: vec!["Skill".into(), "TodoWrite".into()],
        redact: true,
        max_payload: 256 * 1024,
    }
}

/// Reads a whole file without a known owner.
fn read(bytes: &[u8]) -> (Vec<Record>, Skipped) {
    read_as(bytes, &TranscriptOwner::default())
}

fn read_as(bytes: &[u8], owner: &TranscriptOwner) -> (Vec<Record>, Skipped) {
    let mut reader = Reader::new(bytes, Position::default(), owner.clone(), &settings());
    let records = reader.by_ref().collect();
    (records, reader.skipped().clone())
}

/// Reads lines and renders their records.
fn rendered(lines: &[Value]) -> String {
    shown(&read(&file(lines)).0)
}

fn file(lines: &[Value]) -> Vec<u8> {
    lines
        .iter()
        .map(|line| format!("{line}\n"))
        .collect::<String>()
        .into_bytes()
}

fn shown(records: &[Record]) -> String {
    let lines: Vec<String> = records.iter().map(show).collect();
    lines.join("\n")
}

fn show(record: &Record) -> String {
    let content = match &record.kind {
        RecordKind::Prompt {
            text, machine_made, ..
        } => format!("{} {text}", if *machine_made { "notice" } else { "prompt" }),
        RecordKind::Prose { text, .. } => format!("prose {text}"),
        RecordKind::ToolUse { id, name, input } => format!("use {id} {name} {input}"),
        RecordKind::ToolResult {
            id,
            is_error,
            text,
            result,
        } => {
            let state = if *is_error { "error" } else { "ok" };
            let text = text.as_deref().unwrap_or("-");
            format!(
                "result {id} {state} {text} | {}",
                result.as_deref().unwrap_or("-")
            )
        }
        RecordKind::QueuedMessage { text } => format!("queued {text}"),
        RecordKind::Compaction { summary } => format!("compaction {summary}"),
        RecordKind::Interrupted => "interrupted".to_owned(),
        RecordKind::Facts(facts) => show_facts(facts),
    };
    let agent = record
        .agent_id
        .as_ref()
        .map(|id| format!("({id}) "))
        .unwrap_or_default();
    let copied = if record.copied { "copied " } else { "" };
    format!("{agent}{copied}{}", content.replace('\n', "⏎"))
}

fn show_facts(facts: &SessionFacts) -> String {
    let fields = [
        &facts.session_id,
        &facts.cwd,
        &facts.git_branch,
        &facts.version,
        &facts.model,
        &facts.title,
    ];
    let fields: Vec<&str> = fields
        .iter()
        .map(|field| field.as_deref().unwrap_or("-"))
        .collect();
    format!("facts {}", fields.join(" "))
}

/// Returns a line with a text or blocks of the user.
fn user(content: impl Into<Value>) -> Value {
    json!({"type": "user", "message": {"role": "user", "content": content.into()}})
}

/// Returns a line of an assistant's message.
fn assistant(message_id: &str, blocks: &[Value]) -> Value {
    json!({"type": "assistant", "message": {"id": message_id, "role": "assistant", "content": blocks}})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn tool_use(id: &str, name: &str, input: impl Into<Value>) -> Value {
    let input = input.into();
    json!({"type": "tool_use", "id": id, "name": name, "input": input})
}

fn tool_result(id: &str, content: impl Into<Value>) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": content.into()})
}

/// Adds fields to a line.
fn with(mut line: Value, fields: Value) -> Value {
    let Value::Object(fields) = fields else {
        panic!("{fields}")
    };
    for (name, value) in fields {
        line[name] = value;
    }
    line
}
