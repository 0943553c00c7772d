//! Commits of made-up sessions: their memories, hashes, branches and pushes.

use super::actions::{
    change, commit, commit_as, edit, file_change, handover, push, report, run, text_of, turn,
};
use backstory_distill::{
    Action, ChangeKind, Publication, PublicationAction, PublicationKind, Purpose, compose,
};
use backstory_model::ObservationType;

#[test]
fn a_commit_keeps_its_body_and_its_final_hash() {
    let body = "The lease was renewed only after the job, so a long job lost it.\n\nRenew it every 10 seconds from a timer in `lease.rs`.";
    let memory = compose(&[turn(
        1,
        "Jobs run twice",
        vec![
            edit("src/lease.rs"),
            commit_as(
                "1111111",
                "fix(queue): renew the lease while a job runs",
                Some(body),
                false,
            ),
            edit("src/lease.rs"),
            commit_as(
                "2222222",
                "fix(queue): renew the lease while a job runs",
                None,
                true,
            ),
            report("Committed."),
        ],
    )]);
    let observation = &memory.observations[0].observation;
    assert_eq!(observation.title, "Renew the lease while a job runs");
    assert_eq!(observation.kind, ObservationType::Bugfix);
    assert!(
        observation
            .narrative
            .as_deref()
            .unwrap_or_default()
            .contains("so a long job lost it")
    );
    assert_eq!(observation.files_modified, ["src/lease.rs"]);
    let text = text_of(&memory);
    assert!(text.contains("2222222") && !text.contains("1111111"), "{text}");
    assert!(
        memory.handover.done[0].contains("2222222"),
        "{:?}",
        memory.handover.done
    );
    assert_eq!(memory.handover.state, ["Not pushed"]);
}

#[test]
fn files_have_their_final_path_without_scratch_and_reverted_files() {
    let mut scratch = file_change("/tmp/try.py", ChangeKind::Created);
    scratch.scratch = true;
    let memory = compose(&[turn(
        1,
        "Move the parser",
        vec![
            edit("src/old_parser.rs"),
            Action::Change(scratch),
            edit("src/workaround.rs"),
            run("git checkout -- src/workaround.rs", Purpose::Other, None),
            change(
                "src/parse/mod.rs",
                ChangeKind::MovedFrom("src/old_parser.rs".to_owned()),
            ),
            commit_as(
                "abc1234",
                "refactor: move the parser into its own folder",
                Some("The folder holds the lexer as well, which only the parser uses."),
                false,
            ),
            report("Moved."),
        ],
    )]);
    assert_eq!(
        memory.observations[0].observation.files_modified,
        ["src/parse/mod.rs"]
    );
    assert_eq!(memory.observations[0].observation.kind, ObservationType::Refactor);
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
fn a_report_about_two_commits_belongs_to_neither() {
    let memory = compose(&[turn(
        1,
        "Fix the lease and the retry",
        vec![
            edit("src/lease.rs"),
            commit(
                "Renew the lease while a job runs",
                "The scheduler gave a slow import to a second worker after 30 seconds.",
            ),
            edit("src/retry.rs"),
            commit("Wait before a retry", "A retry at once hit the same full queue."),
            report(
                "The lease of a job is now renewed while it runs. A retry now waits one second, because the queue was full.",
            ),
        ],
    )]);
    let narratives: Vec<_> = memory
        .observations
        .iter()
        .map(|one| {
            (
                one.observation.title.as_str(),
                one.observation.narrative.as_deref(),
            )
        })
        .collect();
    assert_eq!(
        narratives[..2],
        [
            (
                "Renew the lease while a job runs",
                Some("The scheduler gave a slow import to a second worker after 30 seconds.")
            ),
            (
                "Wait before a retry",
                Some("A retry at once hit the same full queue.")
            ),
        ]
    );
}

#[test]
fn an_issue_is_called_left_if_no_work_follows_it() {
    let facts = |after: Vec<Action>| {
        let issue = Action::Publication(Publication {
            kind: PublicationKind::Issue,
            action: PublicationAction::Created,
            reference: Some("#7".to_owned()),
            title: Some("Parse the transcript once".to_owned()),
            body: Some("`load` parses the transcript twice, because each hook opens it.".to_owned()),
        });
        let actions = std::iter::once(issue).chain(after).collect();
        text_of(&compose(&[turn(1, "File what you found", actions)]))
    };
    let note = "Filed, not worked on in this session";
    assert!(facts(vec![report("Filed.")]).contains(note));
    assert!(!facts(vec![edit("src/load.rs"), report("Filed.")]).contains(note));
}

#[test]
fn a_status_that_is_up_to_date_tells_of_a_push_outside_the_session() {
    let state = |line: &str| {
        let Action::Run(mut status) = run("git status", Purpose::Inspect, None) else {
            unreachable!("`run` makes a run");
        };
        status.result_line = Some(line.to_owned());
        handover(vec![(
            "Retry once",
            vec![
                edit("retry.py"),
                commit("Retry once", ""),
                Action::Run(status),
                report("Done."),
            ],
        )])
        .state
    };
    assert_eq!(
        state("Your branch is ahead of 'origin/main' by 1 commit; nothing to commit, working tree clean"),
        ["Not pushed"]
    );
    assert!(
        state("Your branch is up to date with 'origin/main'; nothing to commit, working tree clean")
            .is_empty()
    );
}
