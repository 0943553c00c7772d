//! VS Code. Written from its documentation of June 2026. Only the MCP server is registered: its hooks are a preview
//! that reads Copilot CLI's file, so installing `copilot-cli` enables them.

use backstory_system::SETTINGS_FOLDER;
use serde_json::{Value, json};

use super::spec::{ConfigPath, DefaultOutput, HostSpec, InstallItem};

pub(super) static SPEC: HostSpec = HostSpec {
    name: "vscode",
    title: "VS Code",
    install_markers: &[ConfigPath::home(SETTINGS_FOLDER, "Code/User")],
    hooks: &[],
    parts: &[InstallItem::Server {
        file: ConfigPath::home(SETTINGS_FOLDER, "Code/User/mcp.json"),
        instead: None,
        key: "servers",
        entry: server,
    }],
    normalize: None,
    injection_points: &[],
    can_ask: false,
    silence: DefaultOutput::Nothing,
    rules: None,
    wants_plain_json: false,
    post_install_note: Some("VS Code asks whether it may start the server when its tools are first used."),
    resume: None,
};

fn server(program: &str) -> Value {
    json!({"type": "stdio", "command": program, "args": ["mcp"]})
}
