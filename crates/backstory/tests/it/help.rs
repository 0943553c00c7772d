//! Help texts, and errors of wrong usage.

use crate::home::{Home, settings};

#[test]
fn every_command_has_help() {
    let home = Home::new();
    let mut pages = String::new();
    for command in [
        "",
        "demo",
        "sessions",
        "session",
        "show",
        "timeline",
        "remember",
        "pin",
        "unpin",
        "edit",
        "forget",
        "off",
        "on",
        "export",
        "backup",
        "restore",
        "queue",
        "reindex",
        "import",
        "import claude-code",
        "import claude-mem",
        "import jsonl",
        "config",
        "project",
        "project confirm",
        "open",
        "logins",
        "doctor",
        "worker",
        "completions",
        "man",
        "statusline",
        "hook",
    ] {
        let arguments: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        pages.push_str(&format!(
            "$ backstory {}\n{}\n",
            arguments.join(" "),
            home.ok(&arguments)
        ));
    }
    settings().bind(|| insta::assert_snapshot!("help", pages));
}

#[test]
fn help_is_a_subcommand_too() {
    let home = Home::new();
    assert_eq!(home.ok(&["help"]), home.ok(&["--help"]));
    assert_eq!(home.ok(&["help", "search"]), home.ok(&["search", "--help"]));
}

#[test]
fn wrong_usage_exits_2_with_a_suggestion() {
    let home = Home::new();
    for arguments in [
        vec![],
        vec!["sesions"],
        vec!["queue", "--jsn"],
        vec!["session"],
        vec!["sessions", "--limit", "0"],
    ] {
        let output = home.run(&arguments, b"");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn the_demo_works_without_setup_and_leaves_nothing_behind() {
    let home = Home::new();
    let temporary = home.outside().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let home = home.with("TMPDIR", temporary.to_str().unwrap());
    let printed = home.ok(&["demo"]);
    let mut settings = settings();
    settings.add_filter(r"\d+\.\d ms", "[n] ms");
    settings.add_filter(r"20\d\d-\d\d-\d\d( \d\d:\d\d UTC)?", "[day]");
    settings.add_filter(r"#1 \d\d:\d\d", "#1 [time]");
    settings.add_filter(r"\(/[^)]*/acme\)", "(/[dir]/acme)");
    settings.bind(|| insta::assert_snapshot!("demo", printed));
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
    assert!(!home.path().exists());
}
