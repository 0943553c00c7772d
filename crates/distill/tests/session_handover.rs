//! The hand-over of made-up sessions: what the next session gets to read, line by line.

mod actions;

use actions::{edit, file_change, report, run, turn};
use backstory_distill::{
    Action, ChangeKind, GitCommit, Handover, Publication, PublicationAction, PublicationKind, Purpose,
    TaskState, TurnLog, compose,
};

/// Returns the hand-over of turns with a prompt and actions each.
fn handover(turns: Vec<(&str, Vec<Action>)>) -> Handover {
    compose(&logs(turns)).handover
}

fn logs(turns: Vec<(&str, Vec<Action>)>) -> Vec<TurnLog> {
    (1..)
        .zip(turns)
        .map(|(number, (prompt, actions))| TurnLog {
            branch: Some("main".to_owned()),
            ..turn(number, prompt, actions)
        })
        .collect()
}

fn commit(subject: &str, body: &str) -> Action {
    Action::Commit(GitCommit {
        hash: Some("ab12cd3".to_owned()),
        subject: subject.to_owned(),
        body: (!body.is_empty()).then(|| body.to_owned()),
        amend: false,
        files: None,
    })
}

fn task(id: &str, text: &str, state: TaskState) -> Action {
    Action::Task {
        id: Some(id.to_owned()),
        text: text.to_owned(),
        state,
    }
}

