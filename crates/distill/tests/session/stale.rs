//! Statements of made-up sessions that a later step made untrue.

use super::actions::{change, edit, file_change, prose, report, run, text_of, turn};
use backstory_distill::{Action, ChangeKind, Purpose, compose};

#[test]
fn a_refuted_guess_is_dropped() {
    let memory = compose(&[
        turn(
            1,
            "Startup fails with Invalid Date",
            vec![report(
                "The session files need a date in front of their name, because the client parses the date from the file name `test-session-17`.",
            )],
        ),
        turn(
            2,
            "none of the real session files has a date in front of its name",
            vec![
                prose(
                    "You're right - the file names are plain UUIDs, no date is parsed from the file name of a session.",
                ),
                report(
                    "The lines of `test-session-17` have no `timestamp` field, so the client fails when it parses them.",
                ),
            ],
        ),
    ]);
    let text = text_of(&memory);
    assert!(!text.contains("need a date in front"), "{text}");
    assert!(text.contains("have no `timestamp` field"), "{text}");
}

#[test]
fn a_state_between_two_edits_is_not_remembered() {
    let mut removal = file_change("src/cache.rs", ChangeKind::Modified);
    removal.removes = vec!["flush_all".to_owned()];
    let memory = compose(&[
        turn(
            1,
            "Flush the cache on save",
            vec![
                edit("src/cache.rs"),
                report("Saving now calls `flush_all` because partial flushes lost entries under load."),
            ],
        ),
        turn(
            2,
            "too slow, flush only dirty pages",
            vec![
                Action::Change(removal),
                edit("src/cache.rs"),
                report(
                    "Saving now flushes dirty pages only: `flush_dirty` keeps a bitmap of written pages, so a save takes 3 ms.",
                ),
            ],
        ),
    ]);
    let text = text_of(&memory);
    assert!(!text.contains("`flush_all`"), "{text}");
    assert!(text.contains("`flush_dirty`"), "{text}");
}

#[test]
fn a_change_that_the_user_reports_as_broken_is_not_told_as_working() {
    let first =
        "`find_branches` now stops at the tip of `main`, because older commits belong to other branches.";
    let second = "`find_branches` now stops at the merge base, because the tip of `main` changes daily.";
    let memory = compose(&[
        turn(
            1,
            "list only the branches of the session",
            vec![edit("src/list.rs"), report(first)],
        ),
        turn(
            2,
            "This is still not working, I get the branches of main again",
            vec![edit("src/list.rs"), report(second)],
        ),
    ]);
    let text = text_of(&memory);
    assert!(!text.contains("stops at the tip of `main`"), "{text}");
    assert!(text.contains("stops at the merge base"), "{text}");
}

#[test]
fn a_change_in_a_working_copy_that_was_removed_was_made() {
    let memory = compose(&[turn(
        1,
        "fix the response for views",
        vec![
            run("git clone https://example.org/web.git work", Purpose::Other, None),
            edit("work/http/response.py"),
            change("work", ChangeKind::Deleted),
            report("`make_bytes` in `response.py` now accepts views, because `str` printed their address."),
        ],
    )]);
    assert_eq!(
        memory.observations[0].observation.files_modified,
        ["work/http/response.py"]
    );
}

#[test]
fn a_result_that_the_user_had_revised_is_told_by_the_revision() {
    let memory = compose(&[
        turn(
            1,
            "let's use true/false and not on/off for the setting `push_sessions`",
            vec![
                edit("src/settings.rs"),
                report(
                    "The setting `push_sessions` accepts the strings `\"true\"` and `\"false\"` now, because `\"off\"` was unlike the other settings.",
                ),
            ],
        ),
        turn(
            2,
            "why can't we just use real booleans for the setting push_sessions?",
            vec![
                edit("src/settings.rs"),
                report(
                    "The setting `push_sessions` is a real boolean now, because the strings `\"true\"` and `\"false\"` needed a parser: `false` disables the push, no value enables it.",
                ),
            ],
        ),
    ]);
    let text = text_of(&memory);
    assert!(!text.contains("accepts the strings"), "{text}");
    assert!(text.contains("is a real boolean now"), "{text}");
}
