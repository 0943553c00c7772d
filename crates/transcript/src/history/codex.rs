//! Codex CLI: `~/.codex/sessions/YYYY/MM/DD/rollout-TIME-ID.jsonl`, one object per line. Verified with sessions of the real
//! client, version 0.166 (`testdata/codex/0.166/sessions`). Older versions write the same items without the envelope.

use std::{io, path::Path};

use serde_json::{Value, json};

use super::{files::first_line, writer::RecordWriter};
use crate::claude_code::SessionOrigin;

/// Starts of texts with the role of the user that the client inserts.
const INSERTED: [&str; 7] = [
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "<skill>",
    "<subagent_notification>",
    "<user_shell_command>",
    "# AGENTS.md instructions",
];

pub(super) fn session_id(path: &Path) -> io::Result<Option<String>> {
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    if !name.starts_with("rollout-") || !name.ends_with(".jsonl") {
        return Ok(None);
    }
    let Some(line) = first_line(path)? else {
        return Ok(None);
    };
    let meta = payload(&line);
    // A sub-agent has a file of its own; its work is part of the session that started it.
    let is_subagent = meta["source"].get("subagent").is_some();
    Ok(meta["id"].as_str().filter(|_| !is_subagent).map(str::to_owned))
}

pub(super) fn place(line: &Value, origin: &mut SessionOrigin) {
    let meta = payload(line);
    origin.cwd = meta["cwd"].as_str().map(str::to_owned);
    origin.git_branch = meta["git"]["branch"].as_str().map(str::to_owned);
}

pub(super) fn read_line(writer: &mut RecordWriter, line: &Value) {
    writer.time(&line["timestamp"]);
    let item = payload(line);
    let kind = match line["type"].as_str() {
        Some("response_item" | "event_msg") => item["type"].as_str().unwrap_or_default(),
        Some(kind) => kind,
        // The first line of early versions.
        None if item.get("instructions").is_some() => "session_meta",
        None => "",
    };
    match kind {
        "session_meta" => writer.set_facts(|facts| {
            let text = |value: &Value| value.as_str().map(str::to_owned);
            facts.cwd = facts.cwd.take().or_else(|| text(&item["cwd"]));
            facts.git_branch = text(&item["git"]["branch"]).or(facts.git_branch.take());
            facts.version = text(&item["cli_version"]).or(facts.version.take());
        }),
        "turn_context" => writer.set_facts(|facts| {
            let model = item["model"].as_str().map(str::to_owned);
            facts.model = model.or(facts.model.take());
        }),
        "message" => message(writer, item),
        "function_call" | "custom_tool_call" | "local_shell_call" => call(writer, item),
        "function_call_output" | "custom_tool_call_output" => output(writer, item),
        "turn_aborted" => writer.interrupted(),
        "compacted" => writer.compaction(item["message"].as_str().unwrap_or_default()),
        _ => {}
    }
}

/// Returns the content of a line: inside its envelope, or the line itself.
fn payload(line: &Value) -> &Value {
    line.get("payload").unwrap_or(line)
}

fn message(writer: &mut RecordWriter, item: &Value) {
    let metadata = &item["internal_chat_message_metadata_passthrough"];
    let texts = item["content"].as_array().into_iter().flatten();
    let texts = texts.filter_map(|content| content["text"].as_str());
    match item["role"].as_str() {
        Some("user") => {
            let is_inserted = |text: &&str| INSERTED.iter().any(|start| text.trim_start().starts_with(start));
            let typed: Vec<&str> = texts.filter(|text| !is_inserted(text)).collect();
            if !typed.is_empty() {
                let turn = metadata["turn_id"].as_str().map(str::to_owned);
                writer.prompt(&typed.join("\n"), turn);
            }
        }
        Some("assistant") => {
            for text in texts {
                writer.prose(text, None);
            }
        }
        _ => {}
    }
}

fn call(writer: &mut RecordWriter, item: &Value) {
    let Some(id) = item["call_id"].as_str() else {
        return;
    };
    let name = item["name"].as_str().unwrap_or("shell");
    let arguments: Value = match (item["arguments"].as_str(), item["input"].as_str()) {
        (Some(arguments), _) => serde_json::from_str(arguments).unwrap_or_default(),
        (None, Some(input)) => json!({"patch": input}),
        (None, None) => item["action"].clone(),
    };
    match name {
        "exec_command" | "shell" | "shell_command" | "container.exec" => {
            let command = [&arguments["cmd"], &arguments["command"]]
                .into_iter()
                .find_map(command);
            if let Some(command) = command {
                writer.tool_use(id, "Bash", &json!({"command": command}));
            }
        }
        // A patch in a function call has another name.
        "apply_patch" if arguments.get("patch").is_none() => {
            writer.tool_use(id, name, &json!({"patch": arguments["input"]}));
        }
        // A task list and the input of a running program are no work of their own.
        "update_plan" | "write_stdin" => {}
        _ => {
            writer.tool_use(id, name, &arguments);
        }
    }
}

/// Returns a command as one line: a text, or the words for a shell.
fn command(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            match words.as_slice() {
                [] => None,
                [_, "-lc" | "-c" | "-Command", script] => Some((*script).to_owned()),
                words => Some(words.join(" ")),
            }
        }
        _ => None,
    }
}

fn output(writer: &mut RecordWriter, item: &Value) {
    let Some(id) = item["call_id"].as_str() else {
        return;
    };
    let (status, text) = status_and_text(&item["output"]);
    match status {
        Some(status) if status != 0 => writer.tool_failure(id, &format!("Exit code {status}\n{text}")),
        _ => writer.tool_result(id, &text.into()),
    }
}

/// Returns the exit status of a command, if it is known, and its output without the client's head lines.
fn status_and_text(output: &Value) -> (Option<i64>, String) {
    let text = match output {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        other => other["content"].as_str().unwrap_or_default().to_owned(),
    };
    // Older versions put JSON into the text.
    if let Ok(inner) = serde_json::from_str::<Value>(&text)
        && let Some(inner_text) = inner["output"].as_str()
    {
        return (inner["metadata"]["exit_code"].as_i64(), inner_text.to_owned());
    }
    let head = text.split_once("\nOutput:\n").map_or("", |(head, _)| head);
    let status = head.lines().find_map(|line| {
        let status = line
            .strip_prefix("Process exited with code ")
            .or_else(|| line.strip_prefix("Exit code: "))?;
        status.trim().parse().ok()
    });
    let text = match text.split_once("\nOutput:\n") {
        Some((_, rest)) => rest.to_owned(),
        None => text,
    };
    (status, text)
}
