//! Windsurf. Written from the documentation of its Cascade hooks of 2026; not verified with the editor. Its hooks
//! cannot inject text, so it reads a rules file.

use serde_json::{Value, json};

use super::{
    object::Object,
    spec::{
        ConfigPath, DefaultOutput, HookRow, HostPayload, HostSpec, InstallItem, NormalizedPayload, RulesFile,
        plain_server,
    },
};
use crate::payload::Payload;

const FOLDER: &str = ".codeium/windsurf";

pub(super) static SPEC: HostSpec = HostSpec {
    name: "windsurf",
    title: "Windsurf",
    install_markers: &[ConfigPath::home(FOLDER, "")],
    hooks: &[
        HookRow::new("pre_user_prompt", "user-prompt-submit"),
        HookRow::new("post_read_code", "post-tool-use"),
        HookRow::new("post_write_code", "post-tool-use"),
        HookRow::new("post_run_command", "post-tool-use"),
        HookRow::new("post_mcp_tool_use", "post-tool-use"),
        HookRow::new("post_cascade_response", "stop"),
    ],
    parts: &[
        InstallItem::Hooks {
            file: ConfigPath::home(FOLDER, "hooks.json"),
            version: None,
            entry,
        },
        InstallItem::Server {
            file: ConfigPath::home(FOLDER, "mcp_config.json"),
            instead: None,
            key: "mcpServers",
            entry: plain_server,
        },
    ],
    normalize: Some(normalize),
    injection_points: &[],
    can_ask: false,
    silence: DefaultOutput::Nothing,
    rules: Some(RulesFile {
        path: ".windsurf/rules/backstory-context.md",
        head: "---\ntrigger: always_on\n---\n",
    }),
    wants_plain_json: false,
    post_install_note: None,
    resume: None,
};

fn entry(row: &HookRow, program: &str) -> Value {
    json!({"command": row.shell(program, "windsurf"), "show_output": false})
}

/// Maps Windsurf's names: a trajectory is a session, an execution is a turn. The working folder is that of the hook
/// process, which runs in the workspace.
fn normalize(report: &HostPayload<'_>) -> Option<NormalizedPayload> {
    let payload = report.payload;
    let info = payload.raw("tool_info").unwrap_or("{}");
    let info = Payload::read(info).ok()?;
    let base = Object::new()
        .take("session_id", payload, &["trajectory_id"])
        .take("prompt_id", payload, &["execution_id"])
        .text("cwd", report.folder);
    let action = payload.text("agent_action_name")?;
    let (event, object) = match action.as_ref() {
        "pre_user_prompt" => ("user-prompt-submit", base.take("prompt", &info, &["user_prompt"])),
        "post_cascade_response" => ("stop", base.take("last_assistant_message", &info, &["response"])),
        "post_read_code" => {
            let path = Object::new().take("file_path", &info, &["file_path"]);
            let answer = Object::new().take("content", &info, &["content"]);
            ("post-tool-use", tool(base, "Read", path, answer))
        }
        "post_write_code" => {
            let input =
                Object::new()
                    .take("file_path", &info, &["file_path"])
                    .take("edits", &info, &["edits"]);
            let answer = Object::new().take("filePath", &info, &["file_path"]);
            ("post-tool-use", tool(base, "MultiEdit", input, answer))
        }
        "post_run_command" => return Some(command(&info, base)),
        "post_mcp_tool_use" => {
            let text = |name: &str| info.text(name).unwrap_or_default();
            let name = format!("mcp__{}__{}", text("mcp_server_name"), text("mcp_tool_name"));
            let object = base
                .text("tool_name", &name)
                .take("tool_input", &info, &["mcp_tool_arguments"])
                .take("tool_response", &info, &["mcp_result"]);
            ("post-tool-use", object)
        }
        _ => return None,
    };
    Some(NormalizedPayload {
        event,
        json: object.end(),
    })
}

fn tool(base: Object, name: &str, input: Object, answer: Object) -> Object {
    base.text("tool_name", name)
        .raw("tool_input", Some(&input.end()))
        .raw("tool_response", Some(&answer.end()))
}

/// Maps a command. Newer versions report its exit code.
fn command(info: &Payload<'_>, base: Object) -> NormalizedPayload {
    let input = Object::new().take("command", info, &["command_line"]);
    let object = base
        .text("tool_name", "Bash")
        .raw("tool_input", Some(&input.end()));
    match info
        .raw("exit_code")
        .filter(|status| !matches!(*status, "0" | "null"))
    {
        Some(status) => {
            let printed = info.text("output").unwrap_or_default();
            NormalizedPayload {
                event: "post-tool-use-failure",
                json: object
                    .text("error", &format!("Exit code {status}\n{printed}"))
                    .end(),
            }
        }
        None => {
            let answer = Object::new().take("stdout", info, &["output"]);
            NormalizedPayload {
                event: "post-tool-use",
                json: object.raw("tool_response", Some(&answer.end())).end(),
            }
        }
    }
}
