//! The memory of made-up sessions: what is remembered, what is not, and what the hand-over says.

mod actions;

use actions::{edit, entries, file_change, report, run, turn};
use backstory_distill::{
    Action, ChangeKind, CommandRun, GitCommit, Publication, PublicationAction, PublicationKind, Purpose,
    RunOutcome, SessionMemory, TaskState, TurnEnd, TurnLog, compose,
};
use backstory_model::{ObservationType, Timestamp};

fn prose(text: &str) -> Action {
    Action::Prose(text.to_owned())
}

fn change(path: &str, kind: ChangeKind) -> Action {
    Action::Change(file_change(path, kind))
}

fn commit(hash: &str, subject: &str, body: Option<&str>, amend: bool) -> Action {
    Action::Commit(GitCommit {
        hash: Some(hash.to_owned()),
        subject: subject.to_owned(),
        body: body.map(str::to_owned),
        amend,
        files: None,
    })
}

fn text_of(memory: &SessionMemory) -> String {
    let mut out = String::new();
    for one in &memory.observations {
        let made = &one.observation;
        out.push_str(&format!(
            "{}\n{}\n{}\n",
            made.title,
            made.narrative.as_deref().unwrap_or_default(),
            made.facts.join("\n")
        ));
    }
    out
}

fn titles(memory: &SessionMemory) -> Vec<&str> {
    memory
        .observations
        .iter()
        .map(|one| one.observation.title.as_str())
        .collect()
}

#[test]
fn a_task_notification_is_neither_a_request_nor_an_outcome() {
    let mut interrupted = turn(
        1,
        "Split the settings page into four tabs",
        vec![edit("src/settings.tsx"), Action::Interrupted],
    );
    interrupted.end = TurnEnd::Interrupted;
    let notification = TurnLog {
        number: 2,
        prompt: None,
        machine_made: true,
        started_at: Timestamp::from_millis(120_000),
        end: TurnEnd::Stopped,
        entries: entries(
            2,
            vec![
                edit("src/tabs.tsx"),
                report("`Tabs` in `src/tabs.tsx` now keeps the open tab in the URL."),
            ],
        ),
        ..TurnLog::default()
    };
    let memory = compose(&[interrupted, notification]);
    assert_eq!(
        memory.title.as_deref(),
        Some("Split the settings page into four tabs")
    );
    assert_eq!(
        memory.handover.requests,
        ["Split the settings page into four tabs"]
    );
    assert!(
        memory
            .episodes
            .iter()
            .all(|episode| episode.request.as_deref() == Some("Split the settings page into four tabs"))
    );
}

