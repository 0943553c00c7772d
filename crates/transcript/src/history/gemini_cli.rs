//! Gemini CLI: `~/.gemini/tmp/PROJECT/chats/session-TIME-ID.jsonl`, one message per line. Verified with sessions of the real
//! client, version 0.61 (`testdata/gemini-cli/0.61/sessions`). Older versions write one JSON document per session. A message
//! is written again with its tool calls when they have ended.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::{
    files::first_line,
    writer::{HookReport, RecordWriter},
};

/// The largest document that is read.
const MAX_DOCUMENT: u64 = 64 << 20;

pub(super) fn session_id(path: &Path) -> io::Result<Option<String>> {
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let is_session = name.starts_with("session-");
    let extension = path.extension().and_then(|extension| extension.to_str());
    let head = match extension.filter(|_| is_session) {
        Some("jsonl") => first_line(path)?,
        Some("json") => document(path)?,
        _ => None,
    };
    let head = head.unwrap_or_default();
    let is_subagent = head["kind"] == "subagent";
    Ok(head["sessionId"]
        .as_str()
        .filter(|_| !is_subagent)
        .map(str::to_owned))
}

/// Returns the folder of the project whose sessions are in the file's folder.
pub(super) fn project_root(path: &Path) -> Option<String> {
    let marker: PathBuf = path.parent()?.parent()?.join(".project_root");
    let root = fs::read_to_string(marker).ok()?;
    Some(root.trim().to_owned()).filter(|root| !root.is_empty())
}

fn document(path: &Path) -> io::Result<Option<Value>> {
    if fs::metadata(path)?.len() > MAX_DOCUMENT {
        return Ok(None);
    }
    Ok(serde_json::from_slice(&fs::read(path)?).ok())
}

/// Reads a session that is one document.
pub(super) fn read_document(writer: &mut RecordWriter, path: &Path) -> io::Result<()> {
    let Some(session) = document(path)? else {
        writer.damaged(1);
        return Ok(());
    };
    for (message, number) in session["messages"].as_array().into_iter().flatten().zip(1..) {
        writer.start_line(number);
        read_line(writer, message);
    }
    Ok(())
}

pub(super) fn read_line(writer: &mut RecordWriter, line: &Value) {
    writer.time(&line["timestamp"]);
    let id = line["id"].as_str().unwrap_or_default().to_owned();
    match line["type"].as_str() {
        Some("user") => {
            let text = text(&line["content"]);
            let is_typed = !text.trim().is_empty() && !text.trim_start().starts_with("<session_context>");
            if is_typed && writer.is_new(&id) {
                writer.prompt(&text, None);
            }
        }
        Some("gemini") => {
            if let Some(model) = line["model"].as_str() {
                writer.set_facts(|facts| facts.model = Some(model.to_owned()));
            }
            let text = text(&line["content"]);
            if !text.trim().is_empty() && writer.is_new(&id) {
                writer.prose(&text, Some(id));
            }
            for call in line["toolCalls"].as_array().into_iter().flatten() {
                tool_call(writer, call);
            }
        }
        // The head of the file, changes of it, notices and errors of the client.
        _ => {}
    }
}

/// Returns the text of a content: a text, or parts.
fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

fn tool_call(writer: &mut RecordWriter, call: &Value) {
    let has_ended = matches!(call["status"].as_str(), Some("success" | "error"));
    let Some(id) = call["id"].as_str().filter(|_| has_ended) else {
        return;
    };
    if !writer.is_new(id) {
        return;
    }
    writer.time(&call["timestamp"]);
    let response = &call["result"][0]["functionResponse"]["response"];
    let output = response["output"].as_str().unwrap_or_default();
    let output = output
        .trim_start_matches("<untrusted_context>\n")
        .trim_end_matches("\n</untrusted_context>");
    let mut answer = json!({"llmContent": output});
    if let Some(error) = response["error"].as_str() {
        answer["error"] = json!({"message": error});
    }
    let report = HookReport {
        event: "post-tool-use",
        payload: json!({"tool_name": call["name"], "tool_input": call["args"], "tool_response": answer}),
    };
    writer.reported_tool(id, &report);
}
