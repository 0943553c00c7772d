//! Reading of small made-up sessions into evidence items and work logs.

use backstory_distill::{
    Action, ChangeKind, PublicationAction, Purpose, RunOutcome, TaskState, ToolOutcome, ToolUse, TurnEnd,
    TurnEvidence, TurnInput, TurnStep, record,
};
use backstory_model::{EvidenceKind, Timestamp};
use serde_json::{Value, json};

/// A turn in the making.
struct Turn {
    input: TurnInput,
}

impl Turn {
    fn new(prompt: &str) -> Self {
        let input = TurnInput {
            number: 1,
            started_at: Timestamp::from_millis(1000),
            prompt: Some(prompt.to_owned()),
            root: Some("/w/app".to_owned()),
            end: TurnEnd::Stopped,
            ..TurnInput::default()
        };
        Self { input }
    }

    fn step(mut self, step: TurnStep) -> Self {
        self.input.steps.push(step);
        self
    }

    fn prose(self, text: &str) -> Self {
        self.step(TurnStep::Prose(text.to_owned()))
    }

    fn tool(mut self, name: &str, input: Value, outcome: ToolOutcome) -> Self {
        let number = self.input.steps.len();
        self.input.steps.push(TurnStep::Tool(ToolUse {
            id: Some(format!("t{number}")),
            agent_id: None,
            name: name.to_owned(),
            input,
            outcome,
            at: Timestamp::from_millis(2000),
        }));
        self
    }

    fn runs(self, command: &str, output: &str) -> Self {
        let answer = json!({"stdout": output, "stderr": "", "interrupted": false});
        self.tool(
            "Bash",
            json!({ "command": command }),
            ToolOutcome::Answered(answer),
        )
    }

    fn fails(self, command: &str, output: &str) -> Self {
        let text = format!("Exit code 1\n{output}");
        self.tool("Bash", json!({ "command": command }), ToolOutcome::Failed(text))
    }

    fn edits(self, path: &str, old: &str, new: &str) -> Self {
        let input = json!({"file_path": path, "old_string": old, "new_string": new});
        self.tool("Edit", input, ToolOutcome::Answered(json!({"filePath": path})))
    }

    fn writes(self, path: &str, content: &str) -> Self {
        let input = json!({"file_path": path, "content": content});
        self.tool(
            "Write",
            input,
            ToolOutcome::Answered(json!({"type": "create", "filePath": path})),
        )
    }

    fn record(self) -> TurnEvidence {
        record(&self.input)
    }
}

fn actions(evidence: &TurnEvidence) -> Vec<&Action> {
    evidence.log.entries.iter().map(|entry| &entry.action).collect()
}

/// Shows items as `kind text`, on one line each.
fn items(evidence: &TurnEvidence) -> Vec<String> {
    let items = evidence.items.iter();
    items
        .map(|item| format!("{:?} {}", item.kind, item.text.replace('\n', "⏎")))
        .collect()
}

#[test]
fn every_statement_and_action_has_an_item_in_order() {
    let evidence = Turn::new("Retry failed uploads")
        .prose("The client gives up at once. I add a retry:")
        .edits(
            "/w/app/src/client.rs",
            "fn send() {\n    once()\n}",
            "fn send() {\n    retry(3)\n}",
        )
        .runs(
            "cd /w/app && cargo test -p client 2>&1 | tail -3",
            "test result: ok. 4 passed; 0 failed",
        )
        .step(TurnStep::UserMessage("Also log each retry.".into()))
        .prose("Uploads are retried three times.")
        .record();
    let expected = [
        "Prose The client gives up at once. I add a retry:",
        "Edit src/client.rs⏎ fn send() {⏎-    once()⏎+    retry(3)⏎ }",
        "Command $ cd /w/app && cargo test -p client 2>&1 | tail -3⏎[ok]⏎test result: ok. 4 passed; 0 failed",
        "UserMessage Also log each retry.",
        "Report Uploads are retried three times.",
    ];
    assert_eq!(items(&evidence), expected);
    assert_eq!(evidence.items[1].intent.as_deref(), Some("I add a retry:"));
    assert_eq!(evidence.items[1].path.as_deref(), Some("src/client.rs"));
    let positions: Vec<_> = evidence.log.entries.iter().map(|entry| entry.item).collect();
    assert_eq!(positions, [0, 1, 2, 3, 4].map(Some));
}

