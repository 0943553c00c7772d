//! Open work that the words of made-up reports leave: deferrals, review findings, admitted failures.

use super::actions::{commit, commit_as, edit, handover, report, turn};
use backstory_distill::{Action, compose};

#[test]
fn features_named_by_a_verb_are_not_open_work() {
    let memory = compose(&[turn(
        1,
        "Add a command palette",
        vec![
            edit("src/palette.ts"),
            commit_as(
                "abc1234",
                "Add a command palette",
                Some("The palette lists the commands of the active editor."),
                false,
            ),
            Action::Push {
                branch: None,
                tip: None,
            },
            report(
                "Done and pushed. The palette has these commands:\n\n- Open file jumps to a file by name\n- Close others closes all other tabs\n- Launch tests runs the suite of the open file\n",
            ),
        ],
    )]);
    assert_eq!(memory.handover.open, Vec::<String>::new());
}

#[test]
fn open_work_is_recognized_in_its_usual_wordings() {
    for (ending, wanted) in [
        (
            "Still to do:\n- migrate the `users` table",
            "Migrate the `users` table",
        ),
        ("Remaining:\n- document `--dry-run`", "Document `--dry-run`"),
        (
            "## What's left\n- translate the error pages",
            "Translate the error pages",
        ),
        (
            "Next I would move `Lexer` out of the parser.",
            "Next I would move `Lexer` out of the parser",
        ),
        (
            "The `cache` module is out of scope for this change.",
            "The `cache` module is out of scope for this change",
        ),
    ] {
        let memory = compose(&[turn(
            1,
            "Clean up the importer",
            vec![
                edit("src/import.rs"),
                report(&format!("`import` reads files in parallel now.\n\n{ending}\n")),
            ],
        )]);
        assert!(
            memory.handover.open.iter().any(|item| item == wanted),
            "{ending}: {:?}",
            memory.handover.open
        );
    }
}

#[test]
fn a_run_that_the_user_was_asked_for_is_open() {
    let open = handover(vec![(
        "Fix the end-to-end script",
        vec![
            edit("e2e.sh"),
            report("`e2e.sh` now puts the fresh binary into `PATH`. Try running it again:\n```bash\n./e2e.sh --keep\n```"),
        ],
    )])
    .open;
    assert_eq!(open, ["Try running it again: `./e2e.sh --keep`"]);
}

#[test]
fn a_review_finding_is_open_until_a_commit_fixes_it() {
    let review = "## Thread 1 — Failed upload orphans the temp file (medium severity)\nThe file stays.\n\n## Thread 2 — Double parsing in `load` (low)\nIt reads twice.";
    let open = handover(vec![
        ("Review the pull request", vec![report(review)]),
        (
            "Fix the first one",
            vec![
                edit("upload.rs"),
                commit("Fix failed upload orphaning the temp file", ""),
                report("Committed."),
            ],
        ),
    ])
    .open;
    assert_eq!(open.len(), 1, "{open:?}");
    assert!(open[0].contains("Double parsing"), "{open:?}");
}

#[test]
fn quotations_tables_and_verdicts_leave_nothing_open() {
    let open = handover(vec![(
        "Explain the phases and review the wrapper",
        vec![report(
            "| Phase | Flush |\n|---|---|\n| `ACTIVE` | deferred to the end of the turn |\n\nThe phase `HELD` signals \"flush was deferred for now\".\n\nThe `wrap` function could be considered indirection. Parsing errors of `load` are dropped, which is acceptable but worth noting.",
        )],
    )])
    .open;
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn a_labeled_entry_about_completed_work_is_not_open() {
    let open = handover(vec![(
        "Address the review",
        vec![
            edit("load.go"),
            report("- Backfill — Added a migration for pre-existing sessions in `load.go`\n- `save()` could be split"),
        ],
    )])
    .open;
    assert_eq!(open, ["`save()` could be split"]);
}

#[test]
fn failures_that_the_last_report_admits_are_open() {
    let open = handover(vec![(
        "Fix the counters",
        vec![
            edit("count.py"),
            report(
                "`count()` now skips blank lines. Three integration tests are still failing with `agent=0`.",
            ),
        ],
    )])
    .open;
    assert_eq!(open, ["Three integration tests are still failing with `agent=0`"]);
}

#[test]
fn findings_that_the_user_orders_to_fix_are_not_open() {
    let review = || {
        vec![report(
            "## Double parsing in `load` (medium)\n\nIt parses twice.\n\n## No limit in `read` (low)\n\nIt reads all.",
        )]
    };
    let open = |next: &str| {
        handover(vec![
            ("Review the parser", review()),
            (next, vec![edit("parser.rs"), report("Done with the parser.")]),
        ])
        .open
    };
    assert!(open("Can you fix all of them").is_empty());
}