#[test]
fn features_named_by_a_verb_are_not_open_work() {
    let memory = compose(&[turn(
        1,
        "Add a command palette",
        vec![
            edit("src/palette.ts"),
            commit(
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
fn fillers_are_neither_titles_nor_narrative() {
    let memory = compose(&[turn(
        1,
        "Why does the build pull in two versions of serde?",
        vec![
            prose("Good - I have enough context now."),
            prose("Now have all the version information needed"),
            report(
                "Good — the duplicate comes from `old-yaml`, because `old-yaml` 0.3 pins `serde` 1.0.90 while the workspace uses 1.0.210. Removing `old-yaml` is enough.",
            ),
        ],
    )]);
    let text = text_of(&memory);
    assert!(text.contains("because `old-yaml` 0.3 pins"), "{text}");
    for filler in ["Good", "enough context", "version information"] {
        assert!(!text.contains(filler), "{filler} in {text}");
    }
}

#[test]
fn a_commit_keeps_its_body_and_its_final_hash() {
    let body = "The lease was renewed only after the job, so a long job lost it.\n\nRenew it every 10 seconds from a timer in `lease.rs`.";
    let memory = compose(&[turn(
        1,
        "Jobs run twice",
        vec![
            edit("src/lease.rs"),
            commit(
                "1111111",
                "fix(queue): renew the lease while a job runs",
                Some(body),
                false,
            ),
            edit("src/lease.rs"),
            commit(
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
fn a_report_of_a_subagent_is_evidence_and_no_memory() {
    let text = "## `auth` module\n\nTokens in `auth` expire after 15 minutes because the gateway caches them. `refresh_token` rotates them on use.\n\n## `billing` module\n\nInvoices in `billing` never expire because the law requires ten years. `archive` moves them to cold storage after one year.\n";
    let memory = compose(&[turn(
        1,
        "How do expiry rules work in auth and billing?",
        vec![Action::SubagentReport {
            agent_type: Some("explore".to_owned()),
            text: text.to_owned(),
        }],
    )]);
    assert_eq!(titles(&memory), Vec::<String>::new());
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
            commit(
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
fn answers_queued_messages_and_refusals_are_kept_verbatim() {
    let memory = compose(&[turn(
        1,
        "Wire the reviewer into CI",
        vec![
            Action::UserAnswer {
                question: "How should the job sign in?".to_owned(),
                answer: "API key secret".to_owned(),
            },
            prose("Amending the commit with the lint fix."),
            Action::UserMessage("oh, please don't amend commits - it breaks our review links".to_owned()),
            Action::Refused {
                tool: "Bash".to_owned(),
                target: Some("git push --force".to_owned()),
                words: Some("never force-push shared branches, others build on them".to_owned()),
            },
            edit(".github/workflows/review.yml"),
            report("The workflow in `.github/workflows/review.yml` runs the reviewer on every pull request."),
        ],
    )]);
    let decisions: Vec<&str> = memory
        .observations
        .iter()
        .filter(|one| one.observation.kind == ObservationType::Decision)
        .map(|one| one.observation.title.as_str())
        .collect();
    assert_eq!(
        decisions,
        [
            "API key secret (How should the job sign in?)",
            "Please don't amend commits - it breaks our review links",
            "Never force-push shared branches, others build on them",
        ]
    );
    assert_eq!(memory.handover.decisions, decisions);
    assert!(text_of(&memory).contains("Said when refusing `git push --force`"));
}

#[test]
fn a_decision_in_a_turn_without_edits_is_remembered() {
    let words = "We decided to use Postgres instead of MySQL because we need JSONB indexes.";
    let memory = compose(&[turn(1, words, vec![report("Understood.")])]);
    assert_eq!(titles(&memory), [words.trim_end_matches('.')]);
    assert_eq!(memory.observations[0].observation.kind, ObservationType::Decision);
}

#[test]
fn a_later_decision_replaces_the_one_before_it() {
    let memory = compose(&[
        turn(
            1,
            "Set up sign-in",
            vec![Action::UserAnswer {
                question: "Which sign-in?".to_owned(),
                answer: "OAuth app".to_owned(),
            }],
        ),
        turn(
            2,
            "actually lets go with the API key you recommended",
            vec![
                edit("ci.yml"),
                report("`ci.yml` reads the API key from the secret `REVIEW_KEY`."),
            ],
        ),
    ]);
    let text = text_of(&memory);
    assert!(!text.contains("OAuth"), "{text}");
    assert!(text.contains("go with the API key"), "{text}");
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
                commit(
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
fn an_obstacle_is_one_memory_with_cause_and_fix() {
    let memory = compose(&[turn(
        1,
        "Make CI pass",
        vec![
            run(
                "mise run test",
                Purpose::Test,
                Some("switch.go:12:3: missing cases in switch of type Action (exhaustive)"),
            ),
            prose(
                "The `exhaustive` check wants every `Action` in the switch, because `default` does not count here. Let me add them.",
            ),
            edit("switch.go"),
            run("mise run test", Purpose::Test, None),
            report("CI passes."),
        ],
    )]);
    assert_eq!(memory.observations.len(), 1, "{:?}", titles(&memory));
    let one = &memory.observations[0];
    assert_eq!(one.observation.kind, ObservationType::Bugfix);
    assert_eq!(
        one.error_signature.as_deref(),
        Some("switch.go:12:3: missing cases in switch of type action (exhaustive)")
    );
    assert!(
        one.observation
            .title
            .starts_with("The `exhaustive` check wants every `Action` in the switch")
    );
    assert!(
        one.observation
            .facts
            .iter()
            .any(|fact| fact.contains("missing cases in switch"))
    );
    assert!(
        one.observation
            .facts
            .iter()
            .any(|fact| fact.contains("Fix in `switch.go`") || fact.contains("Fixed in `switch.go`")),
        "{:?}",
        one.observation.facts
    );
    assert_eq!(one.observation.files_modified, ["switch.go"]);
    assert_eq!(memory.handover.traps.len(), 1);
}

#[test]
fn an_attempt_that_did_not_work_is_marked_as_rejected() {
    let error = Some("error: connection refused by db:5432");
    let memory = compose(&[turn(
        1,
        "Make the integration tests pass",
        vec![
            run("make integration", Purpose::Test, error),
            prose("The `pool_size` of 1 is too small, because every worker holds a connection."),
            edit("config/pool.toml"),
            run("make integration", Purpose::Test, error),
            prose("The container listens on `db:5433`, because `compose.yml` maps the port."),
            edit("compose.yml"),
            run("make integration", Purpose::Test, None),
            report("All integration tests pass."),
        ],
    )]);
    let rejected: Vec<_> = memory.observations.iter().filter(|one| one.rejected).collect();
    assert_eq!(rejected.len(), 1, "{:?}", titles(&memory));
    assert!(rejected[0].observation.title.contains("`pool_size`"));
    let resolved = memory
        .observations
        .iter()
        .find(|one| !one.rejected && one.error_signature.is_some())
        .expect("a resolved obstacle");
    assert!(
        resolved.observation.title.contains("`db:5433`"),
        "{}",
        resolved.observation.title
    );
    assert!(
        !resolved
            .observation
            .narrative
            .as_deref()
            .unwrap_or_default()
            .contains("pool_size")
    );
}

#[test]
fn the_same_obstacle_is_remembered_once() {
    let attempt = |number| {
        turn(
            number,
            "run the script",
            vec![
                run(
                    "python check.py",
                    Purpose::Other,
                    Some("SyntaxError: invalid syntax"),
                ),
                prose("The `python` here is version 2.7, so `check.py` needs `python3`."),
                run("python3 check.py", Purpose::Other, None),
                report("The script ran."),
            ],
        )
    };
    let memory = compose(&[attempt(1), attempt(2), attempt(3)]);
    assert_eq!(titles(&memory), ["`python` fails here; `python3` works"]);
}

#[test]
fn a_compound_command_does_not_blame_its_first_part() {
    let failing = Action::Run(CommandRun {
        command: "sudo apt-get install -y gcc && cargo test".to_owned(),
        purpose: Purpose::Test,
        outcome: RunOutcome::Failed,
        failed_part: None,
        error: None,
        result_line: None,
    });
    let memory = compose(&[turn(
        1,
        "Run the tests",
        vec![
            failing,
            prose("The linker needs `gcc`, because `ring` builds C code."),
            run("sudo apt-get install -y gcc", Purpose::Install, None),
            report("Installed."),
        ],
    )]);
    assert!(
        memory
            .observations
            .iter()
            .all(|one| !one.observation.title.contains("apt-get")),
        "{:?}",
        titles(&memory)
    );
    assert!(
        memory
            .handover
            .open
            .iter()
            .any(|item| item.contains("cargo test")),
        "{:?}",
        memory.handover.open
    );
}

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
                commit("abc1234", "Batch lines in `import`", None, false),
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
fn an_empty_session_leaves_nothing() {
    assert_eq!(compose(&[]), SessionMemory::default());
}

#[test]
fn a_short_session_leaves_its_outcome() {
    let titles = |actions: Vec<Action>| -> Vec<String> {
        let memory = compose(&[turn(1, "Do it", actions)]);
        memory
            .observations
            .into_iter()
            .map(|one| one.observation.title)
            .collect()
    };
    assert_eq!(
        titles(vec![
            edit("codes.rs"),
            report("Fixed: the launch codes now rotate every night, in `codes.rs`."),
        ]),
        ["The launch codes now rotate every night, in `codes.rs`"]
    );
    assert_eq!(
        titles(vec![
            edit("src/cache.rs"),
            report("Cache misses are logged at level debug.")
        ]),
        ["Cache misses are logged at level debug"]
    );
    assert_eq!(
        titles(vec![report(
            "Added a test for a coupon that is larger than the net amount."
        )]),
        ["Added a test for a coupon that is larger than the net amount"]
    );
    assert_eq!(
        titles(vec![report(
            "Checkout times out because the stock lock is held during the payment."
        )]),
        ["Checkout times out because the stock lock is held during the payment"]
    );
    assert_eq!(
        titles(vec![edit("src/cart.rs"), report("Done.")]),
        ["Changed `src/cart.rs`"]
    );
    assert_eq!(titles(vec![report("You are welcome!")]), [""; 0]);
}

#[test]
fn alternatives_that_were_weighed_are_no_facts() {
    let memory = compose(&[turn(
        1,
        "Where should we store the summaries?",
        vec![report(
            "`Store` keeps metadata in one file per session, because sessions are read as a whole.\n\nOptions:\n\n- A) In `metadata.json`: Pros: one file to read. Cons: `metadata.json` grows without limit\n- B) In `summary.json`: Pros: `metadata.json` stays small. Cons: one more file\n\n### Option C: no file\n\n`explain` computes summaries on demand, because they are rarely read.\n\nWhich do you prefer?",
        )],
    )]);
    let text = text_of(&memory);
    assert!(text.contains("one file per session"), "{text}");
    for choice in ["grows without limit", "one more file", "on demand"] {
        assert!(!text.contains(choice), "{choice}: {text}");
        assert!(!memory.handover.open.iter().any(|item| item.contains(choice)));
    }
}

#[test]
fn the_problem_of_a_plan_becomes_the_reason_of_the_change() {
    let plan = format!(
        "Implement the following plan:\n\n# Fix the version check\n\n## Problem\n\nWhen `fetch_latest` fails, `check` returns early without `last_check_time`, so every call waits for the timeout again.\n\n## Changes\n\n{}",
        "- update `check` to store the time first and to log the failure\n".repeat(10)
    );
    let memory = compose(&[turn(
        1,
        &plan,
        vec![
            edit("src/version.rs"),
            report("`check` in `version.rs` now stores `last_check_time` before it asks the server."),
        ],
    )]);
    assert_eq!(
        titles(&memory),
        ["`check` in `version.rs` now stores `last_check_time` before it asks the server"]
    );
    let narrative = memory.observations[0].observation.narrative.as_deref();
    assert!(
        narrative.is_some_and(|text| text.contains("Before the change: When `fetch_latest` fails")),
        "{narrative:?}"
    );
}

#[test]
fn a_message_that_is_sent_again_as_a_prompt_counts_once() {
    let words = "also never log the token, it ends up in CI output";
    let memory = compose(&[
        turn(
            1,
            "Add request logging to `client.ts`",
            vec![
                edit("client.ts"),
                Action::UserMessage(words.to_owned()),
                report("`client.ts` logs each request."),
            ],
        ),
        turn(
            2,
            words,
            vec![edit("client.ts"), report("`client.ts` masks the token in logs.")],
        ),
    ]);
    let requests: Vec<_> = memory
        .handover
        .requests
        .iter()
        .filter(|one| *one == words)
        .collect();
    assert_eq!(requests.len(), 1, "{:?}", memory.handover.requests);
    assert_eq!(
        memory.handover.decisions.len(),
        1,
        "{:?}",
        memory.handover.decisions
    );
    let named = memory
        .episodes
        .iter()
        .filter(|episode| episode.request.as_deref() == Some(words));
    assert_eq!(named.count(), 1);
}

#[test]
fn praise_and_the_state_of_one_moment_are_left_out() {
    let memory = compose(&[turn(
        1,
        "Review the retry branch",
        vec![
            Action::Compaction(
                "3. Errors and fixes:\n   - `retry` slept twice because `sleep` was called by both loops; removed the inner call\n   - `pool.ex` needs a timeout of 5 s, because the old server never answers\n   - Currently resolving conflicts in `pool.ex` (1 of 6 done)\n".to_owned(),
            ),
            report(
                "## Strengths\n\n- `Retry.Policy` is well-structured and the tests in `retry_test.exs` are comprehensive\n\n## Findings\n\n`Retry.run/2` retries on `:not_found` too, because the match ignores the reason. Both paths of `Retry.wait/1` are correct.",
            ),
        ],
    )]);
    let text = text_of(&memory);
    assert!(text.contains("because the match ignores the reason"), "{text}");
    let learned = memory.summaries[0].summary.learned.clone().unwrap_or_default();
    assert!(learned.contains("because `sleep` was called"), "{learned}");
    let text = format!("{text} {learned}");
    for noise in ["comprehensive", "are correct", "1 of 6"] {
        assert!(!text.contains(noise), "{noise}: {text}");
    }
}

#[test]
fn a_title_says_what_was_changed_not_how_much() {
    for (report_text, wanted) in [
        (
            "Made two changes to `settings.go`:\n\n1. `loadFromFile` now rejects unknown keys, because typos were ignored\n2. `mergeJSON` validates before it merges\n",
            "`loadFromFile` now rejects unknown keys, because typos were ignored",
        ),
        (
            "Lines 12-20 — `parse_header` now skips comments, since old files start with them. Fixed 3 files in total.",
            "`parse_header` now skips comments, since old files start with them",
        ),
    ] {
        let memory = compose(&[turn(
            1,
            "Make loading strict",
            vec![edit("settings.go"), report(report_text)],
        )]);
        assert_eq!(titles(&memory), [wanted], "{report_text}");
    }
}

#[test]
fn an_obstacle_without_a_stated_cause_is_no_memory() {
    let memory = compose(&[turn(
        1,
        "Make CI pass",
        vec![
            run(
                "npm run lint",
                Purpose::Lint,
                Some("src/a.ts:3:1: Unexpected console statement (no-console)"),
            ),
            prose("The `README` table is fine as it is."),
            edit("src/a.ts"),
            run("npm run lint", Purpose::Lint, None),
            run(
                "git rebase main",
                Purpose::Other,
                Some("error: could not apply 3999d95... more fixes"),
            ),
            prose("The `README` table needs no change."),
            edit("src/b.ts"),
            run("git rebase main", Purpose::Other, None),
            report("CI passes."),
        ],
    )]);
    assert_eq!(titles(&memory), ["Changed `src/a.ts`, `src/b.ts`"]);
}

#[test]
fn findings_on_the_way_belong_to_the_memory_of_their_episode() {
    let memory = compose(&[turn(
        1,
        "Speed up the import",
        vec![
            prose("`Importer.load/1` is slow because it opens one transaction per row."),
            edit("lib/importer.ex"),
            report("`Importer.load/1` inserts rows in batches of 500 now."),
        ],
    )]);
    assert_eq!(
        titles(&memory),
        ["`Importer.load/1` inserts rows in batches of 500 now"]
    );
    assert!(text_of(&memory).contains("one transaction per row"));
}
