//! Uninstall: the user's entries stay, and ours are removed everywhere.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use crate::home::{Home, run};

/// Returns a home with a user's file.
fn home_with(path: &str, content: &str) -> (Home, PathBuf) {
    let home = Home::new();
    let path = home.outside().join("home").join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, content).unwrap();
    (home, path)
}

#[test]
fn entries_of_the_user_that_call_backstory_stay() {
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

#[test]
fn files_in_another_folder_are_found_by_the_receipt() {
    let home = Home::new();
    let folder = home.outside().join("cc");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("settings.json"), "{ \"model\": \"opus\" }\n").unwrap();
    let mut command = home.command(&["install", "claude-code", "--yes"]);
    command.env("CLAUDE_CONFIG_DIR", &folder);
    assert!(run(command, b"").status.success());
    let receipt = home.path().join("installed.json");
    let noted = fs::read(&receipt).unwrap();

    let shown = home.ok(&["uninstall", "--dry-run"]);
    assert!(
        shown.contains("cc/settings.json (Claude Code) will be changed"),
        "{shown}"
    );
    assert_eq!(fs::read(&receipt).unwrap(), noted);
    home.ok(&["uninstall", "--yes"]);
    assert_eq!(
        fs::read_to_string(folder.join("settings.json")).unwrap(),
        "{ \"model\": \"opus\" }\n"
    );
    assert!(!folder.join(".claude.json").exists() && !receipt.exists());
}

#[test]
fn a_file_superseded_by_another_is_restored_too() {
    let home = Home::new();
    home.ok(&["install", "opencode", "--yes"]);
    let folder = home.outside().join("home/.config/opencode");
    assert!(folder.join("opencode.json").exists());
    fs::write(folder.join("opencode.jsonc"), "{}\n").unwrap();
    home.ok(&["uninstall", "--yes"]);
    assert!(!folder.join("opencode.json").exists());
    assert_eq!(fs::read(folder.join("opencode.jsonc")).unwrap(), b"{}\n");
}

#[test]
fn a_dry_run_keeps_the_receipt() {
    let (home, settings) = home_with(".claude/settings.json", "{}");
    home.ok(&["install", "claude-code", "--yes"]);
    fs::remove_dir_all(settings.parent().unwrap()).unwrap();
    fs::remove_file(home.outside().join("home/.claude.json")).unwrap();
    let receipt = home.path().join("installed.json");
    for arguments in [&["uninstall", "--dry-run"][..], &["uninstall"]] {
        assert!(receipt.exists());
        assert_eq!(home.ok(arguments), "Nothing is installed.\n");
    }
    assert!(!receipt.exists());
}

#[test]
fn a_dangling_link_is_restored() {
    let (home, settings) = home_with(".claude/settings.json", "");
    fs::remove_file(&settings).unwrap();
    symlink("../dot/settings.json", &settings).unwrap();
    home.ok(&["install", "claude-code", "--yes"]);
    assert!(settings.exists());
    home.ok(&["uninstall", "--yes"]);
    assert_eq!(
        fs::read_link(&settings).unwrap(),
        Path::new("../dot/settings.json")
    );
    assert!(
        !home.outside().join("home/dot").exists(),
        "the folder was made for it"
    );
}

/// Files of other programs contain API keys.
#[test]
fn no_copy_of_a_changed_file_stays_after_uninstall() {
    let key = "sk-ant-api03-0123456789abcdefghijklmnopqrstuvwxyz";
    let settings = format!("{{\n  \"env\": {{\"ANTHROPIC_API_KEY\": \"{key}\"}}\n}}\n");
    let (home, path) = home_with(".claude/settings.json", &settings);
    // Left by an earlier version, and by the installation of another version of the file.
    let copies = home.path().join("backups/install");
    fs::create_dir_all(&copies).unwrap();
    fs::write(copies.join("claude-code-0123456789ab-settings.json"), &settings).unwrap();
    home.ok(&["install", "claude-code", "--yes"]);
    fs::write(&path, fs::read_to_string(&path).unwrap().replace("env", "Env")).unwrap();
    home.ok(&["install", "claude-code", "--yes"]);
    let kept = fs::read_dir(&copies).unwrap().count();
    home.ok(&["uninstall", "claude-code", "--yes"]);
    assert!(
        fs::read_to_string(&path).unwrap().contains(key),
        "the file itself stays"
    );
    home.assert_nowhere(key);
    assert!(
        (1..=2).contains(&kept),
        "{kept} copies while installed: one per file"
    );
}
