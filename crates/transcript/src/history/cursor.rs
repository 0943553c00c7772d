//! Cursor: chats of the editor in a key-value database (`state.vscdb`), which `backstory-store` reads. Written from descriptions
//! of the format by others; no session of the real editor was available.
//!
//! A chat ("composer") lists its messages ("bubbles") in order; each bubble is a record of its own. A bubble is a prompt, a text
//! of the assistant, or one call of a tool with its result.

use std::collections::HashMap;

use backstory_capture::filter::CaptureSettings;
use backstory_text::hash64;
use serde_json::{Map, Value, json};

use super::writer::{HookReport, RecordWriter};
use crate::{host::TranscriptHost, record::History};

/// A chat of the editor.
#[derive(Clone, Copy, Debug)]
pub struct CursorComposer<'a> {
    /// The working folder, if the list of chats names it.
    pub folder: Option<&'a str>,
    /// The record that describes the chat.
    pub description: &'a Value,
    /// The keys and values of its bubbles.
    pub bubbles: &'a [(String, Vec<u8>)],
}

/// Reads a chat of the editor. Bubbles that cannot be read are listed by key.
pub fn read_cursor_composer(composer: &CursorComposer<'_>, settings: &CaptureSettings) -> History {
    let mut writer = RecordWriter::new(TranscriptHost::Cursor, settings);
    writer.millis(&composer.description["createdAt"]);
    writer.folder(composer.folder.map(str::to_owned));
    let text = |name: &str| composer.description[name].as_str().map(str::to_owned);
    writer.set_facts(|facts| {
        facts.title = text("name");
        facts.git_branch = text("createdOnBranch");
    });
    for bubble in in_order(composer, &mut writer) {
        let id = bubble["bubbleId"].as_str().unwrap_or_default();
        // A restored checkpoint removes bubbles: their position is no stable name.
        writer.start_line(hash64(id.as_bytes()) % 1_000_000_000);
        let own_time = [&bubble["createdAt"], &bubble["timingInfo"]["clientStartTime"]];
        if !own_time.into_iter().any(|time| writer.has_set_time(time)) {
            writer.next_milli();
        }
        read_bubble(&mut writer, &bubble);
    }
    writer.finish()
}

/// Returns the bubbles in the order of the conversation. Older versions store them in the description itself.
fn in_order(composer: &CursorComposer<'_>, writer: &mut RecordWriter) -> Vec<Value> {
    let headers = composer.description["fullConversationHeadersOnly"].as_array();
    let Some(headers) = headers.filter(|headers| !headers.is_empty()) else {
        let inline = composer.description["conversation"].as_array();
        return inline.cloned().unwrap_or_default();
    };
    let id_of = |key: &str| key.rsplit(':').next().unwrap_or_default().to_owned();
    let mut bubbles: HashMap<String, Value> = HashMap::new();
    for (key, value) in composer.bubbles {
        match serde_json::from_slice::<Value>(value) {
            Ok(mut bubble) if bubble.is_object() => {
                bubble["bubbleId"] = id_of(key).into();
                bubbles.insert(id_of(key), bubble);
            }
            _ => writer.damaged_key(key),
        }
    }
    let ids = headers.iter().filter_map(|header| header["bubbleId"].as_str());
    ids.filter_map(|id| bubbles.remove(id)).collect()
}

fn read_bubble(writer: &mut RecordWriter, bubble: &Value) {
    let text = bubble["text"].as_str().unwrap_or_default();
    let id = bubble["bubbleId"].as_str().map(str::to_owned);
    match bubble["type"].as_i64() {
        Some(1) => {
            let folder = bubble["workspaceUris"][0].as_str();
            writer.folder(folder.and_then(path_of_uri));
            writer.prompt(text, id);
        }
        Some(2) => {
            writer.prose(text, id.clone());
            let call = &bubble["toolFormerData"];
            if call.is_object() {
                tool(writer, call, id.as_deref().unwrap_or_default());
            }
        }
        _ => {}
    }
}

fn tool(writer: &mut RecordWriter, call: &Value, bubble_id: &str) {
    let id = call["toolCallId"].as_str().unwrap_or(bubble_id);
    let (raw, params) = (unpacked(&call["rawArgs"]), unpacked(&call["params"]));
    let result = unpacked(&call["result"]);
    let is_failed = match call["status"].as_str() {
        // Rejected by the user: nothing has happened.
        _ if result["rejected"] == true => return,
        Some("completed" | "success") => false,
        Some("error") => true,
        _ => return,
    };
    let tool = CursorToolCall {
        name: call["name"].as_str().unwrap_or_default(),
        input: merged(&raw, &params),
        result: &result,
        error: is_failed.then(|| error_text(call, &result)),
    };
    writer.reported_tool(id, &tool.report());
}

