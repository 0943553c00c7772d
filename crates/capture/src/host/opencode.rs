//! `OpenCode`. After its plugin interface, and seen with the real client, 1.18: hooks are functions of a plugin, which ours
//! turns into calls of `backstory hook`.

use serde_json::{Value, json};

use super::{
    ConfigPath, DefaultOutput, HostPayload, HostSpec, InjectionTrigger, InstallItem, NormalizedPayload,
    OutputFormat,
    object::{Object, renamed},
};

pub(super) static SPEC: HostSpec = HostSpec {
    name: "opencode",
    title: "OpenCode",
    install_markers: &[place("")],
    hooks: &[],
    parts: &[
        InstallItem::File {
            file: place("plugins/backstory.js"),
            text: include_str!("opencode.js"),
        },
        InstallItem::Server {
            file: place("opencode.json"),
            instead: Some(place("opencode.jsonc")),
            key: "mcp",
            entry: server,
        },
    ],
    normalize: Some(translate),
    injection_points: &[
        (InjectionTrigger::Start, OutputFormat::Field("context")),
        (InjectionTrigger::Prompt, OutputFormat::Field("context")),
        (InjectionTrigger::Failure, OutputFormat::Field("context")),
    ],
    silence: DefaultOutput::Nothing,
    rules: None,
    wants_plain_json: false,
    post_install_note: None,
};

const fn place(path: &'static str) -> ConfigPath {
    ConfigPath {
        variable: Some("OPENCODE_CONFIG_DIR"),
        folder: ".config/opencode",
        path,
    }
}

fn server(program: &str) -> Value {
    json!({"type": "local", "command": [program, "mcp"], "enabled": true})
}

/// Our plugin speaks our words; the arguments of tools are `OpenCode`'s.
fn translate(report: &HostPayload<'_>) -> Option<NormalizedPayload> {
    const NAMES: [(&str, &str); 3] = [
        ("filePath", "file_path"),
        ("oldString", "old_string"),
        ("newString", "new_string"),
    ];
    let payload = report.payload;
    let input = payload.raw("tool_input").map(|raw| renamed(raw, &NAMES));
    let object = Object::new()
        .take("session_id", payload, &["session_id"])
        .take("prompt_id", payload, &["prompt_id"])
        .take("cwd", payload, &["cwd"])
        .take("source", payload, &["source"])
        .take("prompt", payload, &["prompt"])
        .take("tool_name", payload, &["tool_name"])
        .take("tool_use_id", payload, &["tool_use_id"])
        .raw("tool_input", input.as_deref())
        .take("last_assistant_message", payload, &["last_assistant_message"])
        .take("reason", payload, &["reason"]);
    let event = super::our_event(report.event)?;
    let status = payload
        .raw("exit")
        .filter(|status| !matches!(*status, "0" | "null"));
    let (event, object) = match (event, status) {
        ("post-tool-use", Some(status)) => {
            let printed = payload.text("tool_response").unwrap_or_default();
            let error = format!("Exit code {status}\n{printed}");
            ("post-tool-use-failure", object.text("error", &error))
        }
        _ => (event, object.take("tool_response", payload, &["tool_response"])),
    };
    Some(NormalizedPayload {
        event,
        json: object.end(),
    })
}
