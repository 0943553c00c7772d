//! Editors of settings files: one key changes, the file stays valid, and removal undoes an addition.
#![no_main]

use backstory_capture::host;
use libfuzzer_sys::fuzz_target;
use serde_json::json;

// Modules of the binary and the engine, included by path.
#[expect(dead_code, reason = "only a part is used here")]
#[path = "../../crates/backstory/src/command/install/json.rs"]
mod json;
#[path = "../../crates/backstory/src/command/install/owned_entries.rs"]
mod owned_entries;
#[expect(dead_code, reason = "only a part is used here")]
#[path = "../../crates/engine/src/settings"]
mod toml_file {
    mod document;
    mod keys;
    mod suggest;

    use keys::KEYS;

    /// Sets and unsets two keys; all keys would take a hundred times as long.
    pub(crate) fn edit(text: &str) {
        let is_toml = text.parse::<toml::Table>().is_ok();
        for key in KEYS.iter().skip(text.len() % KEYS.len()).take(2) {
            let value = match key.kind.is_list() {
                true => toml::Value::Array(vec!["one".into(), "two".into()]),
                false => toml::Value::Integer(7),
            };
            if let Ok(new) = document::set(text, key, &value) {
                assert!(is_toml, "invalid TOML was edited");
                let table: toml::Table = new.parse().unwrap();
                assert_eq!(table[key.section][key.name], value, "{new}");
            }
            if let Ok(new) = document::unset(text, key) {
                let table: toml::Table = new.parse().unwrap();
                let section = table.get(key.section).and_then(toml::Value::as_table);
                assert!(
                    section.is_none_or(|section| !section.contains_key(key.name)),
                    "{new}"
                );
            }
        }
    }
}

fn edit_json(text: &str) {
    let Ok(document) = json::Document::read(text) else {
        return;
    };
    assert_eq!(document.text(), text);
    let row = &host::HOSTS[0].hooks[0];
    let entry = json!({"hooks": [{"type": "command", "command": "/usr/bin/backstory hook stop"}]});
    let server = json!({"command": "/usr/bin/backstory", "args": ["mcp"]});
    if document.add_hook(row, &entry).is_err() || document.add_server("mcpServers", &server).is_err() {
        return;
    }
    let with = document.text();
    let again = json::Document::read(&with).expect("the edited file is valid");
    again.remove_hooks();
    again.remove_server("mcpServers");
    let without = again.text();
    assert!(json::Document::read(&without).is_ok(), "{without}");
    assert!(
        !without.contains("/usr/bin/backstory") || text.contains("backstory"),
        "{without}"
    );
}

fuzz_target!(|text: &str| {
    toml_file::edit(text);
    edit_json(text);
});
