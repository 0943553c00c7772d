//! Codex CLI. Written from its hook schemas and documentation, verified with the real client, version 0.166. It does
//! not report exit codes, so failures are recorded like successes.

use serde_json::{Value, json};

use super::{
    object::{Object, renamed},
    spec::{
        BEFORE_TOOL, ConfigPath, DefaultOutput, HookRow, HostPayload, HostSpec, InjectionTrigger,
        InstallItem, NormalizedPayload, OutputFormat, our_event,
    },
};

pub(super) static SPEC: HostSpec = HostSpec {
    name: "codex",
    title: "Codex CLI",
    install_markers: &[config_path("")],
    hooks: &[
        HookRow::new("SessionStart", "session-start"),
        HookRow::new("UserPromptSubmit", "user-prompt-submit"),
        HookRow::matching("PreToolUse", BEFORE_TOOL, "Bash"),
        HookRow::new("PostToolUse", "post-tool-use"),
        HookRow::new("Stop", "stop"),
        HookRow::new("PreCompact", "pre-compact"),
        HookRow::new("SessionEnd", "session-end"),
    ],
    parts: &[
        InstallItem::Hooks {
            file: config_path("hooks.json"),
            version: None,
            entry,
        },
        InstallItem::ServerToml {
            file: config_path("config.toml"),
            key: "mcp_servers",
        },
    ],
    normalize: Some(normalize),
    injection_points: &[
        (InjectionTrigger::Start, OutputFormat::Specific("SessionStart")),
        (
            InjectionTrigger::Prompt,
            OutputFormat::Specific("UserPromptSubmit"),
        ),
        (InjectionTrigger::Command, OutputFormat::Specific("PreToolUse")),
    ],
    // Its schema knows the decision `ask`, but its documentation does not say that it asks; not tried with the client.
    can_ask: false,
    silence: DefaultOutput::Nothing,
    rules: None,
    wants_plain_json: false,
    post_install_note: Some("Codex runs a new hook only when you have trusted it: type /hooks in Codex."),
    resume: Some(&["codex", "resume"]),
};

const fn config_path(path: &'static str) -> ConfigPath {
    ConfigPath {
        variable: Some("CODEX_HOME"),
        folder: ".codex",
        path,
    }
}

fn entry(row: &HookRow, program: &str) -> Value {
    let hooks = json!([{"type": "command", "command": row.shell(program, "codex"), "timeout": 10}]);
    match row.matcher {
        Some(matcher) => json!({"matcher": matcher, "hooks": hooks}),
        None => json!({ "hooks": hooks }),
    }
}

/// Maps Codex's names, which are Claude Code's except that a turn has its own id and a patch is called a command. Its
/// transcript has another format and is not passed on.
fn normalize(report: &HostPayload<'_>) -> Option<NormalizedPayload> {
    let payload = report.payload;
    let event = our_event(report.event)?;
    let is_patch = payload.text("tool_name").as_deref() == Some("apply_patch");
    let names: &[(&str, &str)] = if is_patch { &[("command", "patch")] } else { &[] };
    let input = payload.raw("tool_input").map(|raw| renamed(raw, names));
    let json = Object::new()
        .take("session_id", payload, &["session_id"])
        .take("prompt_id", payload, &["turn_id"])
        .take("cwd", payload, &["cwd"])
        .take("model", payload, &["model"])
        .take("source", payload, &["source"])
        .take("prompt", payload, &["prompt"])
        .take("tool_name", payload, &["tool_name"])
        .take("tool_use_id", payload, &["tool_use_id"])
        .raw("tool_input", input.as_deref())
        .take("tool_response", payload, &["tool_response"])
        .take("last_assistant_message", payload, &["last_assistant_message"])
        .take("trigger", payload, &["trigger"])
        .take("reason", payload, &["reason"])
        .end();
    Some(NormalizedPayload { event, json })
}
