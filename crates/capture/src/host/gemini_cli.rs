//! Gemini CLI. Written from its hooks reference, verified with the real client, version 0.61.

use serde_json::{Value, json};

use super::{
    object::Object,
    spec::{
        ConfigPath, DefaultOutput, HookRow, HostPayload, HostSpec, InjectionTrigger, InstallItem,
        NormalizedPayload, OutputFormat, our_event, plain_server,
    },
};
use crate::payload::Payload;

const SETTINGS: ConfigPath = ConfigPath::home(".gemini", "settings.json");

pub(super) static SPEC: HostSpec = HostSpec {
    name: "gemini-cli",
    title: "Gemini CLI",
    install_markers: &[ConfigPath::home(".gemini", "")],
    // Without `PreCompress`, which runs before every request even if nothing is compressed.
    hooks: &[
        HookRow::new("SessionStart", "session-start"),
        HookRow::new("BeforeAgent", "user-prompt-submit"),
        HookRow::new("AfterTool", "post-tool-use"),
        HookRow::new("AfterAgent", "stop"),
        HookRow::new("SessionEnd", "session-end"),
    ],
    parts: &[
        InstallItem::Hooks {
            file: SETTINGS,
            version: None,
            entry,
        },
        InstallItem::Server {
            file: SETTINGS,
            instead: None,
            key: "mcpServers",
            entry: plain_server,
        },
    ],
    normalize: Some(normalize),
    injection_points: &[
        (InjectionTrigger::Start, OutputFormat::Specific("SessionStart")),
        (InjectionTrigger::Prompt, OutputFormat::Specific("BeforeAgent")),
        (InjectionTrigger::Failure, OutputFormat::Specific("AfterTool")),
        (InjectionTrigger::Answer, OutputFormat::Specific("AfterTool")),
    ],
    can_ask: false,
    silence: DefaultOutput::Nothing,
    rules: None,
    wants_plain_json: false,
    post_install_note: None,
    resume: Some(&["gemini", "--resume"]),
};

/// Returns a hook entry. Gemini's timeouts are in milliseconds.
fn entry(row: &HookRow, program: &str) -> Value {
    let hook = json!({
        "name": "backstory",
        "type": "command",
        "command": row.shell(program, "gemini-cli"),
        "timeout": 10_000,
    });
    json!({"matcher": "*", "hooks": [hook]})
}

fn normalize(report: &HostPayload<'_>) -> Option<NormalizedPayload> {
    let payload = report.payload;
    let object = Object::new()
        .take("session_id", payload, &["session_id"])
        .take("cwd", payload, &["cwd"])
        .take("source", payload, &["source"])
        .take("tool_name", payload, &["tool_name"])
        .take("tool_input", payload, &["tool_input"])
        .take("last_assistant_message", payload, &["prompt_response"])
        .take("reason", payload, &["reason"])
        .take("trigger", payload, &["trigger"]);
    let event = our_event(report.event)?;
    if event == "user-prompt-submit" {
        // The event at the end of a turn repeats the prompt, which must not be recorded twice.
        let json = object.take("prompt", payload, &["prompt"]).end();
        return Some(NormalizedPayload { event, json });
    }
    let answer = payload
        .raw("tool_response")
        .and_then(|raw| Payload::read(raw).ok());
    let failure = answer.as_ref().and_then(failure);
    let (event, object) = match failure {
        Some(error) => ("post-tool-use-failure", object.text("error", &error)),
        None => {
            let printed = answer.as_ref().and_then(|answer| answer.text("llmContent"));
            let object = match (printed, &answer) {
                (Some(printed), _) => object.text("tool_response", &printed),
                (None, Some(_)) => object.take("tool_response", payload, &["tool_response"]),
                (None, None) => object,
            };
            (event, object)
        }
    };
    Some(NormalizedPayload {
        event,
        json: object.end(),
    })
}

/// Returns the error of a failed tool call. A tool that could not run has an error; a failed command states its exit
/// code in its last lines.
fn failure(answer: &Payload<'_>) -> Option<String> {
    if let Some(error) = answer.raw("error").filter(|raw| *raw != "null") {
        let message = Payload::read(error).ok().and_then(|error| error.text("message"));
        return Some(match message.or_else(|| answer.text("llmContent")) {
            Some(message) => message.into_owned(),
            None => error.to_owned(),
        });
    }
    let printed = answer.text("llmContent")?;
    let status = printed
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("Exit Code: "))?;
    (status != "0" && status != "(none)").then(|| format!("Exit code {status}\n{printed}"))
}
