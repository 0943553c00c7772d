//! Copilot CLI: `~/.copilot/session-state/ID/events.jsonl`, one event per line. Verified with sessions of the real client,
//! version 1.0.102 (`testdata/copilot-cli/1.0.102/sessions`).

use std::{io, path::Path};

use serde_json::{Value, json};

use super::{
    files::first_line,
    writer::{HookReport, RecordWriter},
};
use crate::claude_code::SessionOrigin;

pub(super) fn session_id(path: &Path) -> io::Result<Option<String>> {
    if path.file_name().is_none_or(|name| name != "events.jsonl") {
        return Ok(None);
    }
    let line = first_line(path)?.unwrap_or_default();
    Ok(line["data"]["sessionId"].as_str().map(str::to_owned))
}

pub(super) fn place(line: &Value, origin: &mut SessionOrigin) {
    let context = &line["data"]["context"];
    origin.cwd = context["cwd"].as_str().map(str::to_owned);
    origin.git_branch = context["branch"].as_str().map(str::to_owned);
}

pub(super) fn read_line(writer: &mut RecordWriter, line: &Value) {
    writer.time(&line["timestamp"]);
    let data = &line["data"];
    // Events of a sub-agent name the call that started it.
    if data["parentToolCallId"].is_string() {
        return;
    }
    match line["type"].as_str().unwrap_or_default() {
        "session.start" | "session.resume" => writer.set_facts(|facts| {
            let text = |value: &Value| value.as_str().map(str::to_owned);
            facts.cwd = facts.cwd.take().or_else(|| text(&data["context"]["cwd"]));
            facts.git_branch = text(&data["context"]["branch"]).or(facts.git_branch.take());
            facts.version = text(&data["copilotVersion"]).or(facts.version.take());
            facts.model = text(&data["selectedModel"]).or(facts.model.take());
        }),
        "user.message" => writer.prompt(data["content"].as_str().unwrap_or_default(), None),
        "assistant.message" => {
            let id = data["messageId"].as_str().map(str::to_owned);
            writer.prose(data["content"].as_str().unwrap_or_default(), id);
        }
        "tool.execution_start" => writer.remember_call(&data["toolCallId"], data),
        "tool.execution_complete" => complete(writer, data),
        "abort" => writer.interrupted(),
        "session.compaction_complete" => {
            if let Some(summary) = data["summaryContent"].as_str() {
                writer.compaction(summary);
            }
        }
        _ => {}
    }
}

fn complete(writer: &mut RecordWriter, data: &Value) {
    let (Some(id), Some(start)) = (data["toolCallId"].as_str(), writer.take_call(&data["toolCallId"])) else {
        return;
    };
    let is_success = data["success"] == true;
    let said = [&data["result"]["content"], &data["error"]["message"]]
        .into_iter()
        .find_map(Value::as_str)
        .unwrap_or_default();
    let result =
        json!({"resultType": if is_success { "success" } else { "failure" }, "textResultForLlm": said});
    let report = HookReport {
        event: "post-tool-use",
        payload: json!({"toolName": start["toolName"], "toolArgs": start["arguments"], "toolResult": result}),
    };
    writer.reported_tool(id, &report);
}
