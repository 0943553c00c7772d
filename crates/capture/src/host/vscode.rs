//! VS Code. After its documentation of June 2026: the MCP server is registered. Its own hooks are a preview that reads
//! Copilot CLI's file, so `copilot-cli` is what turns them on.

use backstory_system::SETTINGS_FOLDER;
use serde_json::{Value, json};

use super::{HostSpec, Part, Place, Silence};

pub(super) static SPEC: HostSpec = HostSpec {
    name: "vscode",
    title: "VS Code",
    signs: &[Place::home(SETTINGS_FOLDER, "Code/User")],
    hooks: &[],
    parts: &[Part::Server {
        file: Place::home(SETTINGS_FOLDER, "Code/User/mcp.json"),
        instead: None,
        key: "servers",
        entry: server,
    }],
    translate: None,
    hears: &[],
    silence: Silence::Nothing,
    rules: None,
    wants_plain_json: false,
    afterwards: Some("VS Code asks whether it may start the server when its tools are first used."),
};

fn server(program: &str) -> Value {
    json!({"type": "stdio", "command": program, "args": ["mcp"]})
}
