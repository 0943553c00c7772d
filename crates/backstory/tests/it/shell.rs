//! Shell completions, manual pages and version information.

use std::process::Command;

use crate::home::{Home, settings, text};

#[test]
fn every_shell_gets_a_script() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = home.ok(&["completions", shell]);
        for command in ["search", "doctor", "claude-mem"] {
            assert!(script.contains(command), "{shell}: {command}");
        }
    }
    assert_eq!(home.run(&["completions", "tcsh"], b"").status.code(), Some(2));
}

#[test]
fn bash_completes_commands_and_options() {
    let home = Home::new();
    let script = home.outside().join("completions.bash");
    std::fs::write(&script, home.ok(&["completions", "bash"])).unwrap();
    let complete = |words: &str| {
        let ask = "source \"$0\"; COMP_WORDS=($1); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); \
            _backstory backstory \"${COMP_WORDS[-1]}\" \"${COMP_WORDS[-2]}\"; echo \"${COMPREPLY[*]}\"";
        let output = Command::new("bash")
            .args(["-c", ask])
            .arg(&script)
            .arg(words)
            .output()
            .unwrap();
        assert_eq!(text(&output.stderr), "");
        text(&output.stdout)
    };
    assert_eq!(complete("backstory doc"), "doctor\n");
    assert_eq!(complete("backstory import claude"), "claude-code claude-mem\n");
    assert_eq!(complete("backstory restore --y"), "--yes\n");
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
