//! The picker, in a real terminal: tmux runs the binary, types keys and shows the screen.

use std::{fs, path::PathBuf};

use crate::{
    home::{Home, eventually, settings},
    memory::home_with_bug_fix,
    tmux::{Tmux, executable},
};

/// A line of every preview.
const PREVIEW: &str = "agent        claude-code";

#[test]
fn typing_searches_and_enter_shows_the_evidence() {
    let home = home_with_bug_fix();
    let Some(tmux) = Tmux::run(&home, "") else { return };
    tmux.until("results")
        .until("Token refresh now retries")
        .until(PREVIEW);
    let mut settings = settings();
    settings.add_filter(r" +(\d+ results · )\d+ ms", " $1[n] ms");
    settings.add_filter(r" +\[age\]", " [age]");
    settings.add_filter(r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d \S+", "[time]");
    settings.bind(|| insta::assert_snapshot!("picker_first_screen", tmux.screen()));
    tmux.types("nothing-of-that-name").until("Nothing found in acme");
    tmux.press(&["Escape"]).until("type to search");
    tmux.types("refresh 401")
        .until("❯ refresh 401")
        .until("Token refresh");
    // The session and its hand-over come first.
    tmux.press(&["Down"])
        .press(&["Down"])
        .press(&["Enter"])
        .until("Esc back");
    tmux.press(&["End"]).until("Evidence");
    tmux.press(&["Escape"]).until("❯ refresh 401");
    tmux.press(&["F1"]).until("Keys: letters in the list");
    tmux.press(&["x"]).press(&["Escape"]).until("type to search");
    tmux.press(&["Escape"]).until("left with 0");
}

#[test]
fn search_without_words_opens_the_picker_and_with_words_does_not() {
    let home = home_with_bug_fix();
    let Some(tmux) = Tmux::run(&home, "search") else {
        return;
    };
    tmux.until("type to search").press(&["C-c"]).until("left with 0");
    drop(tmux);
    let tmux = Tmux::run(&home, "search refresh").unwrap();
    tmux.until("left with 0");
    assert!(!tmux.screen().contains("type to search"));
}

#[test]
fn an_empty_home_shows_the_help() {
    let home = Home::new();
    let Some(tmux) = Tmux::run(&home, "") else { return };
    tmux.until("left with 2");
    assert!(tmux.screen().contains("Examples:"), "{}", tmux.screen());
}

#[test]
fn the_screen_follows_its_size() {
    let home = home_with_bug_fix();
    let Some(tmux) = Tmux::run(&home, "") else { return };
    tmux.until(PREVIEW);
    assert!(tmux.screen().contains("────"), "{}", tmux.screen());
    tmux.tmux(&["resize-window", "-x", "130", "-y", "30"]);
    tmux.until_screen("a preview beside the list", |screen| {
        screen.contains('│') && !screen.contains("────")
    });
    tmux.tmux(&["resize-window", "-x", "30", "-y", "8"]);
    tmux.until_screen("no preview", |screen| {
        !screen.contains('│') && screen.contains("❯")
    });
    tmux.tmux(&["resize-window", "-x", "2", "-y", "2"]);
    tmux.tmux(&["resize-window", "-x", "80", "-y", "24"]);
    tmux.until(PREVIEW).press(&["C-c"]).until("left with 0");
}

#[test]
fn a_memory_is_copied_pinned_edited_and_forgotten() {
    let home = home_with_bug_fix();
    let editor = executable(
        &home,
        "editor",
        "#!/bin/sh\nsed -i 's/^title = .*/title = \"Edited in the editor\"/' \"$1\"\n",
    );
    let home = home.with("EDITOR", editor.to_str().unwrap());
    let Some(tmux) = Tmux::run(&home, "") else { return };
    tmux.until("Token refresh now")
        .types("token refresh now retries")
        .until("bugfix");
    tmux.press(&["M-t"])
        .until("Show")
        .press(&["b"])
        .press(&["Enter"])
        .until("show bugfix");
    tmux.until_screen("only the bug fix", |screen| screen.contains("1 result "));

    tmux.press(&["M-y"]).until("copied, about");
    let copied = tmux.tmux(&["show-buffer"]);
    assert!(copied.starts_with("From backstory:\n#1 "), "{copied}");
    assert!(copied.contains("Token refresh now retries once"), "{copied}");

    tmux.press(&["M-p"]).until("pinned 1");
    assert_eq!(home.json(&["show", "1", "--json"])[0]["pinned"], true);
    tmux.press(&["M-e"]).until("changed 1: title");
    assert_eq!(
        home.json(&["show", "1", "--json"])[0]["title"],
        "Edited in the editor"
    );

    tmux.press(&["M-d"]).press(&["Escape"]);
    tmux.press(&["Escape"]).until("Edited in the editor");
    tmux.press(&["M-x"]).until("deleting in");
    tmux.press(&["M-u"]).until("kept: Edited in the editor");
    assert_eq!(
        home.json(&["show", "1", "--json"])[0]["title"],
        "Edited in the editor"
    );

    tmux.until_screen("the row again", |screen| screen.contains("bugfix    Edited"));
    tmux.press(&["M-x"]).until("deleting in");
    tmux.press(&["C-c"]).until("deleted 1").until("left with 0");
    assert_eq!(home.run(&["show", "1"], b"").status.code(), Some(1));
    home.assert_nowhere("Edited in the editor");
}

#[test]
fn a_session_continues_in_its_agent() {
    let home = home_with_bug_fix();
    let agent = "#!/bin/sh\necho \"agent got $* in $(basename \"$PWD\")\"\n";
    let folder = executable(&home, "claude", agent);
    let path = format!("{}:/usr/bin:/bin", folder.parent().unwrap().display());
    let home = home.with("PATH", &path);
    let Some(tmux) = Tmux::run(&home, "") else { return };
    tmux.until(PREVIEW).press(&["M-r"]);
    tmux.until("agent got --resume s1 in acme").until("left with 0");
    drop(tmux);
    assert_eq!(
        home.ok(&["resume", "--print"]),
        format!("cd {} && claude --resume s1\n", home.project().display())
    );
    let found = home.json(&["resume", "--json", "token", "refresh"]);
    assert_eq!(
        (&found["session_id"], &found["host"]),
        (&"s1".into(), &"claude-code".into())
    );
    let output = home.run(&["resume", "no-such-session-anywhere"], b"");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_signal_restores_the_terminal_and_deletes_nothing() {
    let home = home_with_bug_fix();
    let Some(tmux) = Tmux::run(&home, "") else { return };
    tmux.until(PREVIEW)
        .press(&["M-t"])
        .press(&["b"])
        .press(&["Enter"])
        .until("show bugfix");
    tmux.press(&["M-x"]).until("deleting in");
    tmux.signal("-TERM");
    tmux.until("left with 0");
    assert_eq!(home.run(&["show", "1"], b"").status.code(), Some(0));
}

#[test]
fn a_stopped_picker_gives_the_terminal_back_until_it_continues() {
    let home = home_with_bug_fix();
    let Some(tmux) = Tmux::run(&home, "") else { return };
    for stop in [false, true] {
        tmux.until(PREVIEW);
        if stop {
            tmux.signal("-TSTP");
        } else {
            tmux.press(&["C-z"]);
        }
        tmux.until_screen("the shell's screen", |screen| !screen.contains(PREVIEW));
        let state = format!("/proc/{}/stat", tmux.pid());
        tmux.until_screen("a stopped process", |_| {
            fs::read_to_string(&state).unwrap_or_default().contains(") T ")
        });
        tmux.signal("-CONT");
    }
    tmux.until(PREVIEW).press(&["C-c"]).until("left with 0");
}

#[test]
fn a_picker_ends_with_its_terminal() {
    let home = home_with_bug_fix();
    let Some(tmux) = Tmux::run(&home, "") else { return };
    tmux.until(PREVIEW);
    let process = PathBuf::from(format!("/proc/{}", tmux.pid()));
    assert!(process.exists());
    drop(tmux);
    eventually("the picker ends", || !process.exists());
}
