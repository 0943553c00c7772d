//! VS Code. After its documentation of June 2026: the MCP server is registered. Its own hooks are a preview that reads
//! Copilot CLI's file, so `copilot-cli` is what turns them on.

use serde_json::{Value, json};

use super::{HostSpec, Part, Place, Silence};

#[cfg(target_os = "macos")]
const FOLDER: &str = "Library/Application Support/Code/User";
#[cfg(not(target_os = "macos"))]
const FOLDER: &str = ".config/Code/User";

pub(super) static SPEC: HostSpec = HostSpec {
    name: "vscode",
    title: "VS Code",
    signs: &[Place::home(FOLDER, "")],
    hooks: &[],
    parts: &[Part::Server {
        file: Place::home(FOLDER, "mcp.json"),
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
