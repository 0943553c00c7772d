//! `OpenCode`: sessions in a database, `~/.local/share/opencode/opencode.db`, which `backstory-store` reads. Verified with
//! sessions of the real client, version 1.18 (`testdata/opencode/1.18/sessions`).

use backstory_capture::filter::CaptureSettings;
use backstory_text::hash64;
use serde_json::{Value, json};

use super::writer::{HookReport, RecordWriter};
use crate::{host::TranscriptHost, record::History};

/// Part of a message.
#[derive(Clone, Debug)]
pub struct OpenCodePart {
    /// Id of the part.
    pub id: String,
    /// Id of the message.
    pub message_id: String,
    /// Creation time in milliseconds.
    pub created_ms: i64,
    /// JSON of the message.
    pub message: String,
    /// JSON of the part.
    pub part: String,
}

/// Reads a session from its parts in their order. Damaged parts are counted by their number, from 1.
pub fn read_opencode(folder: &str, parts: &[OpenCodePart], settings: &CaptureSettings) -> History {
    let mut writer = RecordWriter::new(TranscriptHost::OpenCode, settings);
    writer.folder(Some(folder.to_owned()));
    for (part, number) in parts.iter().zip(1..) {
        let message = serde_json::from_str::<Value>(&part.message);
        let content = serde_json::from_str::<Value>(&part.part);
        let (Ok(message), Ok(content)) = (message, content) else {
            writer.damaged(number);
            continue;
        };
        // A revert deletes parts: their number is no stable name.
        writer.start_line(hash64(part.id.as_bytes()) % 1_000_000_000);
        writer.millis(&part.created_ms.into());
        read_part(&mut writer, part, &message, &content);
    }
    writer.finish()
}

fn read_part(writer: &mut RecordWriter, part: &OpenCodePart, message: &Value, content: &Value) {
    let is_users = message["role"] == "user";
    let text = content["text"].as_str().unwrap_or_default();
    // Synthetic texts are the client's own: the content of an attached file, a reminder.
    let is_synthetic = content["synthetic"] == true || content["ignored"] == true;
    match content["type"].as_str() {
        Some("text") if is_synthetic => {}
        // One message, one prompt: further texts of it are attachments.
        Some("text") if is_users && !writer.is_new(&part.message_id) => {}
        Some("text") if is_users => {
            // The command line quotes its words.
            let quoted = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
            writer.prompt(quoted.unwrap_or(text), Some(part.message_id.clone()));
        }
        Some("text") if message["summary"] == true => writer.compaction(text),
        Some("text") => writer.prose(text, Some(part.message_id.clone())),
        Some("tool") => tool(writer, content),
        _ => {}
    }
}

fn tool(writer: &mut RecordWriter, content: &Value) {
    let (state, Some(id)) = (&content["state"], content["callID"].as_str()) else {
        return;
    };
    writer.millis(&state["time"]["end"]);
    let exit = &state["metadata"]["exit"];
    let (event, answer) = match state["status"].as_str() {
        Some("completed") => (
            "post-tool-use",
            json!({"tool_response": state["output"], "exit": exit}),
        ),
        Some("error") => (
            "post-tool-use",
            json!({"tool_response": state["error"], "exit": 1}),
        ),
        _ => return,
    };
    let mut payload = json!({"tool_name": content["tool"], "tool_input": state["input"]});
    for (name, value) in answer.as_object().into_iter().flatten() {
        payload[name] = value.clone();
    }
    writer.reported_tool(id, &HookReport { event, payload });
}
