//! `backstory status`, `backstory projects` and the pager, in a real terminal.

use crate::{
    home::{Home, settings},
    memory::home_with_bug_fix,
    tmux::{Tmux, executable},
};

/// Returns what a command shows in a terminal of 80 by 24, without ages.
fn shown(home: &Home, arguments: &str) -> Option<String> {
    let tmux = Tmux::run(home, arguments)?;
    tmux.until("left with 0");
    Some(tmux.screen())
}

#[test]
fn status_fits_a_small_terminal() {
    let home = home_with_bug_fix();
    let Some(first) = shown(&home, "status") else {
        return;
    };
    home.ok(&["done", "bound", "retries"]);
    let after = shown(&home, "status").unwrap();
    assert!(first.contains("Bound the retries of the upload"), "{first}");
    assert!(!after.contains("Bound the retries of the upload"), "{after}");
    settings().bind(|| insta::assert_snapshot!("status_in_a_terminal", first));
    assert!(first.lines().all(|line| line.chars().count() <= 80), "{first}");
}

#[test]
fn status_of_a_folder_without_sessions_says_so() {
    let home = Home::new();
    let Some(empty) = shown(&home, "status") else {
        return;
    };
    assert!(
        empty.contains("`backstory setup` connects your agents"),
        "{empty}"
    );
    assert_eq!(
        home.json(&["status", "--json"])["project"],
        serde_json::Value::Null
    );
}

#[test]
fn projects_are_listed_with_the_current_one_marked() {
    let home = home_with_bug_fix();
    let Some(listed) = shown(&home, "projects") else {
        return;
    };
    settings().bind(|| insta::assert_snapshot!("projects_in_a_terminal", listed));
    let projects = home.json(&["projects", "--json"]);
    assert_eq!(projects["projects"][0]["name"], "acme");
}

#[test]
fn long_output_goes_through_the_pager_and_short_output_does_not() {
    let home = home_with_bug_fix();
    let pager = executable(&home, "pager", "#!/bin/sh\nsed 's/^/| /'\n");
    let home = home.with("PAGER", pager.to_str().unwrap());
    let rows = 12;
    let Some(tmux) = Tmux::run_in_rows(&home, "show 1", rows) else {
        return;
    };
    tmux.until("left with 0").until("| ");
    drop(tmux);
    for arguments in ["show 1 --no-pager", "projects", "show 1 --json"] {
        let tmux = Tmux::run_in_rows(&home, arguments, rows).unwrap();
        tmux.until("left with 0");
        assert!(!tmux.screen().contains("| "), "{arguments}\n{}", tmux.screen());
    }
}

#[test]
fn a_pager_that_the_user_leaves_early_is_no_error() {
    let home = home_with_bug_fix();
    let pager = executable(&home, "pager", "#!/bin/sh\nexit 0\n");
    let home = home.with("PAGER", pager.to_str().unwrap());
    let Some(tmux) = Tmux::run_in_rows(&home, "show 1", 6) else {
        return;
    };
    tmux.until("left with 0");
}
