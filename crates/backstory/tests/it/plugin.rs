//! The plugin's files, `install` and the existing hooks agree.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use backstory_capture::host::{self, InstallItem};
use serde_json::{Value, json};

use crate::home::{DEFAULT_OUTPUT, Home, run, text};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

fn read(path: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(repository().join(path)).unwrap()).unwrap()
}

#[test]
fn the_plugin_registers_what_install_registers() {
    let hooks = read("plugin/hooks/hooks.json");
    let hooks = hooks["hooks"].as_object().unwrap();
    let rows = host::find("claude-code").unwrap().hooks;
    assert_eq!(hooks.len(), rows.len());
    for row in rows {
        let group = &hooks[row.theirs][0];
        assert_eq!(group["matcher"].as_str(), row.matcher, "{}", row.theirs);
        let hook = &group["hooks"][0];
        assert_eq!(hook["command"], "${CLAUDE_PLUGIN_ROOT}/bin/backstory");
        assert_eq!(hook["args"], json!(["hook", row.ours, "--plugin"]));
        assert_eq!(
            hook["timeout"].is_null(),
            row.ours != "session-end",
            "{}",
            row.theirs
        );
        // All registered hooks exist.
        let home = Home::new();
        home.report(row.ours, &json!({}));
        assert_eq!(home.lost("unknown_event"), 0, "{}", row.ours);
    }
    let files: Vec<&str> = host::find("claude-code")
        .unwrap()
        .parts
        .iter()
        .filter_map(|part| match part {
            InstallItem::File { file, .. } => Some(file.path),
            _ => None,
        })
        .collect();
    for name in fs::read_dir(repository().join("plugin/commands")).unwrap() {
        let name = name.unwrap().file_name().into_string().unwrap();
        let installed = format!("commands/backstory-{name}");
        assert!(
            files.contains(&installed.as_str()),
            "{installed} is not installed"
        );
    }
    let server = &read("plugin/.mcp.json")["mcpServers"]["backstory"];
    assert_eq!(server["args"], json!(["mcp"]));
}

#[test]
fn the_marketplace_offers_the_plugin_of_this_version() {
    let market = read(".claude-plugin/marketplace.json");
    assert_eq!(market["name"], "backstory");
    let offered = &market["plugins"][0];
    let plugin = read(&format!(
        "{}/.claude-plugin/plugin.json",
        offered["source"].as_str().unwrap()
    ));
    assert_eq!(offered["name"], plugin["name"]);
    assert_eq!(offered["description"], plugin["description"]);
    assert_eq!(plugin["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn commands_in_the_skill_and_slash_commands_exist() {
    let home = Home::new();
    for file in [
        "skills/search/SKILL.md",
        "commands/remember.md",
        "commands/status.md",
        "commands/off.md",
    ] {
        let text = fs::read_to_string(repository().join("plugin").join(file)).unwrap();
        let told = text.split("backstory ").skip(1);
        let commands = told.filter_map(|rest| rest.split([' ', '`', '\n', ':', '"']).next());
        let mut known = 0;
        for command in commands.filter(|command| host_word(command)) {
            assert!(
                home.run(&[command, "--help"], b"").status.success(),
                "{file}: {command}"
            );
            known += 1;
        }
        assert!(known > 0, "{file}");
    }
}

/// Returns true for words after `backstory` that are commands.
fn host_word(word: &str) -> bool {
    [
        "search", "show", "timeline", "remember", "sessions", "queue", "context", "worker", "off",
    ]
    .contains(&word)
}

#[test]
fn the_launcher_finds_the_program_and_is_silent_without_it() {
    let launcher = repository().join("plugin/bin/backstory");
    assert_eq!(
        fs::metadata(&launcher).unwrap().permissions().mode() & 0o111,
        0o111
    );
    let home = Home::new();
    let start = |home: &Home, arguments: &[&str], input: &[u8]| {
        let mut command = std::process::Command::new(&launcher);
        command
            .args(arguments)
            .env_clear()
            .env("HOME", home.outside().join("home"))
            .env("PATH", "/usr/bin:/bin")
            .env("BACKSTORY_NO_WORKER", "1")
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped());
        run(command, input)
    };
    let stop = br#"{"session_id":"s1"}"#;
    let silent = start(&home, &["hook", "stop", "--plugin"], stop);
    assert_eq!(
        (
            silent.status.code(),
            text(&silent.stdout).as_str(),
            silent.stderr.len()
        ),
        (Some(0), DEFAULT_OUTPUT, 0)
    );
    assert!(!home.path().exists());
    // The client would disable a server that failed, also for later sessions.
    let asked = concat!(
        r#"{"method":"initialize","params":{"protocolVersion":"2025-11-25"},"jsonrpc":"2.0","id":"a-1"}"#,
        "\n",
        r#"{"method":"notifications/initialized","jsonrpc":"2.0"}"#,
        "\n",
        r#"{"method":"tools/list","jsonrpc":"2.0","id":2}"#,
        "\n"
    );
    let server = start(&home, &["mcp"], asked.as_bytes());
    assert_eq!(server.status.code(), Some(0));
    let said = text(&server.stdout);
    let answers: Vec<Value> = said
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        (&answers[0]["id"], &answers[1]["id"], answers.len()),
        (&json!("a-1"), &json!(2), 2)
    );
    assert!(
        answers[0]["result"]["instructions"]
            .as_str()
            .unwrap()
            .contains("not installed")
    );
    assert_eq!(answers[1]["error"]["code"], -32601);
    let folder = home.outside().join("home/.local/bin");
    fs::create_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_backstory"), folder.join("backstory")).unwrap();
    let heard = start(&home, &["hook", "stop", "--plugin"], stop);
    assert!(text(&heard.stdout).contains("continue"));
    assert_eq!(home.spooled().len(), 1);
}

