//! Cursor's command-line agent: one database per chat, `~/.cursor/chats/WORKSPACE/CHAT/store.db`, which `backstory-store` reads.
//! Written from descriptions of the format by others; no chat of the real agent was available.
//!
//! A chat is a tree of blobs named by their hash. The root lists its messages, which are JSON. Only the chat has a time, so each
//! message is a millisecond after the one before.

use backstory_capture::filter::CaptureSettings;
use backstory_text::hash64;
use serde_json::{Value, json};

use super::{
    cursor::{CursorToolCall, path_of_uri},
    writer::RecordWriter,
};
use crate::{host::TranscriptHost, record::History};

/// What the root of a chat says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CursorChatRoot {
    /// The ids of the messages, in order.
    pub messages: Vec<String>,
    /// The working folder.
    pub folder: Option<String>,
}

impl CursorChatRoot {
    /// The field of the list of messages.
    const MESSAGES: u64 = 1;
    /// The field of the working folder.
    const FOLDER: u64 = 9;

    /// Reads the root: a protocol buffer, of which only two fields are known. Returns what stands before damage.
    pub fn read(blob: &[u8]) -> Self {
        let mut root = Self::default();
        let mut rest = blob;
        while let Some((field, content)) = next_field(&mut rest) {
            match (field, std::str::from_utf8(content)) {
                (Self::MESSAGES, _) if content.len() == 32 => {
                    root.messages
                        .push(content.iter().map(|byte| format!("{byte:02x}")).collect());
                }
                (Self::FOLDER, Ok(text)) if root.folder.is_none() => root.folder = path_of_uri(text),
                _ => {}
            }
        }
        root
    }
}

/// Reads the next field with its bytes; fields that are numbers are empty.
fn next_field<'b>(rest: &mut &'b [u8]) -> Option<(u64, &'b [u8])> {
    let tag = varint(rest)?;
    let len = match tag & 7 {
        0 => {
            varint(rest)?;
            return Some((tag >> 3, &[]));
        }
        1 => 8,
        2 => usize::try_from(varint(rest)?).ok()?,
        5 => 4,
        _ => return None,
    };
    let (content, after) = rest.split_at_checked(len)?;
    *rest = after;
    Some((tag >> 3, content))
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// A chat of the command-line agent.
#[derive(Clone, Copy, Debug)]
pub struct CursorConversation<'a> {
    /// The working folder.
    pub folder: Option<&'a str>,
    /// The description of the chat.
    pub description: &'a Value,
    /// The ids and contents of its messages; a missing one has no content.
    pub messages: &'a [(String, Option<Vec<u8>>)],
}

/// Reads a chat of the command-line agent. Messages that cannot be read are listed by the id of their blob.
pub fn read_cursor_chat(chat: &CursorConversation<'_>, settings: &CaptureSettings) -> History {
    let mut writer = RecordWriter::new(TranscriptHost::Cursor, settings);
    writer.millis(&chat.description["createdAt"]);
    writer.folder(chat.folder.map(str::to_owned));
    let model = chat.description["lastUsedModel"].as_str().map(str::to_owned);
    writer.set_facts(|facts| facts.model = model);
    for (id, content) in chat.messages {
        writer.start_line(hash64(id.as_bytes()) % 1_000_000_000);
        writer.next_milli();
        let message = content
            .as_deref()
            .and_then(|content| serde_json::from_slice::<Value>(content).ok());
        match message {
            Some(message) if message.is_object() => read_message(&mut writer, id, &message),
            _ => writer.damaged_key(id),
        }
    }
    writer.finish()
}

fn read_message(writer: &mut RecordWriter, id: &str, message: &Value) {
    let text = json!([{"type": "text", "text": message["content"]}]);
    let blocks = message["content"].as_array().or(text.as_array());
    for block in blocks.into_iter().flatten() {
        let text = block["text"].as_str().unwrap_or_default();
        match (message["role"].as_str(), block["type"].as_str()) {
            (Some("user"), Some("text")) => user_text(writer, id, text),
            (Some("assistant"), Some("text")) => writer.prose(text, Some(id.to_owned())),
            (Some("assistant"), Some("tool-call")) => writer.remember_call(&block["toolCallId"], block),
            (Some("tool"), Some("tool-result")) => tool_result(writer, block),
            _ => {}
        }
    }
}

/// Records a prompt. The agent wraps it, and sends descriptions of the machine as further messages of the user.
fn user_text(writer: &mut RecordWriter, id: &str, text: &str) {
    if let Some((_, path)) = text.split_once("\nWorkspace Path: ") {
        writer.folder(path.lines().next().map(str::to_owned));
    }
    let wrapped = text.split_once("<user_query>").map(|(_, rest)| {
        let end = rest.find("</user_query>").unwrap_or(rest.len());
        rest[..end].trim()
    });
    match wrapped {
        Some(prompt) => writer.prompt(prompt, Some(id.to_owned())),
        None if text.trim_start().starts_with('<') => {}
        None => writer.prompt(text, Some(id.to_owned())),
    }
}

fn tool_result(writer: &mut RecordWriter, block: &Value) {
    let (Some(id), Some(call)) = (
        block["toolCallId"].as_str(),
        writer.take_call(&block["toolCallId"]),
    ) else {
        return;
    };
    let said = block["result"].as_str().unwrap_or_default();
    let name = call["toolName"].as_str().unwrap_or_default();
    let is_shell = name == "Shell";
    let result = if is_shell {
        shell_result(said)
    } else {
        block["result"].clone()
    };
    let is_failed = block["isError"] == true || (!is_shell && said.starts_with("Error"));
    let report = CursorToolCall {
        name,
        input: call["args"].clone(),
        result: &result,
        error: is_failed.then(|| said.to_owned()),
    };
    writer.reported_tool(id, &report.report());
}

/// Reads "Exit code: 1", an empty line and "Command output:" before the output.
fn shell_result(said: &str) -> Value {
    let (head, output) = said.split_once("Command output:").unwrap_or(("", said));
    let code = head
        .trim()
        .strip_prefix("Exit code:")
        .and_then(|code| code.trim().parse::<i64>().ok());
    json!({"output": output.trim(), "exitCode": code.unwrap_or(0)})
}
