//! What is a person's own stays, and what is ours goes, wherever it was put.

use std::{fs, path::PathBuf};

use crate::home::Home;

/// A home in which a file of the user's holds this.
fn home_with(path: &str, content: &str) -> (Home, PathBuf) {
    let home = Home::new();
    let path = home.outside().join("home").join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, content).unwrap();
    (home, path)
}

#[test]
fn what_a_person_wrote_stays_though_it_calls_us() {
    let line = r#"{ "command": "/home/me/notify.sh && /usr/bin/backstory hook stop", "type": "command" }"#;
    let hooks = format!("{{\n  \"hooks\": {{ \"Stop\": [{{ \"hooks\": [{line}] }}] }}\n}}\n");
    let server = "{\n  \"mcpServers\": { \"backstory\": { \"command\": \"/x/backstory\", \"args\": [\"mcp\"], \"env\": { \"BACKSTORY_HOME\": \"/y\" } } }\n}\n";
    let table = "[mcp_servers.backstory]\ncommand = \"/x/backstory\"\nargs = [\"mcp\"]\n\n[mcp_servers.backstory.env]\nBACKSTORY_HOME = \"/y\"\n";
    for (host, path, before, theirs) in [
        ("claude-code", ".claude/settings.json", hooks.as_str(), line),
        ("claude-code", ".claude.json", server, "\"/y\""),
        ("codex", ".codex/config.toml", table, "\"/y\""),
    ] {
        let (home, path) = home_with(path, before);
        home.ok(&["install", host, "--yes"]);
        let installed = fs::read_to_string(&path).unwrap();
        assert!(installed.contains(theirs), "{installed}");
        home.ok(&["uninstall", "--yes"]);
        assert_eq!(fs::read_to_string(&path).unwrap(), before);
    }
}