#[test]
fn a_commit_is_listed_with_its_message() {
    let done = handover(vec![(
        "Speed up the importer",
        vec![
            edit("import.py"),
            commit(
                "Batch inserts",
                "One transaction per row made `import.py` wait for the disk. Batches of 500 rows do not.",
            ),
            edit("import.py"),
            commit(
                "Address review",
                "- Close the cursor in `flush()`\n- Name the batch size",
            ),
            report("Committed."),
        ],
    )])
    .done;
    assert_eq!(
        done,
        [
            "`ab12cd3` Batch inserts: One transaction per row made `import.py` wait for the disk. Batches of 500 rows do not",
            "`ab12cd3` Address review: Close the cursor in `flush()`. Name the batch size",
        ]
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
        done.contains(&"Found: The bug: `on_stop` drops the actions that `apply()` returns".to_owned()),
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
fn a_style_error_that_was_fixed_is_no_trap() {
    let traps = handover(vec![(
        "Share the path",
        vec![
            run(
                "make lint",
                Purpose::Lint,
                Some("string has 3 occurrences, make it a constant (goconst)"),
            ),
            Action::Prose("The linter wants a constant because the string is repeated.".to_owned()),
            edit("setup.go"),
            run("make lint", Purpose::Lint, None),
            report("`setup.go` uses one constant."),
        ],
    )])
    .traps;
    assert!(traps.is_empty(), "{traps:?}");
}

#[test]
fn a_question_about_the_state_is_no_open_work() {
    let open = handover(vec![
        (
            "Work through the plan",
            vec![
                task("1", "Update the manual", TaskState::Pending),
                edit("a.go"),
                report("Changed `a.go`."),
            ],
        ),
        ("what is remaining?", vec![]),
    ])
    .open;
    assert_eq!(open, ["Tasks not done: Update the manual"]);
}

#[test]
fn an_announcement_is_no_report() {
    let open = handover(vec![
        (
            "Number the folders from 1",
            vec![edit("folders.go"), report("Folders now start at `1/`.")],
        ),
        (
            "Make the paths absolute as well",
            vec![report(
                "The numbering is complete. This is a new task.\n\nLet me explore how `Paths` is used.",
            )],
        ),
    ])
    .open;
    assert_eq!(
        open,
        ["Last request without a final report: Make the paths absolute as well"]
    );
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
fn a_question_that_allows_for_later_defers_nothing() {
    let open = handover(vec![
        (
            "Do both clients have tests?",
            vec![report("`a.ts` and `b.ts` have the same tests.")],
        ),
        (
            "Could we share the helpers? Fine to do it later too",
            vec![report("Yes: 1. share the test helpers, 2. share everything.")],
        ),
        (
            "let's do 1",
            vec![
                edit("helpers.ts"),
                report("Created shared helpers in `helpers.ts`."),
            ],
        ),
    ])
    .open;
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn a_task_that_a_commit_describes_is_done() {
    let open = handover(vec![(
        "Work through the plan",
        vec![
            task("1", "Add worktree id to options", TaskState::Pending),
            task("2", "Update the manual", TaskState::Pending),
            edit("options.go"),
            commit("Add the worktree id to all options", ""),
            report("Committed the first part."),
        ],
    )])
    .open;
    assert_eq!(open, ["Tasks not done: Update the manual"]);
}

#[test]
fn an_issue_that_was_filed_is_open_with_its_reason() {
    let issue = |action, reference: &str, title: &str, body: &str| {
        Action::Publication(Publication {
            kind: PublicationKind::Issue,
            action,
            reference: Some(reference.to_owned()),
            title: Some(title.to_owned()).filter(|title| !title.is_empty()),
            body: Some(body.to_owned()).filter(|body| !body.is_empty()),
        })
    };
    let handover = handover(vec![(
        "File what we found",
        vec![
            issue(
                PublicationAction::Created,
                "X-1",
                "Run gc at safe points",
                "## Problem\n\nLoose objects pile up.",
            ),
            issue(
                PublicationAction::Created,
                "X-2",
                "Do not rewrite the index",
                "## Problem\n\n`status()` rewrites the index. It should only read.",
            ),
            issue(PublicationAction::Closed, "X-1", "", ""),
            report("Filed."),
        ],
    )]);
    assert_eq!(handover.done, ["Issue X-1 closed: Run gc at safe points"]);
    assert_eq!(
        handover.open,
        ["Issue X-2 filed: Do not rewrite the index: `status()` rewrites the index"]
    );
}

#[test]
fn a_plan_stands_for_the_request_that_it_answers() {
    let open = handover(vec![(
        "Start from scratch and flush at each commit",
        vec![Action::Plan {
            text: "# Plan: Flush at each commit\n\n## Context\nToday it waits.".to_owned(),
            approved: None,
        }],
    )])
    .open;
    assert_eq!(
        open,
        ["Plan written, nothing implemented yet: Flush at each commit"]
    );
}

#[test]
fn short_requests_share_a_line_and_small_talk_is_left_out() {
    let answer = || vec![report("The `clean` command removes branches that nothing uses.")];
    let work = || vec![edit("clean.go"), report("Moved `clean` under `session`.")];
    let requests = handover(vec![
        ("What does `clean` do?", answer()),
        ("Is that an edge case now?", answer()),
        ("Move it under `session` please", work()),
        (
            "=== Step 6: Verify ===\nERROR: branch x does not exist!\nAvailable branches:\n  main\n* dev",
            work(),
        ),
        ("yes", work()),
        ("let's do 2", work()),
        ("Is there anything left to clean?", answer()),
        ("What do you think of the name?", answer()),
    ])
    .requests;
    assert_eq!(
        requests,
        [
            "What does `clean` do?",
            "Is that an edge case now?; Move it under `session` please; Is there anything left to clean?; What do you think of the name?",
        ]
    );
}

#[test]
fn pasted_output_is_named_by_its_error() {
    let requests = handover(vec![(
        "no, back to the build:\n create mode 100644 main.py\n=== Step 3 ===\ngo: cannot find main module\n=== Step 4 ===",
        vec![edit("build.sh"), report("`build.sh` now builds once.")],
    )])
    .requests;
    assert_eq!(requests, ["no, back to the build (go: cannot find main module)"]);
}

#[test]
fn decisions_are_rules_that_outlive_their_request() {
    let work = || vec![edit("a.py"), report("Changed `a.py`.")];
    let handover = handover(vec![
        ("Add session hooks to `a.py`", work()),
        ("don't give it a number and put it into the header", work()),
        ("yeah it doesn't make sense to commit in a broken state", work()),
        ("Add the tests for `a.py`", work()),
    ]);
    assert_eq!(
        handover.decisions,
        ["It doesn't make sense to commit in a broken state"]
    );
    assert!(
        !handover.requests.iter().any(|line| line.contains("broken state")),
        "{:?}",
        handover.requests
    );
}

#[test]
fn a_failing_assertion_on_the_way_is_no_trap() {
    let traps = handover(vec![(
        "Count user lines correctly",
        vec![
            run("go test ./count", Purpose::Test, Some("lines = 12, want 10")),
            Action::Prose("The count is wrong because user lines are counted twice.".to_owned()),
            edit("count.go"),
            run("go test ./count", Purpose::Test, None),
            report("`count.go` counts each line once."),
        ],
    )])
    .traps;
    assert!(traps.is_empty(), "{traps:?}");
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
fn a_branch_that_was_created_is_the_branch_at_the_end() {
    let mut turns = vec![(
        "Commit on a new branch",
        vec![
            run("git checkout -b faster-import", Purpose::Other, None),
            edit("import.py"),
            commit("Batch inserts", ""),
            report("Committed."),
        ],
    )];
    assert_eq!(handover(turns.clone()).branch.as_deref(), Some("faster-import"));
    turns.push(("And now the changelog", vec![report("Nothing to add.")]));
    assert_eq!(handover(turns).branch.as_deref(), Some("main"));
}

fn push(tip: Option<&str>) -> Action {
    Action::Push {
        branch: None,
        tip: tip.map(str::to_owned),
    }
}

#[test]
fn a_rebased_commit_has_the_hash_that_was_pushed_or_none() {
    let handover = handover(vec![(
        "Retry twice and push",
        vec![
            edit("retry.py"),
            commit("Retry once", ""),
            commit("Retry twice", ""),
            run("git pull --rebase", Purpose::Other, None),
            push(Some("ff00ff0")),
            report("Pushed."),
        ],
    )]);
    assert_eq!(
        handover.done,
        ["Retry once (pushed)", "`ff00ff0` Retry twice (pushed)"]
    );
    assert!(handover.state.is_empty(), "{:?}", handover.state);
}

#[test]
fn commits_that_were_rebased_after_the_push_are_not_pushed() {
    let handover = handover(vec![(
        "Retry and rebase",
        vec![
            edit("retry.py"),
            commit("Retry once", ""),
            push(None),
            run("git rebase main", Purpose::Other, None),
            report("Rebased."),
        ],
    )]);
    assert_eq!(handover.done, ["Retry once"]);
    assert_eq!(handover.state, ["Not pushed"]);
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
fn a_question_at_the_end_keeps_its_options() {
    let open = |text: &str| handover(vec![("Fix the counters", vec![edit("count.py"), report(text)])]).open;
    assert_eq!(
        open(
            "`count()` now skips blank lines.\n\nWould you like me to:\n1. Revert the other fix?\n2. Keep looking for the cause?\n"
        ),
        [
            "Asked, not answered: Would you like me to: 1. Revert the other fix? 2. Keep looking for the cause?"
        ]
    );
    assert_eq!(
        open(
            "### Option 1: Share the parser\n\nLess code.\n\n### Option 2: Keep both\n\nNo risk.\n\nShould I go with option 1?"
        ),
        ["Asked, not answered: Should I go with option 1? (Option 1: Share the parser)"]
    );
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
fn a_pull_request_is_not_called_open_when_the_user_speaks_of_a_merge() {
    let opened = || {
        Action::Publication(Publication {
            kind: PublicationKind::PullRequest,
            action: PublicationAction::Created,
            reference: Some("#12".to_owned()),
            title: Some("Count messages".to_owned()),
            body: None,
        })
    };
    let open = |next: &str| {
        handover(vec![
            ("Open a pull request", vec![opened(), report("Opened.")]),
            (
                next,
                vec![edit("count.py"), report("`count()` now skips blank lines.")],
            ),
        ])
        .open
    };
    assert_eq!(
        open("Now skip blank lines in the counter"),
        ["Pull request #12 is open, not merged"]
    );
    assert!(open("I've merged it, now skip blank lines in the counter").is_empty());
}

#[test]
fn words_while_the_agent_works_are_requests() {
    let requests = handover(vec![(
        "Replace the status call with the git command line in every hook of the strategy package",
        vec![
            Action::UserMessage(
                "could we create the shim in a package of its own, so that the tests can use it too?"
                    .to_owned(),
            ),
            edit("shim.go"),
            report("Moved `shim.go` into a package."),
        ],
    )])
    .requests;
    assert_eq!(requests.len(), 2, "{requests:?}");
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
fn a_probe_that_fails_on_code_that_passed_is_not_open() {
    let open = handover(vec![(
        "Find unused code",
        vec![
            edit("a.go"),
            run("mise run lint", Purpose::Lint, None),
            run(
                "golangci-lint run --no-config",
                Purpose::Lint,
                Some("a.go:3:1: Close is not checked"),
            ),
            report("`load` in `a.go` now closes its file."),
        ],
    )])
    .open;
    assert_eq!(open, Vec::<String>::new());
}
