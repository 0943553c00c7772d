//! Install and uninstall with all kinds of existing settings files.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::Output,
};

use serde_json::Value;

use crate::{
    home::{Home, run, settings, text},
    http_client::Served,
};

/// Hooks that are installed for Claude Code.
const EVENTS: [&str; 9] = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "Stop",
    "SubagentStop",
    "PreCompact",
    "SessionEnd",
];

/// Returns kinds of settings files that are extended: name and content.
fn kinds() -> Vec<(&'static str, Vec<u8>)> {
    let others = r#"{
  "permissions": { "allow": ["Bash(ls:*)"] },
  "hooks": {
    "Stop": [
      {
        "hooks": [
          { "type": "command", "command": "notify done" }
        ]
      }
    ],
    "PreToolUse": [
      { "matcher": "Bash", "hooks": [ { "type": "command", "command": "guard" } ] }
    ],
    "Notification": []
  }
}
"#;
    let comments = "// my settings\n{\n  /* which */ \"model\": \"opus\", // the large one\n  \"env\": {\n    \"A\": \"1\",\n  },\n  // nothing below\n}\n// the end\n";
    let huge: String = (0..60_000)
        .map(|n| format!("    \"key {n}\": \"{}\",\n", "value ".repeat(12)))
        .collect();
    vec![
        ("empty", Vec::new()),
        ("blank", b" \n\n".to_vec()),
        ("an empty object", b"{}".to_vec()),
        ("plain", b"{\n  \"model\": \"opus\"\n}\n".to_vec()),
        ("comments and commas", comments.into()),
        ("other tools' hooks", others.into()),
        ("CRLF", others.replace('\n', "\r\n").into()),
        ("byte order mark", format!("\u{feff}{others}").into()),
        ("tabs", others.replace("  ", "\t").into()),
        ("four blanks", others.replace("  ", "    ").into()),
        ("no line break at the end", others.trim_end().into()),
        (
            "one line",
            br#"{"model":"opus","hooks":{"Notification":[]},"env":{}}"#.to_vec(),
        ),
        (
            "other scripts",
            "{\n  \"名前\": \"\u{1f600} é \\u00e9\"\n}\n".into(),
        ),
        (
            "huge",
            format!("{{\n  \"env\": {{\n{huge}    \"last\": \"\"\n  }}\n}}\n").into(),
        ),
    ]
}

fn claude(home: &Home) -> PathBuf {
    home.outside().join("home/.claude/settings.json")
}

/// Returns a home in which Claude Code has these settings.
fn home_with(content: &[u8]) -> Home {
    let home = Home::new();
    fs::create_dir_all(claude(&home).parent().unwrap()).unwrap();
    fs::write(claude(&home), content).unwrap();
    home
}

fn install(home: &Home) -> String {
    home.ok(&["install", "claude-code", "--yes"])
}

/// Runs the program from another folder, as an older installation would have been.
fn install_from(home: &Home, folder: &str) -> Output {
    let elsewhere = home.outside().join(folder).join("backstory");
    fs::create_dir_all(elsewhere.parent().unwrap()).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_backstory"), &elsewhere).unwrap();
    let mut command = std::process::Command::new(&elsewhere);
    command
        .args(["install", "claude-code", "--yes"])
        .env_clear()
        .env("HOME", home.outside().join("home"))
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    run(command, b"")
}

fn install_from_elsewhere(home: &Home) {
    let output = install_from(home, "old place");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let settings = fs::read_to_string(claude(home)).unwrap();
    assert!(settings.contains("old place/backstory"));
}

#[test]
fn a_program_in_the_cache_of_npx_is_not_installed() {
    let home = home_with(b"{}\n");
    let output = install_from(&home, ".npm/_npx/4f1c/node_modules/bin");
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.contains("npm install --global backstory-memory"), "{said}");
    assert_eq!(fs::read(claude(&home)).unwrap(), b"{}\n");
}

#[test]
fn files_are_restored_after_install_upgrade_and_uninstall() {
    for (name, before) in kinds() {
        let home = home_with(&before);
        install_from_elsewhere(&home);
        install(&home);
        let installed = fs::read_to_string(claude(&home)).unwrap();
        assert!(!installed.contains("old place"), "{name}");
        for event in EVENTS {
            assert!(
                installed.contains(&format!("\"{event}\": [")) || name == "one line",
                "{name}: {event}"
            );
        }
        assert_eq!(installed.matches("\"hook\"").count(), EVENTS.len(), "{name}");
        // The user's lines are still there, in order.
        let mut lines = installed.lines();
        let kept = |line: &str| line.trim().trim_end_matches(['}', ']', ',', ' ']).to_owned();
        for line in text(&before)
            .lines()
            .filter(|_| name != "one line" && name != "huge")
        {
            let line = kept(line);
            assert!(
                lines.any(|ours| ours.contains(&line)),
                "{name}: {line}\n{installed}"
            );
        }
        assert!(install(&home).contains("already set up"), "{name}");
        assert_eq!(fs::read_to_string(claude(&home)).unwrap(), installed, "{name}");
        let said = home.ok(&["uninstall", "--yes"]);
        assert!(said.contains("was restored"), "{name}: {said}");
        assert_eq!(fs::read(claude(&home)).unwrap(), before, "{name}");
        assert!(!home.path().join("installed.json").exists(), "{name}");
        assert!(home.ok(&["uninstall"]).contains("Nothing is installed"));
    }
}

