//! Open work of made-up sessions, as far as the log tells it: tasks, plans, questions, issues, pull requests, failures.

use super::actions::{commit, commit_as, edit, handover, prose, report, run, task, turn};
use backstory_distill::{
    Action, Publication, PublicationAction, PublicationKind, Purpose, TaskState, TurnEnd, compose,
};
use backstory_model::ObservationType;

#[test]
fn work_that_a_later_turn_completed_is_not_open() {
    let memory = compose(&[
        turn(
            1,
            "Clean up the importer",
            vec![
                edit("src/import.rs"),
                report("`import` reads files in parallel now. A retry for `fetch` is a follow-up."),
            ],
        ),
        turn(
            2,
            "do the retry",
            vec![
                edit("src/fetch.rs"),
                commit_as(
                    "abc1234",
                    "Retry `fetch` as a follow-up of the import",
                    None,
                    false,
                ),
                report("`fetch` retries three times."),
            ],
        ),
    ]);
    assert!(
        !memory.handover.open.iter().any(|item| item.contains("follow-up")),
        "{:?}",
        memory.handover.open
    );
}

#[test]
fn unfinished_tasks_plans_questions_and_failures_are_open() {
    let task = |id: &str, text: &str, state| Action::Task {
        id: Some(id.to_owned()),
        text: text.to_owned(),
        state,
    };
    let tasks = compose(&[turn(
        1,
        "Do all three",
        vec![
            task("1", "Rename the crate", TaskState::Pending),
            task("2", "Update the docs", TaskState::Pending),
            task("1", "", TaskState::Completed),
            report("The crate is renamed."),
        ],
    )]);
    assert_eq!(tasks.handover.open, ["Tasks not done: Update the docs"]);

    let plan = compose(&[turn(
        1,
        "Plan the migration",
        vec![
            Action::Plan {
                text: "# Move sessions to Postgres\n\n## Context\nSQLite locks the file.".to_owned(),
                approved: Some(true),
            },
            report("The plan is ready."),
        ],
    )]);
    assert_eq!(
        plan.handover.open,
        ["Plan written, nothing implemented yet: Move sessions to Postgres"]
    );

    let question = compose(&[turn(
        1,
        "Fix the harness",
        vec![
            edit("harness.sh"),
            report("`harness.sh` uses plain UUIDs now. Would you like me to commit this?"),
        ],
    )]);
    assert_eq!(
        question.handover.open,
        ["Asked, not answered: Would you like me to commit this?"]
    );
    assert_eq!(question.handover.state, ["Changed, not committed: `harness.sh`"]);

    let failing = compose(&[turn(
        1,
        "Fix the test",
        vec![
            edit("src/a.rs"),
            run("cargo test", Purpose::Test, Some("error: a.rs: assertion failed")),
            report("The assertion in `a.rs` still fails."),
        ],
    )]);
    assert_eq!(
        failing.handover.open[0],
        "`cargo test` failed: `error: a.rs: assertion failed`"
    );
    assert!(
        !failing
            .observations
            .iter()
            .any(|one| one.observation.kind == ObservationType::Bugfix),
        "a failure that nothing resolved is not a fix"
    );

    let mut background = turn(
        1,
        "Watch the deployment",
        vec![
            prose("Starting the rollout of version 7."),
            run("deploy --watch", Purpose::Other, None),
        ],
    );
    background.end = TurnEnd::Background;
    assert!(compose(&[background]).handover.open[0].starts_with("Still running in the background"));
}

#[test]
fn filed_issues_and_unmerged_pull_requests_are_open() {
    let publication = |kind, action, reference: &str, title: &str| {
        Action::Publication(Publication {
            kind,
            action,
            reference: Some(reference.to_owned()),
            title: Some(title.to_owned()),
            body: None,
        })
    };
    let memory = compose(&[turn(
        1,
        "File what is left and open the PR",
        vec![
            publication(
                PublicationKind::Issue,
                PublicationAction::Created,
                "ENG-7",
                "Parse the transcript once",
            ),
            publication(
                PublicationKind::Issue,
                PublicationAction::Created,
                "ENG-8",
                "Drop the shim",
            ),
            publication(
                PublicationKind::Issue,
                PublicationAction::Closed,
                "ENG-8",
                "Drop the shim",
            ),
            publication(
                PublicationKind::PullRequest,
                PublicationAction::Created,
                "#12",
                "Count messages",
            ),
            report("Filed and opened."),
        ],
    )]);
    assert_eq!(
        memory.handover.open,
        [
            "Issue ENG-7 filed: Parse the transcript once",
            "Pull request #12 is open, not merged"
        ]
    );
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
