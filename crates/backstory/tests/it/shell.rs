//! Shell completions, manual pages and version information.

use std::process::Command;

use crate::{
    home::{Home, settings, text},
    memory::home_with_bug_fix,
};

#[test]
fn every_shell_gets_a_script() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = home.ok(&["completions", shell]);
        assert!(script.contains("BACKSTORY_COMPLETE"), "{shell}: {script}");
    }
    assert_eq!(home.run(&["completions", "tcsh"], b"").status.code(), Some(2));
}

#[test]
fn bash_completes_commands_options_and_values() {
    let home = home_with_bug_fix();
    let script = home.outside().join("completions.bash");
    std::fs::write(&script, home.ok(&["completions", "bash"])).unwrap();
    let programs = std::path::Path::new(env!("CARGO_BIN_EXE_backstory"))
        .parent()
        .unwrap();
    let complete = |words: &str| {
        let ask = "source \"$0\"; COMP_WORDS=($1); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMP_TYPE=9; \
            _clap_complete_backstory backstory \"${COMP_WORDS[-1]}\" \"${COMP_WORDS[-2]}\"; echo \"${COMPREPLY[*]}\"";
        let output = Command::new("bash")
            .args(["-c", ask])
            .arg(&script)
            .arg(words)
            .env_clear()
            .env("HOME", home.outside().join("home"))
            .env("PATH", format!("{}:/usr/bin:/bin", programs.display()))
            .output()
            .unwrap();
        assert_eq!(text(&output.stderr), "");
        text(&output.stdout)
    };
    for (typed, expected) in [
        ("backstory doc", "doctor"),
        ("backstory import claude", "claude-code claude-mem"),
        ("backstory restore --y", "--yes"),
        ("backstory install cop", "copilot-cli"),
        ("backstory search --type bu", "bugfix"),
        ("backstory search --kind sum", "summary"),
        ("backstory config get context.bud", "context.budget_tokens"),
        ("backstory open sea", "search"),
        ("backstory search --project ac", "acme"),
        ("backstory session s", "s1"),
    ] {
        assert_eq!(complete(typed).trim(), expected, "{typed}");
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let home = Home::new();
    assert!(home.ok(&["man"]).contains(".SH SUBCOMMANDS"));
    assert!(
        home.ok(&["man", "import", "claude-mem"])
            .contains("backstory\\-import\\-claude\\-mem")
    );
    let output = home.run(&["man", "sing"], b"");
    assert_eq!(
        (
            output.status.code(),
            text(&output.stderr).contains("no such command: `sing`")
        ),
        (Some(1), true)
    );
}

#[test]
fn the_version_has_a_short_and_a_long_form() {
    let home = Home::new();
    assert_eq!(
        home.ok(&["-V"]),
        format!("backstory {}\n", env!("CARGO_PKG_VERSION"))
    );
    let mut settings = settings();
    settings.add_filter(r"backstory \d\S+", "backstory [version]");
    settings.add_filter(r"target: \S+", "target: [target]");
    settings.add_filter(
        r"build: (debug|release), (static|dynamic)",
        "build: [profile], [linking]",
    );
    settings.add_filter(r"commit: ([0-9a-f]{12}|unknown)\n", "commit: [commit]\n");
    settings.add_filter(r"sqlite: 3\.\d+\.\d+", "sqlite: [version]");
    settings.add_filter(r"schema: \d+", "schema: [n]");
    settings.bind(|| insta::assert_snapshot!("version", home.ok(&["--version"])));
}
