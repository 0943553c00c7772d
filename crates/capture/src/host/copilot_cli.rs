//! GitHub Copilot CLI. Written from its hooks reference of April 2026, verified with the real client, version 1.0.102.

use serde_json::{Value, json};

use super::{
    object::{Object, unpacked},
    spec::{
        BEFORE_TOOL, ConfigPath, DefaultOutput, HookRow, HostPayload, HostSpec, InjectionTrigger,
        InstallItem, NormalizedPayload, OutputFormat, our_event,
    },
};
use crate::payload::Payload;

pub(super) static SPEC: HostSpec = HostSpec {
    name: "copilot-cli",
    title: "Copilot CLI",
    install_markers: &[config_path("")],
    hooks: &[
        HookRow::new("sessionStart", "session-start"),
        HookRow::new("userPromptSubmitted", "user-prompt-submit"),
        HookRow::matching("preToolUse", BEFORE_TOOL, "bash"),
        HookRow::new("postToolUse", "post-tool-use"),
        HookRow::new("postToolUseFailure", "post-tool-use-failure"),
        HookRow::new("agentStop", "stop"),
        HookRow::new("preCompact", "pre-compact"),
        HookRow::new("sessionEnd", "session-end"),
    ],
    parts: &[
        InstallItem::Hooks {
            file: config_path("hooks/backstory.json"),
            version: Some(1),
            entry,
        },
        InstallItem::Server {
            file: config_path("mcp-config.json"),
            instead: None,
            key: "mcpServers",
            entry: server,
        },
    ],
    normalize: Some(normalize),
    injection_points: &[
        (InjectionTrigger::Start, OutputFormat::Field("additionalContext")),
        (InjectionTrigger::Prompt, OutputFormat::Field("additionalContext")),
        (
            InjectionTrigger::Command,
            OutputFormat::Field("additionalContext"),
        ),
        (
            InjectionTrigger::Failure,
            OutputFormat::Field("additionalContext"),
        ),
        (InjectionTrigger::Answer, OutputFormat::Field("additionalContext")),
    ],
    can_ask: true,
    silence: DefaultOutput::Nothing,
    rules: None,
    wants_plain_json: false,
    post_install_note: None,
    resume: Some(&["copilot", "--resume"]),
};

const fn config_path(path: &'static str) -> ConfigPath {
    ConfigPath {
        variable: Some("COPILOT_HOME"),
        folder: ".copilot",
        path,
    }
}

fn entry(row: &HookRow, program: &str) -> Value {
    let mut entry = json!({"type": "command", "bash": row.shell(program, "copilot-cli"), "timeoutSec": 10});
    if let Some(matcher) = row.matcher {
        entry["matcher"] = matcher.into();
    }
    entry
}

fn server(program: &str) -> Value {
    json!({"type": "local", "command": program, "args": ["mcp"], "tools": ["*"]})
}

/// Maps Copilot's names, which have two spellings, depending on the event's spelling in the file. Arguments may be JSON
/// in a string.
fn normalize(report: &HostPayload<'_>) -> Option<NormalizedPayload> {
    let payload = report.payload;
    let source = match payload.text("source").as_deref() {
        Some("resume") => "resume",
        _ => "startup",
    };
    let input = unpacked(payload, "toolArgs").or_else(|| unpacked(payload, "tool_input"));
    let tool = payload.text("toolName").or_else(|| payload.text("tool_name"));
    let mut object = Object::new()
        .take("session_id", payload, &["sessionId", "session_id"])
        .take("cwd", payload, &["cwd"])
        .take("prompt", payload, &["prompt"])
        .take("reason", payload, &["reason"])
        .take("trigger", payload, &["trigger"])
        .raw("tool_input", input.as_deref());
    if let Some(tool) = tool {
        object = object.text("tool_name", ours(&tool));
    }
    let event = our_event(report.event)?;
    let object = match event {
        "session-start" => object.text("source", source),
        "post-tool-use-failure" => object.take("error", payload, &["error"]),
        "post-tool-use" => return Some(tool_use(payload, object)),
        // The last message is only in the session's own log, where it appears a moment later.
        "stop" => object.take("transcript_path", payload, &["transcriptPath", "transcript_path"]),
        _ => object,
    };
    Some(NormalizedPayload {
        event,
        json: object.end(),
    })
}

/// Returns the error of a failed command, which is reported as a success whose last line states the exit code. Older
/// versions report another result type.
fn tool_use(payload: &Payload<'_>, object: Object) -> NormalizedPayload {
    let result = payload.raw("toolResult").or_else(|| payload.raw("tool_result"));
    let result = result.and_then(|raw| Payload::read(raw).ok());
    let text = |names: [&str; 2]| {
        let result = result.as_ref()?;
        names.iter().find_map(|name| result.text(name))
    };
    let said = text(["textResultForLlm", "text_result_for_llm"]).unwrap_or_default();
    let status = said
        .rsplit_once("completed with exit code ")
        .map(|(_, rest)| rest.trim_end_matches(['>', '\n']));
    match (text(["resultType", "result_type"]).as_deref(), status) {
        (_, Some(status)) if status != "0" => NormalizedPayload {
            event: "post-tool-use-failure",
            json: object.text("error", &format!("Exit code {status}\n{said}")).end(),
        },
        (Some("failure" | "error"), _) => NormalizedPayload {
            event: "post-tool-use-failure",
            json: object.text("error", &said).end(),
        },
        _ => NormalizedPayload {
            event: "post-tool-use",
            json: object.text("tool_response", &said).end(),
        },
    }
}

fn ours(tool: &str) -> &str {
    match tool {
        "bash" => "Bash",
        "edit" => "Edit",
        "create" => "Write",
        "view" => "Read",
        other => other,
    }
}
