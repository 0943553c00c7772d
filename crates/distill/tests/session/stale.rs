//! Statements of made-up sessions that a later step made untrue.

use super::actions::{edit, file_change, prose, report, text_of, turn};
use backstory_distill::{Action, ChangeKind, compose};

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