#[test]
fn only_our_entries_are_removed_from_a_file_that_changed_since() {
    for (name, before) in kinds() {
        let before = text(&before);
        if before.trim().is_empty() || before == "{}" {
            continue;
        }
        let home = home_with(before.as_bytes());
        install(&home);
        let add = |file: &str| file.replacen('{', "{\n  \"added since\": [1, 2], // by a person\n", 1);
        let installed = fs::read_to_string(claude(&home)).unwrap();
        fs::write(claude(&home), add(&installed)).unwrap();
        let said = home.ok(&["uninstall", "--yes"]);
        assert!(said.contains(": only our entries"), "{name}: {said}");
        let after = fs::read_to_string(claude(&home)).unwrap();
        match name {
            // Reformatted, but with the same content.
            "one line" => assert_eq!(
                after.split_whitespace().collect::<String>(),
                add(&before).split_whitespace().collect::<String>()
            ),
            _ => assert_eq!(after, add(&before), "{name}"),
        }
    }
}

#[test]
fn entries_of_an_older_version_are_replaced_and_removed_at_uninstall() {
    let old = r#"{
  "hooks": {
    "Stop": [
      { "hooks": [ { "type": "command", "command": "notify" }, { "type": "command", "command": "backstory hook summary" } ] }
    ],
    "PostToolUse": [
      { "matcher": "*", "hooks": [ { "type": "command", "command": "'/old/backstory' hook save --host claude-code" } ] }
    ],
    "SessionStart": [
      { "hooks": [ { "type": "command", "command": "/old/bin/backstory", "args": ["hook", "context"] } ] }
    ]
  }
}
"#;
    let without = r#"{
  "hooks": {
    "Stop": [
      { "hooks": [ { "type": "command", "command": "notify" } ] }
    ]
  }
}
"#;
    let home = home_with(old.as_bytes());
    install(&home);
    let installed = fs::read_to_string(claude(&home)).unwrap();
    assert!(
        !installed.contains("/old/") && installed.contains("\"notify\""),
        "{installed}"
    );
    assert_eq!(installed.matches("\"hook\"").count(), EVENTS.len());
    let said = home.ok(&["uninstall", "--yes"]);
    assert!(
        said.contains("settings.json: only our entries were removed"),
        "{said}"
    );
    assert_eq!(fs::read_to_string(claude(&home)).unwrap(), without);
    assert!(!home.path().join("backups/install").exists(), "no copy stays");
}

#[test]
fn invalid_files_are_rejected_and_nothing_is_changed() {
    let cases: [(&str, &[u8], &str); 7] = [
        (
            "broken",
            b"{\n  \"model\": \"opus\"\n  \"env\": {}\n}\n",
            "line 2, column 18",
        ),
        ("half", b"{\"hooks\": {", "line 1"),
        ("a list", b"[1]", "not an object"),
        ("hooks are a list", b"{\"hooks\": []}", "an unexpected type"),
        (
            "an event is an object",
            b"{\"hooks\": {\"Stop\": {}}}",
            "an unexpected type",
        ),
        ("no text", b"{\"a\": \"\xff\xfe\"}", "not valid UTF-8"),
        ("loose", b"{model: 'opus'}", "line 1"),
    ];
    for (name, before, reason) in cases {
        let home = home_with(before);
        // Another host, whose files are valid, comes first.
        fs::create_dir_all(home.outside().join("home/.gemini")).unwrap();
        let output = home.run(&["install", "gemini-cli", "claude-code", "--yes"], b"");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{name}");
        assert!(
            said.contains(reason) && said.contains("nothing was changed"),
            "{name}: {said}"
        );
        assert_eq!(fs::read(claude(&home)).unwrap(), before, "{name}");
        assert!(
            !home.outside().join("home/.gemini/settings.json").exists(),
            "{name}"
        );
        assert!(!home.path().join("installed.json").exists(), "{name}");
    }
}

