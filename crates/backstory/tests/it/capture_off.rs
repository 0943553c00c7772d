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
fn a_mistake_in_the_settings_does_not_turn_exclusion_off() {
    let home = Home::new();
    home.ok(&[
        "config",
        "set",
        "capture.exclude",
        home.project().to_str().unwrap(),
    ]);
    home.report("stop", &json!({}));
    let file = home.path().join("config.toml");
    let valid = fs::read_to_string(&file).unwrap();
    let elsewhere = json!({"cwd": home.outside().join("elsewhere")});
    let mistakes = [
        format!("{valid}x = ["),
        valid.replace("exclude", "exlude"),
        valid.replace("[capture]", "[captur]"),
        "[capture]\nexclude = 5\n".to_owned(),
        "capture.exclude = {}\n".to_owned(),
    ];
    for (recorded, mistake) in mistakes.iter().enumerate() {
        fs::write(&file, mistake).unwrap();
        home.report("stop", &json!({}));
        home.report("stop", &elsewhere);
        assert_eq!(home.spooled().len(), recorded + 1, "{mistake}");
        let found = home.run(&["doctor"], b"");
        let found = String::from_utf8_lossy(&found.stdout);
        assert!(
            found.contains("hooks use the last valid capture settings"),
            "{found}"
        );
    }
    // Without a valid version nothing is recorded, so that nothing excluded is.
    fs::remove_file(home.path().join("spool/config.cache")).unwrap();
    home.report("stop", &elsewhere);
    assert_eq!(home.spooled().len(), mistakes.len());
    let found = home.run(&["doctor"], b"");
    assert!(String::from_utf8_lossy(&found.stdout).contains("hooks record nothing"));
    // A mistake in another section does not concern capture.
    fs::write(&file, format!("{valid}\n[context]\nfull = 99\n")).unwrap();
    home.report("stop", &json!({}));
    home.report("stop", &elsewhere);
    assert_eq!(home.spooled().len(), mistakes.len() + 1);
}

#[cfg(unix)]
#[test]
fn links_and_parent_folders_do_not_lead_around_exclusion() {
    let home = Home::new();
    let secret = home.outside().join("secret");
    let link = home.outside().join("link");
    let elsewhere = home.outside().join("elsewhere");
    fs::create_dir_all(secret.join("src")).unwrap();
    fs::create_dir_all(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&secret, &link).unwrap();
    std::os::unix::fs::symlink(secret.join("src"), elsewhere.join("deep")).unwrap();
    let report = |cwd: &std::path::Path, file: Option<std::path::PathBuf>| {
        home.report(
            "post-tool-use",
            &json!({"cwd": cwd, "tool_name": "Read", "tool_input": {"file_path": file}}),
        );
    };
    for excluded in [&secret, &link] {
        home.ok(&["config", "set", "capture.exclude", excluded.to_str().unwrap()]);
        report(&secret, None);
        report(&link, None);
        report(&link.join("src"), None);
        report(&elsewhere, Some(link.join("notes.md")));
        report(&elsewhere, Some(elsewhere.join("../secret/new.md")));
        report(&elsewhere, Some("../secret/notes.md".into()));
        // The parent of the folder that the link leads to is the excluded one.
        report(&elsewhere, Some("deep/../notes.md".into()));
        assert!(home.spooled().is_empty(), "{}", excluded.display());
    }
    report(&elsewhere, Some("notes.md".into()));
    assert_eq!(home.spooled().len(), 1);
}

#[test]
fn a_worktree_outside_of_its_excluded_project_is_excluded() {
    let home = Home::new();
    let project = home.repository("excluded", None);
    let worktree = home.outside().join("worktree");
    let git = project.join(".git/worktrees/w");
    fs::create_dir_all(&git).unwrap();
    fs::create_dir_all(&worktree).unwrap();
    fs::write(git.join("HEAD"), "ref: refs/heads/x\n").unwrap();
    fs::write(git.join("commondir"), "../..\n").unwrap();
    fs::write(git.join("gitdir"), format!("{}/.git\n", worktree.display())).unwrap();
    fs::write(worktree.join(".git"), format!("gitdir: {}\n", git.display())).unwrap();
    home.ok(&["config", "set", "capture.exclude", project.to_str().unwrap()]);
    for event in ["user-prompt-submit", "post-tool-use", "stop"] {
        home.report(
            event,
            &json!({"cwd": worktree, "prompt": "x", "tool_name": "Bash"}),
        );
    }
    assert!(home.spooled().is_empty());
}

#[test]
fn a_broken_settings_file_stops_commands_but_not_hooks() {
    let home = Home::new();
    home.ok(&["config", "set", "context.full", "4"]);
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