/// A finished call of a tool, by the editor or by the command-line agent.
pub(super) struct CursorToolCall<'a> {
    pub(super) name: &'a str,
    /// Its arguments, in the names of the model and of the editor.
    pub(super) input: Value,
    pub(super) result: &'a Value,
    /// The message of a call that failed.
    pub(super) error: Option<String>,
}

impl CursorToolCall<'_> {
    /// Returns the call as Cursor's hook would report it.
    pub(super) fn report(&self) -> HookReport {
        let name = self.name.strip_suffix("_v2").unwrap_or(self.name);
        let path = || {
            self.text(&[
                "target_file",
                "targetFile",
                "file_path",
                "relativeWorkspacePath",
                "path",
            ])
        };
        let (tool, input) = match name {
            "run_terminal_cmd" | "run_terminal_command" | "Shell" => {
                ("Shell", json!({"command": self.text(&["command"])}))
            }
            "read_file" | "Read" => ("Read", json!({"target_file": path()})),
            "edit_file" | "search_replace" | "write" | "Write" | "StrReplace" | "Edit"
                if self.error.is_none() =>
            {
                let payload =
                    json!({"hook_event_name": "afterFileEdit", "file_path": path(), "edits": self.edits()});
                return HookReport {
                    event: "post-tool-use",
                    payload,
                };
            }
            _ => (name, self.input.clone()),
        };
        match &self.error {
            Some(error) => HookReport {
                event: "post-tool-use-failure",
                payload: json!({"hook_event_name": "postToolUseFailure", "tool_name": tool, "tool_input": input,
                    "error_message": error}),
            },
            None => HookReport {
                event: "post-tool-use",
                payload: json!({"hook_event_name": "postToolUse", "tool_name": tool, "tool_input": input,
                    "tool_output": self.output(tool).to_string()}),
            },
        }
    }

    fn text(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.input[name].as_str())
    }

    fn output(&self, tool: &str) -> Value {
        let result = self.result;
        if tool != "Shell" {
            return result.clone();
        }
        // Older versions write the code only if it is not 0.
        let code = [&result["exitCodeV2"], &result["exitCode"]]
            .into_iter()
            .find_map(Value::as_i64);
        json!({"stdout": result["output"], "exitCode": code.unwrap_or(0)})
    }

    /// Returns the replaced and the new text, from the arguments or else from the difference that the editor stores.
    fn edits(&self) -> Value {
        let new = self.text(&[
            "new_string",
            "contents",
            "content",
            "code_edit",
            "streamingContent",
        ]);
        if let Some(new) = new {
            let old = self.text(&["old_string"]).unwrap_or_default();
            return json!([{"old_string": old, "new_string": new}]);
        }
        let chunks = self.result["diff"]["chunks"].as_array();
        let differences = chunks
            .into_iter()
            .flatten()
            .filter_map(|chunk| chunk["diffString"].as_str());
        let side = |difference: &str, sign: char| {
            let lines = difference.lines().filter_map(|line| line.strip_prefix(sign));
            lines.map(|line| format!("{line}\n")).collect::<String>()
        };
        differences
            .map(|difference| json!({"old_string": side(difference, '-'), "new_string": side(difference, '+')}))
            .collect()
    }
}

/// Reads JSON in a string; other values stay as they are.
fn unpacked(value: &Value) -> Value {
    let inner = value.as_str().and_then(|text| serde_json::from_str(text).ok());
    inner.unwrap_or_else(|| value.clone())
}

/// Joins two objects; the fields of the first win.
fn merged(first: &Value, second: &Value) -> Value {
    let mut all: Map<String, Value> = second.as_object().cloned().unwrap_or_default();
    all.extend(first.as_object().cloned().unwrap_or_default());
    all.into()
}

fn error_text(call: &Value, result: &Value) -> String {
    let error = unpacked(&call["error"]);
    let said = [
        &error["modelVisibleErrorMessage"],
        &error["clientVisibleErrorMessage"],
        &error,
        &result["error"],
        &result["output"],
    ];
    let said = said.into_iter().find_map(Value::as_str);
    said.unwrap_or("the call failed").to_owned()
}

/// Returns the path of a `file://` address, or a path as it is.
pub fn path_of_uri(uri: &str) -> Option<String> {
    let Some(path) = uri.strip_prefix("file://") else {
        return (!uri.contains("://")).then(|| uri.to_owned());
    };
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let hex = (first == b'%')
            .then(|| std::str::from_utf8(after.get(..2)?).ok())
            .flatten();
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    let path = String::from_utf8(bytes).ok()?;
    // `file:///c:/work` names a drive.
    match path.strip_prefix('/') {
        Some(below) if below.as_bytes().get(1) == Some(&b':') => Some(below.to_owned()),
        _ => Some(path),
    }
}
