//! Cursor. Written from its hooks documentation of mid 2026 (Cursor 3); not verified with the editor.

use serde_json::{Value, json};

use super::{
    object::{Object, renamed, unpacked},
    spec::{
        ConfigPath, DefaultOutput, HookRow, HostPayload, HostSpec, InjectionTrigger, InstallItem,
        NormalizedPayload, OutputFormat, RulesFile, our_event, plain_server,
    },
};
use crate::payload::Payload;

pub(super) static SPEC: HostSpec = HostSpec {
    name: "cursor",
    title: "Cursor",
    install_markers: &[ConfigPath::home(".cursor", "")],
    hooks: &[
        HookRow::new("sessionStart", "session-start"),
        HookRow::new("beforeSubmitPrompt", "user-prompt-submit"),
        HookRow::matching("postToolUse", "post-tool-use", "Shell|Read"),
        HookRow::new("afterFileEdit", "post-tool-use"),
        HookRow::new("postToolUseFailure", "post-tool-use-failure"),
        HookRow::new("afterAgentResponse", "stop"),
        HookRow::new("stop", "stop"),
        HookRow::new("preCompact", "pre-compact"),
        HookRow::new("sessionEnd", "session-end"),
    ],
    parts: &[
        InstallItem::Hooks {
            file: ConfigPath::home(".cursor", "hooks.json"),
            version: Some(1),
            entry,
        },
        InstallItem::Server {
            file: ConfigPath::home(".cursor", "mcp.json"),
            instead: None,
            key: "mcpServers",
            entry: plain_server,
        },
    ],
    normalize: Some(normalize),
    // Used only where there is no rules file yet, so that the same memories are not injected twice.
    injection_points: &[(InjectionTrigger::Start, OutputFormat::Field("additional_context"))],
    can_ask: false,
    silence: DefaultOutput::Always("{}\n"),
    rules: Some(RulesFile {
        path: ".cursor/rules/backstory-context.mdc",
        head: "---\ndescription: What past sessions in this project did (kept up to date by backstory)\nalwaysApply: true\n---\n",
    }),
    wants_plain_json: false,
    post_install_note: None,
    resume: None,
};

fn entry(row: &HookRow, program: &str) -> Value {
    let command = row.shell(program, "cursor");
    match row.matcher {
        Some(matcher) => json!({"command": command, "matcher": matcher}),
        None => json!({ "command": command }),
    }
}

/// Maps Cursor's names: a conversation is a session, a generation is a turn. The user's email address is dropped.
fn normalize(report: &HostPayload<'_>) -> Option<NormalizedPayload> {
    let payload = report.payload;
    let root = payload.raw("workspace_roots").and_then(first_text);
    let base = Object::new()
        .take("session_id", payload, &["conversation_id", "session_id"])
        .take("prompt_id", payload, &["generation_id"])
        .raw("cwd", payload.raw("cwd").or(root.as_deref()))
        .take("model", payload, &["model"]);
    let (event, object) = match payload.text("hook_event_name").as_deref() {
        Some("afterFileEdit") => ("post-tool-use", edit(payload, base)),
        Some("afterAgentResponse") => ("stop", base.take("last_assistant_message", payload, &["text"])),
        Some("sessionStart") => ("session-start", base.text("source", "startup")),
        Some("postToolUse") => return Some(tool(payload, base)),
        _ => {
            let object = base
                .take("prompt", payload, &["prompt"])
                .take("tool_name", payload, &["tool_name"])
                .take("tool_use_id", payload, &["tool_use_id"])
                .raw("tool_input", input(payload).as_deref())
                .take("error", payload, &["error_message"])
                .take("is_interrupt", payload, &["is_interrupt"])
                .take("reason", payload, &["reason"])
                .take("trigger", payload, &["trigger"]);
            (our_event(report.event)?, object)
        }
    };
    Some(NormalizedPayload {
        event,
        json: object.end(),
    })
}

fn edit(payload: &Payload<'_>, base: Object) -> Object {
    let input = Object::new()
        .take("file_path", payload, &["file_path"])
        .take("edits", payload, &["edits"]);
    let answer = Object::new().take("filePath", payload, &["file_path"]);
    base.text("tool_name", "MultiEdit")
        .raw("tool_input", Some(&input.end()))
        .raw("tool_response", Some(&answer.end()))
}

/// Maps a tool call. The output is JSON in a string; a failed command is recognized by its exit code.
fn tool(payload: &Payload<'_>, base: Object) -> NormalizedPayload {
    let name = payload.text("tool_name").unwrap_or_default();
    let output = unpacked(payload, "tool_output").unwrap_or_else(|| "{}".to_owned());
    let object = base
        .text("tool_name", if name == "Shell" { "Bash" } else { &name })
        .take("tool_use_id", payload, &["tool_use_id"])
        .raw("tool_input", input(payload).as_deref());
    let answer = Payload::read(&output).ok();
    let status = answer.as_ref().and_then(|answer| answer.raw("exitCode"));
    match (status, &answer) {
        (Some(status), Some(answer)) if status != "0" => {
            let text = |name: &str| answer.text(name).unwrap_or_default();
            let error = format!("Exit code {status}\n{}\n{}", text("stdout"), text("stderr"));
            NormalizedPayload {
                event: "post-tool-use-failure",
                json: object.text("error", error.trim_end()).end(),
            }
        }
        _ => NormalizedPayload {
            event: "post-tool-use",
            json: object.raw("tool_response", Some(&output)).end(),
        },
    }
}

fn input(payload: &Payload<'_>) -> Option<String> {
    let input = unpacked(payload, "tool_input")?;
    Some(renamed(&input, &[("target_file", "file_path")]))
}

/// Returns the first string of an array, as raw JSON.
fn first_text(list: &str) -> Option<String> {
    let list: Vec<Value> = serde_json::from_str(list).ok()?;
    list.first()
        .filter(|first| first.is_string())
        .map(ToString::to_string)
}
