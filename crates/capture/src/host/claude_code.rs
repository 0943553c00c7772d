//! Claude Code. Verified with the real client, versions 2.1.197 to 2.1.325: `testdata/claude-code`.

use serde_json::{Value, json};

use super::spec::{
    ConfigPath, DefaultOutput, HookRow, HostSpec, InjectionTrigger, InstallItem, OutputFormat, shell_word,
};

const FOLDER: Option<&str> = Some("CLAUDE_CONFIG_DIR");

/// Returns a file of the plugin, marked as ours. The mark is at the end: the first line starts the front matter.
macro_rules! marked {
    ($path:literal) => {
        concat!(
            include_str!(concat!("../../../../plugin/", $path)),
            "\n<!-- Written by `backstory install`; `backstory uninstall` removes it. -->\n"
        )
    };
}

pub(super) static SPEC: HostSpec = HostSpec {
    name: "claude-code",
    title: "Claude Code",
    install_markers: &[config_path(".claude", ""), config_path("", ".claude.json")],
    // Only events that all supported versions know: a client stops with a dialog at an unknown one.
    hooks: &[
        HookRow::new("SessionStart", "session-start"),
        HookRow::new("UserPromptSubmit", "user-prompt-submit"),
        HookRow::matching("PreToolUse", "pre-tool-use", "Read|Edit|Write|Bash"),
        HookRow::new("PostToolUse", "post-tool-use"),
        HookRow::new("PostToolUseFailure", "post-tool-use-failure"),
        HookRow::new("Stop", "stop"),
        HookRow::new("SubagentStop", "subagent-stop"),
        HookRow::new("PreCompact", "pre-compact"),
        HookRow::new("SessionEnd", "session-end"),
    ],
    parts: &[
        InstallItem::Hooks {
            file: config_path(".claude", "settings.json"),
            version: None,
            entry,
        },
        InstallItem::StatusLine {
            file: config_path(".claude", "settings.json"),
            entry: status_line,
        },
        InstallItem::Server {
            file: config_path("", ".claude.json"),
            instead: None,
            key: "mcpServers",
            entry: server,
        },
        InstallItem::File {
            file: config_path(".claude", "skills/backstory-search/SKILL.md"),
            text: marked!("skills/search/SKILL.md"),
        },
        InstallItem::File {
            file: config_path(".claude", "commands/backstory-remember.md"),
            text: marked!("commands/remember.md"),
        },
        InstallItem::File {
            file: config_path(".claude", "commands/backstory-status.md"),
            text: marked!("commands/status.md"),
        },
        InstallItem::File {
            file: config_path(".claude", "commands/backstory-off.md"),
            text: marked!("commands/off.md"),
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
        (InjectionTrigger::Command, OutputFormat::Specific("PreToolUse")),
        (
            InjectionTrigger::Failure,
            OutputFormat::Specific("PostToolUseFailure"),
        ),
        (InjectionTrigger::Answer, OutputFormat::Specific("PostToolUse")),
    ],
    can_ask: true,
    silence: DefaultOutput::AfterWork("{\"continue\":true,\"suppressOutput\":true}\n"),
    rules: None,
    wants_plain_json: true,
    post_install_note: None,
    resume: Some(&["claude", "--resume"]),
};

const fn config_path(folder: &'static str, path: &'static str) -> ConfigPath {
    ConfigPath {
        variable: FOLDER,
        folder,
        path,
    }
}

/// Returns a hook entry that runs the program without a shell.
fn entry(row: &HookRow, program: &str) -> Value {
    let mut hook = json!({"type": "command", "command": program, "args": ["hook", row.ours]});
    if row.ours == "session-end" {
        // By default the client waits for only 1.5 seconds.
        hook["timeout"] = 10.into();
    }
    match row.matcher {
        Some(matcher) => json!({"matcher": matcher, "hooks": [hook]}),
        None => json!({"hooks": [hook]}),
    }
}

fn status_line(program: &str) -> Value {
    json!({"type": "command", "command": format!("{} statusline", shell_word(program))})
}

/// Returns the server entry. The tools are few and short, so they are always loaded.
fn server(program: &str) -> Value {
    json!({"type": "stdio", "command": program, "args": ["mcp"], "alwaysLoad": true})
}