#[test]
fn a_program_never_speaks_for_the_user() {
    let mut turn = Turn::new("<task-notification><task-id>a</task-id></task-notification>");
    turn.input.machine_made = true;
    let log = turn.record().log;
    assert_eq!((log.prompt, log.machine_made), (None, true));
    let log = Turn::new("Go on.<system-reminder>Be brief.</system-reminder>")
        .record()
        .log;
    assert_eq!(log.prompt.as_deref(), Some("Go on."));
}

#[test]
fn an_answer_keeps_the_question_and_a_refusal_the_users_words() {
    let answers = json!({"answers": {"Which database?": "Postgres"}, "questions": []});
    let evidence = Turn::new("Plan storage")
        .tool("AskUserQuestion", json!({}), ToolOutcome::Answered(answers))
        .tool(
            "Edit",
            json!({"file_path": "/w/app/settings.py"}),
            ToolOutcome::Refused(Some("not in this branch".into())),
        )
        .record();
    let expected = [
        Action::UserAnswer {
            question: "Which database?".into(),
            answer: "Postgres".into(),
            choice: None,
        },
        Action::Refused {
            tool: "Edit".into(),
            target: Some("settings.py".into()),
            words: Some("not in this branch".into()),
        },
    ];
    assert_eq!(actions(&evidence), expected.iter().collect::<Vec<_>>());
    assert_eq!(
        items(&evidence),
        [
            "UserAnswer Which database?⏎User: Postgres",
            "Refusal Refused Edit: settings.py⏎User: not in this branch"
        ]
    );
}

#[test]
fn a_commit_is_recorded_with_its_body_and_the_hash_after_an_amend() {
    let evidence = Turn::new("Commit")
        .runs(
            "git add -A && git commit -m \"$(cat <<'EOF'\nqueue: keep order\n\nTwo workers swapped jobs (see log).\nEOF\n)\"",
            "[main 1111111] queue: keep order\n 2 files changed, 4 insertions(+)",
        )
        .runs("git commit --amend --no-edit && git push", "[main 2222222] queue: keep order\n 3 files changed")
        .record();
    let commits: Vec<_> = actions(&evidence)
        .into_iter()
        .filter_map(|action| match action {
            Action::Commit(commit) => Some((
                commit.hash.as_deref().unwrap(),
                commit.amend,
                commit.body.as_deref(),
            )),
            _ => None,
        })
        .collect();
    let body = "Two workers swapped jobs (see log).";
    assert_eq!(commits, [("1111111", false, Some(body)), ("2222222", true, None)]);
    assert_eq!(
        evidence.items[0].text,
        format!("commit 1111111\nqueue: keep order\n\n{body}")
    );
    assert!(matches!(
        actions(&evidence).last(),
        Some(Action::Push { branch: None, .. })
    ));
}

#[test]
fn a_commit_in_a_temporary_folder_is_no_commit_of_the_project() {
    let command = "cd /tmp && mkdir r && cd r && git init && git commit --allow-empty -m init";
    let evidence = Turn::new("Try")
        .runs(command, "[main (root-commit) aef32eb] init")
        .record();
    assert!(
        !actions(&evidence)
            .iter()
            .any(|action| matches!(action, Action::Commit(_)))
    );
}

#[test]
fn a_pull_request_is_recorded_with_the_text_of_its_file() {
    let evidence = Turn::new("Open a PR")
        .writes("/tmp/body.md", "## Why\nUploads failed on slow lines.")
        .runs(
            "gh pr create --title 'Retry uploads' --body-file /tmp/body.md",
            "https://github.com/a/b/pull/7",
        )
        .record();
    let publication = actions(&evidence)
        .into_iter()
        .find_map(|action| match action {
            Action::Publication(publication) => Some(publication),
            _ => None,
        })
        .unwrap();
    assert_eq!(publication.action, PublicationAction::Created);
    assert_eq!(publication.reference.as_deref(), Some("#7"));
    assert_eq!(
        publication.body.as_deref(),
        Some("## Why\nUploads failed on slow lines.")
    );
}