#[test]
fn a_write_protected_file_is_not_changed() {
    let home = home_with(b"{}\n");
    fs::set_permissions(claude(&home), fs::Permissions::from_mode(0o444)).unwrap();
    let output = home.run(&["install", "claude-code", "--yes"], b"");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("is write-protected"),
        "{}",
        text(&output.stderr)
    );
    assert_eq!(fs::read(claude(&home)).unwrap(), b"{}\n");
    assert!(!home.outside().join("home/.claude.json").exists());
}

#[test]
fn a_file_that_the_client_ignores_is_reported() {
    let warning = "ignores the file";
    for (content, is_said) in [
        ("{}", false),
        ("{ \"a\": 1, }", true),
        ("{ /* why */ }", true),
        ("\u{feff}{}", false),
    ] {
        let home = home_with(content.as_bytes());
        let output = home.run(&["install", "claude-code", "--yes"], b"");
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(text(&output.stderr).contains(warning), is_said, "{content}");
    }
}

#[test]
fn another_home_is_reported() {
    let home = home_with(b"{}");
    let said = |home: &Home| text(&home.run(&["install", "claude-code", "--yes"], b"").stderr);
    assert_eq!(said(&home), "");
    let elsewhere = home.outside().join("elsewhere");
    let home = home.with("BACKSTORY_HOME", elsewhere.to_str().unwrap());
    assert!(said(&home).contains("agents must be started with it too"));
}

#[test]
fn a_link_stays_a_link_and_the_mode_stays() {
    let home = home_with(b"");
    let real = home.outside().join("dotfiles/claude.json");
    fs::create_dir_all(real.parent().unwrap()).unwrap();
    fs::write(&real, "{ \"a\": 1 }\n").unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    fs::remove_file(claude(&home)).unwrap();
    symlink("../../dotfiles/claude.json", claude(&home)).unwrap();
    install(&home);
    let check = |holds_ours: bool| {
        assert!(fs::symlink_metadata(claude(&home)).unwrap().is_symlink());
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(
            fs::read_to_string(&real).unwrap().contains("session-start"),
            holds_ours
        );
    };
    check(true);
    home.ok(&["uninstall", "claude-code", "--yes"]);
    check(false);
    assert_eq!(fs::read_to_string(&real).unwrap(), "{ \"a\": 1 }\n");
    assert_eq!(
        fs::read_dir(real.parent().unwrap()).unwrap().count(),
        1,
        "nothing is left beside it"
    );
}

#[test]
fn a_write_error_restores_the_other_files() {
    let home = home_with(b"{ \"a\": 1 }\n");
    // The path of the second file is a folder, which a file cannot replace.
    let second = home.outside().join("home/.claude.json");
    symlink("/proc/nowhere/claude.json", &second).unwrap();
    let output = home.run(&["install", "claude-code", "--yes"], b"");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    assert_eq!(fs::read(claude(&home)).unwrap(), b"{ \"a\": 1 }\n");
}

#[test]
fn only_the_confirmed_changes_are_written() {
    let home = home_with(b"{\n  \"model\": \"opus\"\n}\n");
    let refused = home.run(&["install"], b"");
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("Not a terminal, so nothing was changed"));
    let shown = home.ok(&["install", "--dry-run"]);
    assert_eq!(fs::read(claude(&home)).unwrap(), b"{\n  \"model\": \"opus\"\n}\n");
    assert!(!home.path().exists(), "looking leaves nothing behind");
    let program = env!("CARGO_BIN_EXE_backstory");
    settings().bind(|| insta::assert_snapshot!("install_plan", shown.replace(program, "[program]")));
    let json = home.json(&["install", "claude-code", "--yes", "--json"]);
    assert_eq!(json["files"][0]["action"], "change");
    assert_eq!(json["files"][1]["action"], "create");
    let none = Home::new();
    let output = none.run(&["install"], b"");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("no agent was found on this machine"));
    let unknown = none.run(&["install", "emacs"], b"");
    assert_eq!(unknown.status.code(), Some(2));
}

#[test]
fn settings_in_another_folder_are_found_and_new_folders_removed_again() {
    let home = Home::new();
    let folder = home.outside().join("else/where");
    let home = home.with("CLAUDE_CONFIG_DIR", folder.to_str().unwrap());
    install(&home);
    let read = |name: &str| -> Value {
        serde_json::from_str(&fs::read_to_string(folder.join(name)).unwrap()).unwrap()
    };
    assert_eq!(
        read("settings.json")["hooks"].as_object().unwrap().len(),
        EVENTS.len()
    );
    assert_eq!(
        read(".claude.json")["mcpServers"]["backstory"]["args"],
        serde_json::json!(["mcp"])
    );
    home.ok(&["uninstall", "--yes"]);
    assert!(!home.outside().join("else").exists());
}

