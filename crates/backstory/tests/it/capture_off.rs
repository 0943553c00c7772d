//! Settings and files that turn capture off, entirely or in part.

use std::fs;

use serde_json::json;

use crate::home::{DEFAULT_OUTPUT, Home};

#[test]
fn each_switch_turns_capture_off_and_keeps_the_hook_output() {
    for (variable, prints) in [("BACKSTORY_DISABLED", DEFAULT_OUTPUT), ("BACKSTORY_INTERNAL", "")] {
        let home = Home::new().with(variable, "1");
        assert_eq!(home.report("stop", &json!({})), prints, "{variable}");
        assert!(!home.path().exists(), "{variable}");
        let home = home.with(variable, "0");
        home.report("stop", &json!({}));
        assert_eq!(home.spooled().len(), 1, "{variable}");
    }
}

#[test]
fn an_ignore_file_applies_to_its_whole_project_only() {
    let home = Home::new();
    let sub = home.project().join("src/deep");
    fs::create_dir_all(&sub).unwrap();
    fs::write(home.project().join(".backstory-ignore"), "").unwrap();
    for cwd in [home.project(), sub] {
        for event in [
            "session-start",
            "user-prompt-submit",
            "post-tool-use",
            "stop",
            "session-end",
        ] {
            home.report(event, &json!({"cwd": cwd}));
        }
    }
    assert!(home.spooled().is_empty());
    let other = home.repository("other", None);
    home.report("stop", &json!({"cwd": other}));
    assert_eq!(home.spooled().len(), 1);
}

#[test]
fn excluded_folders_and_files_are_not_recorded_from_the_next_event_on() {
    let home = Home::new();
    home.report("stop", &json!({}));
    assert_eq!(home.spooled().len(), 1);
    let project = home.project();
    home.ok(&[
        "config",
        "set",
        "capture.exclude",
        project.to_str().unwrap(),
        "*.secret.md",
    ]);
    home.report("stop", &json!({}));
    home.report(
        "post-tool-use",
        &json!({"cwd": "/elsewhere", "tool_name": "Read", "tool_input": {"file_path": "/x/a.secret.md"}}),
    );
    assert_eq!(home.spooled().len(), 1);
    home.report(
        "post-tool-use",
        &json!({"cwd": "/elsewhere", "tool_name": "Read", "tool_input": {"file_path": "/x/a.md"}}),
    );
    assert_eq!(home.spooled().len(), 2);
    home.ok(&["config", "unset", "capture.exclude"]);
    home.report("stop", &json!({}));
    assert_eq!(home.spooled().len(), 3);
}

#[test]
fn capture_settings_apply_from_file_and_environment() {
    let home = Home::new();
    for tool in [
        "TodoWrite",
        "Skill",
        "SlashCommand",
        "AskUserQuestion",
        "ListMcpResourcesTool",
    ] {
        home.report("post-tool-use", &json!({"tool_name": tool}));
    }
    assert!(home.spooled().is_empty());
    home.ok(&["config", "set", "capture.skip_tools", "Bash"]);
    home.report("post-tool-use", &json!({"tool_name": "Bash"}));
    home.report("post-tool-use", &json!({"tool_name": "TodoWrite"}));
    assert_eq!(home.spooled().len(), 1);
    let home = home.with("BACKSTORY_CAPTURE_SKIP_TOOLS", "TodoWrite,Other");
    home.report("post-tool-use", &json!({"tool_name": "TodoWrite"}));
    home.report("post-tool-use", &json!({"tool_name": "Bash"}));
    assert_eq!(home.spooled().len(), 1);
    let secret = json!({"tool_name": "Read", "tool_response": "DB_PASSWORD=hunter2hunter2"});
    home.ok(&["config", "set", "capture.redact", "false"]);
    home.report("post-tool-use", &secret);
    assert!(home.spooled_text().contains("hunter2hunter2"));
}

/// Agents pass on the variables of the project in which they work.
#[test]
fn the_environment_of_a_project_cannot_loosen_capture() {
    let home = Home::new();
    home.ok(&["config", "set", "capture.exclude", "**/excluded"]);
    let home = home
        .with("BACKSTORY_CAPTURE_REDACT", "false")
        .with("BACKSTORY_CAPTURE_SKIP_TOOLS", "")
        .with("BACKSTORY_CAPTURE_EXCLUDE", "**/other");
    home.report("post-tool-use", &json!({"tool_name": "TodoWrite"}));
    home.report("stop", &json!({"cwd": home.outside().join("excluded")}));
    assert!(home.spooled().is_empty());
    home.report(
        "post-tool-use",
        &json!({"tool_name": "Bash", "tool_response": "DB_PASSWORD=hunter2hunter2"}),
    );
    assert!(!home.spooled_text().contains("hunter2hunter2"));
    let output = home.run(&["search", "x"], b"");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&output.stderr)
            .contains("the environment can only make capture.redact stricter"),
        "{output:?}"
    );
}

#[test]
fn a_broken_settings_file_stops_commands_but_not_hooks() {
    let home = Home::new();
    home.report("stop", &json!({}));
    fs::write(home.path().join("config.toml"), "[capture\nskip_tools = 5").unwrap();
    home.report("stop", &json!({}));
    home.report("post-tool-use", &json!({"tool_name": "TodoWrite"}));
    assert_eq!(home.spooled().len(), 2);
    let output = home.run(&["worker", "run", "--once"], b"");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("config.toml:1"));
    for command in [
        &["search", "x"][..],
        &["sessions"],
        &["session", "s1"],
        &["show", "1"],
        &["timeline", "1"],
        &["context"],
        &["why", "1"],
        &["queue"],
        &["stats"],
        &["export"],
        &["backup"],
        &["remember", "x"],
        &["forget", "1"],
    ] {
        let output = home.run(command, b"");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{command:?}");
        assert!(said.contains("config.toml:1"), "{command:?}: {said}");
    }
}