#[test]
fn moved_deleted_and_restored_files_are_told_apart_from_changed_ones() {
    let evidence = Turn::new("Tidy")
        .writes("/w/app/old.ex", "defmodule Old do\nend")
        .runs("git mv old.ex lib/new.ex && rm -f /tmp/probe.exs", "")
        .edits("/w/app/mix.exs", "a", "b")
        .runs("git checkout -- mix.exs", "")
        .record();
    let changes: Vec<_> = actions(&evidence)
        .into_iter()
        .filter_map(|action| match action {
            Action::Change(change) => Some((change.path.as_str(), change.kind.clone(), change.scratch)),
            _ => None,
        })
        .collect();
    let expected = [
        ("old.ex", ChangeKind::Created, false),
        ("lib/new.ex", ChangeKind::MovedFrom("old.ex".into()), false),
        ("/tmp/probe.exs", ChangeKind::Deleted, true),
        ("mix.exs", ChangeKind::Modified, false),
        ("mix.exs", ChangeKind::Restored, false),
    ];
    assert_eq!(changes, expected);
}

#[test]
fn a_file_written_by_a_here_document_counts_also_when_the_command_fails_later() {
    let evidence = Turn::new("Probe")
        .fails("cat > probe.py <<'EOF'\n\"\"\"Checks the index for gaps in numbers.\"\"\"\nimport db\nEOF\npython3 probe.py", "ImportError: db")
        .record();
    let change = actions(&evidence)
        .into_iter()
        .find_map(|action| match action {
            Action::Change(change) => Some(change),
            _ => None,
        })
        .unwrap();
    assert_eq!(
        (change.path.as_str(), &change.kind),
        ("probe.py", &ChangeKind::Created)
    );
    assert_eq!(
        change.header.as_deref(),
        Some("Checks the index for gaps in numbers.")
    );
    let kinds: Vec<_> = evidence.items.iter().map(|item| item.kind).collect();
    assert_eq!(kinds, [EvidenceKind::Error, EvidenceKind::File]);
}

#[test]
fn a_check_is_judged_in_every_language() {
    for (command, output, purpose, outcome) in [
        (
            "go test ./... | tail -3",
            "FAIL\tapp/store\t0.1s",
            Purpose::Test,
            RunOutcome::Failed,
        ),
        (
            "uv run pytest -q 2>&1 | tail -2",
            "3 passed in 0.1s",
            Purpose::Test,
            RunOutcome::Passed,
        ),
        (
            "mix test",
            "12 tests, 0 failures",
            Purpose::Test,
            RunOutcome::Passed,
        ),
        (
            "cargo clippy --all-targets; echo $?",
            "",
            Purpose::Lint,
            RunOutcome::Unknown,
        ),
        ("npm run build", "done", Purpose::Build, RunOutcome::Passed),
        ("shellcheck run.sh", "", Purpose::Lint, RunOutcome::Passed),
    ] {
        let evidence = Turn::new("Check").runs(command, output).record();
        let Some(Action::Run(run)) = actions(&evidence).first().copied() else {
            panic!("no run: {command}");
        };
        assert_eq!((run.purpose, run.outcome), (purpose, outcome), "{command}");
    }
}

#[test]
fn a_failure_of_a_list_of_commands_names_no_part_without_evidence() {
    let evidence = Turn::new("Test")
        .fails(
            "sudo apt-get install -y gcc && cargo test",
            "error: linking with `cc` failed",
        )
        .record();
    let Some(Action::Run(run)) = actions(&evidence).first().copied() else {
        panic!("no run");
    };
    assert_eq!(
        (run.failed_part.as_deref(), run.outcome),
        (None, RunOutcome::Failed)
    );
    assert_eq!(
        run.error.as_ref().unwrap().line,
        "error: linking with `cc` failed"
    );
}