#[test]
fn every_host_is_installed_and_uninstalled() {
    let home = Home::new();
    let user = home.outside().join("home");
    let files_of = |folder: &Path| -> Vec<PathBuf> {
        let mut folders = vec![folder.to_owned()];
        let mut files = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    files.push(path);
                }
            }
        }
        files.retain(|file| !file.starts_with(home.path()));
        files.sort();
        files
    };
    let hosts = [
        "claude-code",
        "codex",
        "cursor",
        "gemini-cli",
        "opencode",
        "windsurf",
        "copilot-cli",
        "vscode",
    ];
    home.ok(&[&["install"], &hosts[..], &["--yes"]].concat());
    let program = env!("CARGO_BIN_EXE_backstory");
    let mut listing = String::new();
    for file in files_of(&user) {
        let shown = file.strip_prefix(&user).unwrap().display();
        let content = fs::read_to_string(&file).unwrap().replace(program, "[program]");
        if file.extension().is_some_and(|extension| extension == "json") {
            serde_json::from_str::<Value>(&content).unwrap();
        }
        listing += &format!("===== {shown}\n{content}");
    }
    settings().bind(|| insta::assert_snapshot!("installed_files", listing));
    home.ok(&["uninstall", "--yes"]);
    assert_eq!(files_of(&user), Vec::<PathBuf>::new());
}

#[test]
fn a_call_without_arguments_but_with_a_payload_does_nothing() {
    let home = Home::new();
    let output = home.run(&[], br#"{"hook_event_name":"PreToolUse","session_id":"s1"}"#);
    assert_eq!(
        (output.status.code(), text(&output.stdout), text(&output.stderr)),
        (Some(0), String::new(), String::new())
    );
}

#[test]
fn uninstalling_the_last_host_stops_the_worker() {
    let home = home_with(b"{}");
    home.ok(&["install", "claude-code", "gemini-cli", "--yes"]);
    let served = Served::start_in(home);
    let first = served.home.ok(&["uninstall", "gemini-cli", "--yes"]);
    assert!(!first.contains("worker"), "{first}");
    assert_eq!(served.get("/health").status, 200);
    let last = served.home.ok(&["uninstall", "--yes"]);
    assert!(last.contains("The worker was stopped."), "{last}");
    assert_eq!(served.home.run(&["worker", "status"], b"").status.code(), Some(1));
}

#[test]
fn a_mistyped_host_gets_a_suggestion() {
    let home = Home::new();
    for (typed, meant) in [
        ("claude", "claude-code"),
        ("codexx", "codex"),
        ("copilot", "copilot-cli"),
    ] {
        let output = home.run(&["install", typed], b"");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(&format!("did you mean `{meant}`?")), "{said}");
    }
}

#[test]
fn settings_that_switch_hooks_off_are_reported_before_the_question() {
    let home = Home::new();
    let file = home.outside().join("home/.claude/settings.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "{\"disableAllHooks\": true}\n").unwrap();
    let output = home.run(&["install", "claude-code", "--dry-run"], b"");
    let said = text(&output.stderr);
    assert!(said.contains("settings.json sets disableAllHooks"), "{said}");
    let said = home.ok(&["install", "claude-code", "--yes"]);
    assert!(
        said.contains("Nothing of Claude Code is recorded before"),
        "{said}"
    );
    assert!(!said.contains("The next session is recorded"), "{said}");
    let output = home.run(&["uninstall", "--yes"], b"");
    assert_eq!(text(&output.stderr), "", "no warning about entries that are gone");
}

#[test]
fn a_status_line_is_added_on_request_kept_and_removed() {
    let home = Home::new();
    let file = home.outside().join("home/.claude/settings.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let before = "{\n  \"model\": \"opus\"\n}\n";
    fs::write(&file, before).unwrap();
    let status_line = || {
        let settings: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        settings["statusLine"]["command"].as_str().map(ToOwned::to_owned)
    };
    home.ok(&["install", "claude-code", "--yes"]);
    assert_eq!(status_line(), None, "not without being asked for");
    home.ok(&["install", "claude-code", "--yes", "--status-line"]);
    assert!(status_line().unwrap().ends_with("backstory statusline"));
    home.ok(&["install", "claude-code", "--yes"]);
    assert!(status_line().is_some(), "it stays at an update");
    home.ok(&["uninstall", "--yes"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
    let other = "{\"statusLine\": {\"type\": \"command\", \"command\": \"~/bin/line\"}}\n";
    fs::write(&file, other).unwrap();
    home.ok(&["install", "claude-code", "--yes", "--status-line"]);
    assert_eq!(
        status_line().as_deref(),
        Some("~/bin/line"),
        "another one is not replaced"
    );
    home.ok(&["uninstall", "--yes"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), other);
}
