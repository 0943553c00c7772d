//! Generates payloads of a given size as Claude Code sends them.

use std::{fmt, path::Path};

use serde_json::{Value, json};

use crate::{
    random::Random,
    text::{Style, text},
};

/// Kind of payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A command with its output.
    Bash,
    /// The same with private spans and secrets in it.
    Secrets,
    /// An edit, with the original file.
    Edit,
    /// A new file; the payload contains its text twice.
    Write,
    /// A user prompt.
    Prompt,
    Stop,
    SessionStart,
    PreToolUse,
    /// Input of the status line: not a hook, but run as often.
    Statusline,
}

impl Shape {
    /// Returns the name of the hook.
    pub(crate) fn hook(self) -> &'static str {
        match self {
            Self::Bash | Self::Secrets | Self::Edit | Self::Write => "post-tool-use",
            Self::Prompt => "user-prompt-submit",
            Self::Stop => "stop",
            Self::SessionStart => "session-start",
            Self::PreToolUse => "pre-tool-use",
            Self::Statusline => "statusline",
        }
    }

    /// Returns the command-line arguments.
    pub(crate) fn arguments(self) -> Vec<&'static str> {
        match self {
            Self::Statusline => vec!["statusline"],
            _ => vec!["hook", self.hook()],
        }
    }

    /// Returns whether an event is recorded.
    pub(crate) fn records(self) -> bool {
        !matches!(self, Self::PreToolUse | Self::Statusline)
    }

    /// Returns the name that distinguishes payloads of the same hook.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bash => "Bash",
            Self::Secrets => "Bash, secrets",
            Self::Edit => "Edit",
            Self::Write => "Write",
            Self::Prompt => "prompt",
            Self::PreToolUse => "Write",
            Self::Stop | Self::SessionStart | Self::Statusline => "",
        }
    }
}

/// Size of a payload in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) usize);

impl Size {
    /// Common fields only.
    pub(crate) const MIN: Self = Self(0);
    pub(crate) const SMALL: Self = Self(1 << 10);
    pub(crate) const MEDIUM: Self = Self(50 << 10);
    pub(crate) const LARGE: Self = Self(1 << 20);
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("min"),
            1..0x10_0000 => write!(f, "{} KB", self.0 >> 10),
            _ => write!(f, "{} MB", self.0 >> 20),
        }
    }
}

/// Content of private spans; must never be in a spool.
pub(crate) const PRIVATE_WORD: &str = "quiet-otter-under-the-bridge";

/// Returns fake secrets. Concatenated at run time, so that secret scanners do not report this file.
pub(crate) fn secrets() -> [String; 2] {
    [
        ["AKIA", "Q3EGRZJ5TVWXNKP7"].concat(),
        ["ghp", "_", "h4Qz8LmT2vXc9RbK6wYn", "J3sD7fGp1EaU5oHi"].concat(),
    ]
}

/// Generates a payload; `id` becomes the id of the tool use.
pub(crate) fn payload(shape: Shape, size: Size, project: &Path, session: &str, id: &str) -> String {
    let frame = frame(shape, project, session, id);
    let empty = filled(&frame, shape, 0).len();
    // Escapes lengthen the text: measured once, then corrected.
    let target = size.0.saturating_sub(empty);
    let first = filled(&frame, shape, target).len() - empty;
    filled(&frame, shape, target * target / first.max(1))
}

fn frame(shape: Shape, project: &Path, session: &str, id: &str) -> Value {
    let mut frame = json!({
        "session_id": session,
        "transcript_path": format!("/home/dev/.claude/projects/-home-dev-acme/{session}.jsonl"),
        "cwd": project,
        "prompt_id": "5b0e1f52-8a8e-4a7c-9f7e-3d1c2b4a6e01",
        "permission_mode": "default",
    });
    let is_tool = matches!(shape.hook(), "post-tool-use" | "pre-tool-use");
    if is_tool {
        frame["tool_use_id"] = json!(id);
        frame["effort"] = json!({"level": "medium"});
    }
    if shape == Shape::Statusline {
        frame["workspace"] = json!({"current_dir": project, "project_dir": project});
        frame["model"] = json!({"id": "claude-opus", "display_name": "Opus"});
        frame["cost"] =
            json!({"total_cost_usd": 0.42, "total_duration_ms": 180_000, "total_lines_added": 156});
    }
    frame
}

