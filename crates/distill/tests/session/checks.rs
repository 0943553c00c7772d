//! Checks and state at the end of made-up sessions.

use super::actions::{edit, file_change, handover, report, run, turn};
use backstory_distill::{Action, ChangeKind, Purpose, compose};

#[test]
fn checks_show_the_last_result_of_each_command() {
    let memory = compose(&[turn(
        1,
        "Fix the parser",
        vec![
            edit("src/parse.rs"),
            run(
                "cargo test -p parse",
                Purpose::Test,
                Some("error: one test failed"),
            ),
            edit("src/parse.rs"),
            run("cargo test -p parse", Purpose::Test, None),
            run("cargo clippy", Purpose::Lint, None),
            report("`parse` accepts empty input now, because callers pass it at startup."),
        ],
    )]);
    assert_eq!(
        memory.handover.checks,
        ["`cargo test -p parse` passed", "`cargo clippy` passed"]
    );
    assert!(
        !memory.handover.open.iter().any(|item| item.contains("failed")),
        "{:?}",
        memory.handover.open
    );
}

#[test]
fn checks_are_the_checks_of_the_project_in_their_last_state() {
    let checks = handover(vec![(
        "Add a reset command",
        vec![
            edit("reset.go"),
            run("make test-slow", Purpose::Test, Some("timeout after 60s")),
            run(
                "cd /tmp/x && go vet ./... && /tmp/tool reset --force",
                Purpose::Test,
                None,
            ),
            run("make test", Purpose::Test, None),
            report("Added `reset`."),
        ],
    )])
    .checks;
    assert_eq!(checks, ["`go vet ./...` passed", "`make test` passed"]);
}

#[test]
fn a_check_before_the_last_changes_says_so() {
    let checks = handover(vec![(
        "Cap the cache",
        vec![
            edit("cache.rs"),
            run("cargo test", Purpose::Test, None),
            edit("cache.rs"),
            run("cargo clippy", Purpose::Lint, None),
            report("`Cache` now holds 512 entries."),
        ],
    )])
    .checks;
    assert_eq!(
        checks,
        [
            "`cargo test` passed, before the last changes",
            "`cargo clippy` passed"
        ]
    );
}

#[test]
fn a_clean_status_after_the_last_change_leaves_nothing_uncommitted() {
    let status = |line: &str| {
        let Action::Run(mut status) = run("git status", Purpose::Inspect, None) else {
            unreachable!("`run` makes a run");
        };
        status.result_line = Some(line.to_owned());
        Action::Run(status)
    };
    let state = |line: &str| {
        handover(vec![(
            "Cap the cache",
            vec![
                edit("cache.rs"),
                status(line),
                report("`Cache` now holds 512 entries."),
            ],
        )])
        .state
    };
    assert_eq!(state("1 changed file"), ["Changed, not committed: `cache.rs`"]);
    assert!(state("nothing to commit, working tree clean").is_empty());
}

#[test]
fn changes_that_were_stashed_and_popped_are_still_there() {
    let state = |last: &str| {
        handover(vec![(
            "Cap the cache",
            vec![
                edit("cache.rs"),
                Action::Change(file_change(".", ChangeKind::Restored)),
                run(last, Purpose::Other, None),
                report("`Cache` now holds 512 entries."),
            ],
        )])
        .state
    };
    assert_eq!(state("git stash pop"), ["Changed, not committed: `cache.rs`"]);
    assert!(state("git log").is_empty());
}

#[test]
fn a_deleted_folder_takes_its_files_along() {
    let state = handover(vec![(
        "Try the patch",
        vec![
            edit("testing/a.py"),
            edit("testing_notes.md"),
            Action::Change(file_change("testing", ChangeKind::Deleted)),
            report("`testing_notes.md` now tells how to try it."),
        ],
    )])
    .state;
    assert_eq!(state, ["Changed, not committed: `testing_notes.md`"]);
}

#[test]
fn files_that_a_status_does_not_list_were_committed_elsewhere() {
    let status = |files: &[&str]| {
        let Action::Run(mut status) = run("git status --short", Purpose::Inspect, None) else {
            unreachable!("`run` makes a run");
        };
        status.changed_files = Some(files.iter().map(ToString::to_string).collect());
        Action::Run(status)
    };
    let handover = handover(vec![(
        "Cap the cache",
        vec![
            edit("src/cache.rs"),
            edit("src/limit.rs"),
            edit("docs/a/cache.md"),
            status(&["limit.rs", "docs/a/"]),
            edit("src/late.rs"),
            report("`Cache` now holds 512 entries."),
        ],
    )]);
    assert_eq!(
        handover.state,
        ["Changed, not committed: `src/limit.rs`, `docs/a/cache.md`, `src/late.rs`"]
    );
}
