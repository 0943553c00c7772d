//! `OpenCode`. Written from its plugin interface, verified with the real client, version 1.18. Hooks are functions of a
//! plugin; ours calls `backstory hook`.

use serde_json::{Value, json};

use super::{
    object::{Object, renamed},
    spec::{
        ConfigPath, DefaultOutput, HostPayload, HostSpec, InjectionTrigger, InstallItem, NormalizedPayload,
        OutputFormat, our_event,
    },
};

pub(super) static SPEC: HostSpec = HostSpec {
    name: "opencode",
    title: "OpenCode",
    install_markers: &[config_path("")],
    hooks: &[],
    parts: &[
        InstallItem::File {
            file: config_path("plugins/backstory.js"),
            text: include_str!("opencode.js"),
        },
        InstallItem::Server {
            file: config_path("opencode.json"),
            instead: Some(config_path("opencode.jsonc")),
            key: "mcp",
            entry: server,
        },
    ],
    normalize: Some(normalize),
    injection_points: &[
        (InjectionTrigger::Start, OutputFormat::Field("context")),
        (InjectionTrigger::Prompt, OutputFormat::Field("context")),
        (InjectionTrigger::Failure, OutputFormat::Field("context")),
        (InjectionTrigger::Answer, OutputFormat::Field("context")),
    ],
    can_ask: false,
    silence: DefaultOutput::Nothing,
    rules: None,
    wants_plain_json: false,
    post_install_note: None,
    resume: Some(&["opencode", "--session"]),
};

const fn config_path(path: &'static str) -> ConfigPath {
    ConfigPath {
        variable: Some("OPENCODE_CONFIG_DIR"),
        folder: ".config/opencode",
        path,
    }
}

fn server(program: &str) -> Value {
    json!({"type": "local", "command": [program, "mcp"], "enabled": true})
}

/// Maps the names of tool arguments, which are `OpenCode`'s. All other names are chosen by our plugin.
fn normalize(report: &HostPayload<'_>) -> Option<NormalizedPayload> {
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
    let event = our_event(report.event)?;
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