/// Path of the edited file.
const FILE: &str = "/home/dev/acme/src/session.rs";

fn filled(frame: &Value, shape: Shape, length: usize) -> String {
    let mut payload = frame.clone();
    let mut set = |name: &str, value: Value| payload[name] = value;
    let mut random = Random::new(length as u64);
    let mut piece = |style, length| text(style, length, &mut random);
    match shape {
        Shape::Bash | Shape::Secrets => {
            let plain = piece(Style::Log, length);
            let stdout = if shape == Shape::Secrets {
                with_secrets(&plain)
            } else {
                plain
            };
            set("hook_event_name", json!("PostToolUse"));
            set("tool_name", json!("Bash"));
            set(
                "tool_input",
                json!({"command": "cargo test --workspace", "description": "Run the tests"}),
            );
            set(
                "tool_response",
                json!({"stdout": stdout, "stderr": "", "interrupted": false, "isImage": false}),
            );
            set("duration_ms", json!(8812));
        }
        Shape::Edit => {
            let (old, new) = (piece(Style::Code, length / 12), piece(Style::Code, length / 12));
            let lines: Vec<String> = old
                .lines()
                .map(|l| format!("-{l}"))
                .chain(new.lines().map(|l| format!("+{l}")))
                .collect();
            let original = piece(Style::Code, length / 2);
            set("hook_event_name", json!("PostToolUse"));
            set("tool_name", json!("Edit"));
            set(
                "tool_input",
                json!({"file_path": FILE, "old_string": old, "new_string": new, "replace_all": false}),
            );
            set(
                "tool_response",
                json!({"filePath": FILE, "oldString": old, "newString": new, "originalFile": original,
                "structuredPatch": [{"oldStart": 1, "oldLines": 9, "newStart": 1, "newLines": 9, "lines": lines}],
                "userModified": false, "replaceAll": false}),
            );
        }
        Shape::Write => {
            let content = piece(Style::Code, length / 2);
            set("hook_event_name", json!("PostToolUse"));
            set("tool_name", json!("Write"));
            set("tool_input", json!({"file_path": FILE, "content": content}));
            set(
                "tool_response",
                json!({"type": "create", "filePath": FILE, "content": content, "structuredPatch": [],
                "originalFile": null, "userModified": false}),
            );
        }
        Shape::Prompt => {
            set("hook_event_name", json!("UserPromptSubmit"));
            set("prompt", json!(piece(Style::Prose, length)));
        }
        Shape::Stop => {
            set("hook_event_name", json!("Stop"));
            set("stop_hook_active", json!(false));
            set("last_assistant_message", json!(piece(Style::Prose, length)));
        }
        Shape::SessionStart => {
            set("hook_event_name", json!("SessionStart"));
            set("source", json!("startup"));
        }
        Shape::Statusline => set("hook_event_name", json!("Status")),
        Shape::PreToolUse => {
            set("hook_event_name", json!("PreToolUse"));
            set("tool_name", json!("Write"));
            set(
                "tool_input",
                json!({"file_path": FILE, "content": piece(Style::Code, length)}),
            );
        }
    }
    payload.to_string()
}

/// Inserts a private span or a secret every 4 KB.
fn with_secrets(plain: &str) -> String {
    let [key, token] = secrets();
    let mut out = String::with_capacity(plain.len() + plain.len() / 32);
    let mut due = 512;
    for (number, line) in plain.split_inclusive('\n').enumerate() {
        out.push_str(line);
        if out.len() >= due {
            due = out.len() + 4096;
            out.push_str(&match number % 3 {
                0 => format!("<private>{PRIVATE_WORD}</private>\n"),
                1 => format!("aws_access_key_id = {key}\n"),
                _ => format!("git clone https://{token}@github.com/acme/app\n"),
            });
        }
    }
    // One of each is always in the part that is kept.
    format!("<private>{PRIVATE_WORD}</private>\nid = {key}\nexport GITHUB_TOKEN={token}\n{out}")
}
