//! Completed work and findings in the hand-over of made-up sessions.

use super::actions::{commit_as, edit, handover, logs, report, turn};
use backstory_distill::compose;

#[test]
fn the_last_summary_holds_what_the_hand_over_holds() {
    let memory = compose(&[
        turn(
            1,
            "Why is the import slow?",
            vec![report(
                "`import` is slow because `parse` runs once per line; batching takes 40 ms instead of 9 s.",
            )],
        ),
        turn(
            2,
            "Batch it",
            vec![
                edit("src/import.rs"),
                commit_as("abc1234", "Batch lines in `import`", None, false),
                report("`import` batches 500 lines."),
            ],
        ),
    ]);
    assert_eq!(memory.summaries.len(), 2);
    assert_eq!(
        memory.summaries[0].summary.request.as_deref(),
        Some("Why is the import slow?")
    );
    let last = &memory.summaries[1].summary;
    assert_eq!(last.request.as_deref(), Some("Why is the import slow?\nBatch it"));
    assert!(
        last.completed
            .as_deref()
            .unwrap_or_default()
            .contains("`abc1234` Batch lines in `import`")
    );
}

#[test]
fn uncommitted_work_is_listed_by_the_outcome_of_each_turn() {
    let done = handover(vec![
        (
            "Make the retry delay configurable",
            vec![
                edit("lib/retry.ex"),
                report("Done.\n\n- Previously: `retry/1` waited one second\n- Added a `:delay` option to `retry/1`"),
            ],
        ),
        (
            "It still fails on my machine",
            vec![
                edit("lib/retry.ex"),
                report("The problem might be that `Timer` was renamed. Try it now: `mix test`"),
            ],
        ),
        (
            "Move the defaults into the config",
            vec![
                edit("config/config.exs"),
                report("Done. Files changed:\n- `config/config.exs`\n\nThe default of `:delay` now lives in `config/config.exs`."),
            ],
        ),
    ])
    .done;
    assert_eq!(
        done,
        [
            "Added a `:delay` option to `retry/1`",
            "The default of `:delay` now lives in `config/config.exs`",
        ]
    );
}

#[test]
fn headings_that_name_changes_describe_the_outcome() {
    let done = handover(vec![(
        "Fix the two bugs in reset",
        vec![
            edit("reset.go"),
            edit("store.go"),
            report(
                "All done.\n\n### 1. Fixed `reset.go`\n- Previously: returned `nil` without a word\n- Now: prints the reason\n\n### 2. Fixed `store.go`\n- Clears state files without a branch",
            ),
        ],
    )])
    .done;
    assert_eq!(
        done,
        [
            "Fix the two bugs in reset: Fixed `reset.go`: Previously: returned `nil` without a word; Now: prints the reason. Fixed `store.go`: Clears state files without a branch",
        ]
    );
}

#[test]
fn only_stated_causes_are_findings() {
    let done = handover(vec![
        (
            "Why does the nightly job hang?",
            vec![report(
                "Good question. There is no reason to share the lock.\n\nThe root cause is that `flush()` waits for the lock that `close()` holds.",
            )],
        ),
        ("Thanks, please fix it", vec![edit("job.py"), report("`close()` now releases the lock first.")]),
    ])
    .done;
    assert_eq!(
        done,
        [
            "Found: The root cause is that `flush()` waits for the lock that `close()` holds",
            "`close()` now releases the lock first",
        ]
    );
}

#[test]
fn a_labeled_cause_stands_for_the_sentences_around_it() {
    let done = handover(vec![(
        "Check the comments of the pull request",
        vec![report(
            "So the bug is currently limited to `on_stop`.\n\n**The bug**: `on_stop` drops the actions that `apply()` returns.",
        )],
    )])
    .done;
    assert!(
        done[0].starts_with("Found: The bug: `on_stop` drops the actions that `apply()` returns"),
        "{done:?}"
    );
}

#[test]
fn a_change_without_a_report_is_known_by_its_announcement() {
    let mut logs = logs(vec![(
        "Use the shared constant",
        vec![edit("hooks.go"), report("Should I also rename the others?")],
    )]);
    logs[0].entries[0].intent = Some("Now let me add `HookSessionEnd` to the shared constants:".to_owned());
    let done = compose(&logs).handover.done;
    assert_eq!(done, ["Add `HookSessionEnd` to the shared constants"]);
}

#[test]
fn a_change_with_its_reason_is_no_finding() {
    let done = handover(vec![(
        "Open a pull request",
        vec![
            edit("clean.go"),
            report("Fixes two bugs in `clean`: branches were kept due to packed refs."),
        ],
    )])
    .done;
    assert!(!done.iter().any(|line| line.starts_with("Found: ")), "{done:?}");
}

#[test]
fn a_finding_that_still_holds_is_told_beside_the_changes() {
    let done = handover(vec![
        (
            "How are uploads stored?",
            vec![report(
                "`Upload` keeps each file twice, so that a broken disk loses nothing. The second copy lies in `mirror`.",
            )],
        ),
        (
            "Now sort the list of users by name",
            vec![edit("users.py"), report("`list_users` now sorts by name.")],
        ),
    ])
    .done;
    assert_eq!(
        done,
        [
            "Found: `Upload` keeps each file twice, so that a broken disk loses nothing: The second copy lies in `mirror`",
            "`list_users` now sorts by name",
        ]
    );
}

#[test]
fn a_hand_over_with_room_says_how() {
    let text = concat!(
        "Moved the validation of `import` into the steps, because the reader lost the line number.\n\n",
        "- `parse_header` refuses a header without a version before any record is written\n",
        "- `read_rows` passes the number of each line to the error that it returns\n",
        "- `Quarantine` keeps rows with a wrong checksum in a folder beside the archive\n",
        "- the progress bar counts bytes, so a file with long rows moves it evenly\n",
        "- `--strict` ends at the first damaged row with exit code 3\n",
        "- `retry_upload` waits twice as long after every refusal by the server\n",
    );
    let memory = compose(&[turn(
        1,
        "Tell the line of a damaged record",
        vec![edit("src/import.rs"), report(text)],
    )]);
    let [done] = memory.handover.done.as_slice() else {
        panic!("one outcome: {:?}", memory.handover.done);
    };
    assert!(done.contains("`retry_upload` waits twice"), "{done}");
}

#[test]
fn a_guess_is_no_finding() {
    for guess in ["probably opens", "seems to open"] {
        let done = handover(vec![(
            "Why is the import slow?",
            vec![report(&format!(
                "`Driver` {guess} a connection per row, because it has no pool. `import` is slow because `parse` runs once per line."
            ))],
        )])
        .done;
        assert_eq!(
            done,
            ["Found: `import` is slow because `parse` runs once per line"]
        );
    }
}

#[test]
fn a_long_session_keeps_its_commits_before_their_details() {
    let logs: Vec<_> = (1..=8)
        .map(|n| {
            let words = format!("Please speed up the reader of part {n} of the archive and say why it was slow");
            let body = format!(
                "The reader of part {n} keeps its place in the index, because a second pass over the archive took hours on a slow disk. Tables of part {n} are sorted once, when they are opened, and every later question uses the same order. A damaged block of part {n} is skipped with its number in the log, so that the blocks after it are still read."
            );
            let commit = commit_as(&format!("abc000{n}"), &format!("Speed up part {n}"), Some(&body), false);
            turn(n, &words, vec![edit(&format!("src/part{n}.rs")), commit])
        })
        .collect();
    let done = compose(&logs).handover.done.join("\n");
    for n in 1..=8 {
        assert!(done.contains(&format!("abc000{n}")), "{n} in {done}");
    }
}