#[test]
fn the_launcher_skips_itself_and_reports_a_missing_program() {
    let home = Home::new();
    let plugin = repository().join("plugin");
    // Another version of the plugin, whose launcher would start this one again.
    let other = home.outside().join("other");
    fs::create_dir_all(other.join("bin")).unwrap();
    fs::create_dir_all(other.join(".claude-plugin")).unwrap();
    fs::copy(plugin.join("bin/backstory"), other.join("bin/backstory")).unwrap();
    let folder = home.outside().join("a program");
    fs::create_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink(plugin.join("bin/backstory"), folder.join("backstory")).unwrap();
    let path = |last: &Path| {
        let folders = [
            plugin.join("bin"),
            other.join("bin"),
            folder.clone(),
            last.to_owned(),
        ];
        std::env::join_paths(folders).unwrap()
    };
    let start = |arguments: &[&str], path: std::ffi::OsString| {
        let mut command = std::process::Command::new("/bin/sh");
        command
            .args(["-c", "exec backstory \"$@\"", "sh"])
            .args(arguments)
            .env_clear()
            .env("HOME", home.outside().join("home"))
            .env("PATH", path)
            .env("BACKSTORY_NO_WORKER", "1")
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped());
        run(command, b"{}")
    };
    let without = path(&home.outside().join("nothing"));
    let said = start(&["remember", "lost note"], without.clone());
    assert_eq!((said.status.code(), text(&said.stdout)), (Some(1), String::new()));
    assert!(text(&said.stderr).contains("program is not installed"));
    for (arguments, expected) in [(&["hook", "stop", "--plugin"][..], DEFAULT_OUTPUT), (&[], "")] {
        let silent = start(arguments, without.clone());
        assert_eq!(
            (
                silent.status.code(),
                text(&silent.stdout).as_str(),
                silent.stderr.len()
            ),
            (Some(0), expected, 0)
        );
    }
    let program = Path::new(env!("CARGO_BIN_EXE_backstory")).parent().unwrap();
    let version = start(&["--version"], path(program));
    assert!(text(&version.stdout).starts_with("backstory "));
    let words = start(&["search", "a  b", "*"], path(program));
    assert_eq!(words.status.code(), Some(1), "{}", text(&words.stderr));
}
