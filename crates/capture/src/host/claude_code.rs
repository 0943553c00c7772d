//! Claude Code. Seen with the real client, 2.1.197 to 2.1.325: `testdata/claude-code`.

use serde_json::{Value, json};

use super::{ConfigPath, DefaultOutput, HookRow, HostSpec, InjectionTrigger, InstallItem, OutputFormat};

const FOLDER: Option<&str> = Some("CLAUDE_CONFIG_DIR");

pub(super) static SPEC: HostSpec = HostSpec {
    name: "claude-code",
    title: "Claude Code",
    install_markers: &[place(".claude", ""), place("", ".claude.json")],
    // Old events only: a client that does not know one stops at a dialog.
    hooks: &[
        HookRow::new("SessionStart", "session-start"),
        HookRow::new("UserPromptSubmit", "user-prompt-submit"),
        HookRow::matching("PreToolUse", "pre-tool-use", "Read|Edit|Write"),
        HookRow::new("PostToolUse", "post-tool-use"),
        HookRow::new("PostToolUseFailure", "post-tool-use-failure"),
        HookRow::new("Stop", "stop"),
        HookRow::new("SubagentStop", "subagent-stop"),
        HookRow::new("PreCompact", "pre-compact"),
        HookRow::new("SessionEnd", "session-end"),
    ],
    parts: &[
        InstallItem::Hooks {
            file: place(".claude", "settings.json"),
            version: None,
            entry,
        },
        InstallItem::Server {
            file: place("", ".claude.json"),
            instead: None,
            key: "mcpServers",
            entry: server,
        },
    ],
    normalize: None,
    injection_points: &[
        (InjectionTrigger::Start, OutputFormat::Specific("SessionStart")),
        (
            InjectionTrigger::Prompt,
            OutputFormat::Specific("UserPromptSubmit"),
        ),
        (InjectionTrigger::File, OutputFormat::Specific("PreToolUse")),
        (
            InjectionTrigger::Failure,
            OutputFormat::Specific("PostToolUseFailure"),
        ),
    ],
    silence: DefaultOutput::AfterWork("{\"continue\":true,\"suppressOutput\":true}\n"),
    rules: None,
    wants_plain_json: true,
    post_install_note: None,
};

const fn place(folder: &'static str, path: &'static str) -> ConfigPath {
    ConfigPath {
        variable: FOLDER,
        folder,
        path,
    }
}

/// No shell stands between the client and us.
fn entry(row: &HookRow, program: &str) -> Value {
    let mut hook = json!({"type": "command", "command": program, "args": ["hook", row.ours]});
    if row.ours == "session-end" {
        // Unless told otherwise the client waits for a second and a half only.
        hook["timeout"] = 10.into();
    }
    match row.matcher {
        Some(matcher) => json!({"matcher": matcher, "hooks": [hook]}),
        None => json!({"hooks": [hook]}),
    }
}

/// The tools are few and short: they need not be looked for before they are used.
fn server(program: &str) -> Value {
    json!({"type": "stdio", "command": program, "args": ["mcp"], "alwaysLoad": true})
}
