//! The real binary in a hermetic home. One file per subject; a new subject needs a line here.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, start programs and write files directly"
)]
// The harness supports Unix only; `e2e/windows` tests the Windows build.
#![cfg(unix)]

mod backup;
mod before_command;
mod branches;
mod capture_off;
mod claude;
mod claude_mem;
mod config;
mod context;
mod degraded_system;
mod distill;
mod docs;
mod doctor;
mod durability;
mod export_import;
mod fake_provider;
mod faults;
mod forget;
mod forks;
mod golden;
mod help;
mod history;
mod home;
mod home_folder;
mod hooks;
mod hostile;
mod hosts;
mod http;
mod http_client;
mod impact;
mod import;
mod install;
mod json_output;
mod layers;
mod logins;
mod mcp;
mod memory;
mod model_budget;
mod models;
mod module_graph;
mod network;
mod off_the_record;
mod open_items;
mod picker;
mod plugin;
mod poison;
mod privacy;
mod project_lookup;
mod projects;
mod provider_errors;
mod queue;
mod recall;
mod receipts;
mod reindex;
mod search;
mod session_lifecycle;
mod session_status;
mod sessions;
mod setup;
mod shell;
mod sse;
mod status;
mod statusline;
mod survival;
mod team;
mod team_exchange;
mod team_offline;
mod team_opinions;
mod team_search;
mod terminal;
mod tmux;
mod uninstall;
mod viewer;
mod worker;

/// A file that is not listed here would never run.
#[test]
fn every_file_of_this_folder_is_listed() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let main = std::fs::read_to_string(folder.join("main.rs")).unwrap();
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(module) = name.strip_suffix(".rs").filter(|module| *module != "main") else {
            continue;
        };
        assert!(
            main.contains(&format!("mod {module};")),
            "{name} is not listed in main.rs"
        );
    }
}