#[test]
fn only_the_beginning_of_a_file_that_was_read_is_kept() {
    let answer = json!({"type": "text", "file": {"filePath": "/w/app/a.py", "content": "x".repeat(5000)}});
    let evidence = Turn::new("Look")
        .tool(
            "Read",
            json!({"file_path": "/w/app/a.py"}),
            ToolOutcome::Answered(answer),
        )
        .record();
    assert_eq!(evidence.items[0].kind, EvidenceKind::Lookup);
    assert!(evidence.items[0].text.starts_with("Read a.py\nxxx") && evidence.items[0].text.len() < 650);
    assert_eq!(actions(&evidence), [&Action::Lookup { path: "a.py".into() }]);
}

#[test]
fn tasks_plans_and_compactions_are_recorded() {
    let todo = |status: &str| json!([{"content": "Write tests", "status": status}]);
    let evidence = Turn::new("Go")
        .tool(
            "TodoWrite",
            json!({"todos": todo("completed")}),
            ToolOutcome::Answered(json!({"oldTodos": todo("in_progress"), "newTodos": todo("completed")})),
        )
        .writes("/home/a/.claude/plans/p.md", "# Plan\nUse one file.")
        .tool(
            "ExitPlanMode",
            json!({"plan": "# Plan\nUse one file."}),
            ToolOutcome::Refused(Some("why?".into())),
        )
        .step(TurnStep::Compaction("Summary of the work so far.".into()))
        .record();
    let plan = |approved| Action::Plan {
        text: "# Plan\nUse one file.".into(),
        approved,
    };
    let expected = [
        Action::Task {
            id: None,
            text: "Write tests".into(),
            state: TaskState::Completed,
        },
        plan(None),
        plan(Some(false)),
        Action::Refused {
            tool: "ExitPlanMode".into(),
            target: None,
            words: Some("why?".into()),
        },
        Action::Compaction("Summary of the work so far.".into()),
    ];
    assert_eq!(actions(&evidence), expected.iter().collect::<Vec<_>>());
    assert_eq!(
        evidence
            .items
            .iter()
            .filter(|item| item.kind == EvidenceKind::Plan)
            .count(),
        1
    );
}

#[test]
fn the_report_of_a_sub_agent_is_recorded_once() {
    let answer = json!({"agentId": "a1", "content": [{"type": "text", "text": "Two callers."}]});
    let call = |turn: Turn| {
        let input = json!({"description": "Find callers", "subagent_type": "Explore", "prompt": "Find them"});
        turn.tool("Task", input, ToolOutcome::Answered(answer.clone()))
    };
    let report = |evidence: &TurnEvidence| {
        let reports = actions(evidence)
            .into_iter()
            .filter(|action| matches!(action, Action::SubagentReport { .. }));
        reports.count()
    };
    assert_eq!(report(&call(Turn::new("Go")).record()), 1);
    let stopped = TurnStep::SubAgent {
        agent_id: Some("a1".into()),
        agent_type: Some("Explore".into()),
        report: "Two callers.".into(),
    };
    assert_eq!(report(&call(Turn::new("Go").step(stopped)).record()), 1);
}

#[test]
fn the_last_message_is_the_report_wherever_it_comes_from() {
    let mut turn = Turn::new("Go").prose("I look.").runs("ls", "a");
    turn.input.last_message = Some("All done.".into());
    let evidence = turn.record();
    assert!(matches!(actions(&evidence).last(), Some(Action::Report(text)) if text == "All done."));
    let mut open = Turn::new("Go").prose("I look.");
    open.input.end = TurnEnd::Open;
    assert!(matches!(actions(&open.record()).last(), Some(Action::Prose(_))));
}

#[test]
fn a_stored_log_holds_times_in_milliseconds() {
    let turn = Turn::new("Test it.").runs("cargo test", "test result: ok. 1 passed");
    let log = record(&turn.input).log;
    let stored = serde_json::to_value(&log).unwrap();
    assert_eq!(
        (&stored["started_ms"], &stored["entries"][0]["at_ms"]),
        (&json!(1000), &json!(2000))
    );
}
