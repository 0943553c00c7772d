//! The memory of short sessions: one or two turns, one edit, one command.

use backstory_distill::{SessionMemory, ToolOutcome, ToolUse, TurnEnd, TurnInput, TurnStep, compose, record};
use backstory_model::{ObservationType, Timestamp};
use serde_json::{Value, json};

/// A turn with a prompt, steps and the agent's last message.
fn turn(number: u32, prompt: &str, steps: Vec<TurnStep>, last_message: &str) -> TurnInput {
    TurnInput {
        number,
        started_at: Timestamp::from_millis(i64::from(number) * 60_000),
        prompt: Some(prompt.to_owned()),
        root: Some("/w/app".to_owned()),
        branch: Some("main".to_owned()),
        steps,
        last_message: Some(last_message.to_owned()),
        end: TurnEnd::Stopped,
        ..TurnInput::default()
    }
}

fn tool(name: &str, input: Value, answer: Value) -> TurnStep {
    TurnStep::Tool(ToolUse {
        id: None,
        agent_id: None,
        name: name.to_owned(),
        input,
        outcome: ToolOutcome::Answered(answer),
        at: Timestamp::EPOCH,
    })
}

fn edit(path: &str, old: &str, new: &str) -> TurnStep {
    tool(
        "Edit",
        json!({"file_path": format!("/w/app/{path}"), "old_string": old, "new_string": new}),
        json!({"filePath": path}),
    )
}

fn runs(command: &str, output: &str) -> TurnStep {
    tool(
        "Bash",
        json!({ "command": command }),
        json!({"stdout": output, "stderr": ""}),
    )
}

fn memory(turns: &[TurnInput]) -> SessionMemory {
    let logs: Vec<_> = turns.iter().map(|turn| record(turn).log).collect();
    compose(&logs)
}

fn shown(memory: &SessionMemory) -> String {
    let mut out = String::new();
    for one in &memory.observations {
        let made = &one.observation;
        out.push_str(&format!(
            "{:?} {}\n  {}\n  {:?}\n  {:?}\n",
            made.kind,
            made.title,
            made.narrative.as_deref().unwrap_or_default(),
            made.facts,
            made.files_modified
        ));
    }
    out.push_str(&format!("{:#?}", memory.handover));
    out
}

/// Returns the only memory of a session of one turn.
fn only(prompt: &str, steps: Vec<TurnStep>, last_message: &str) -> SessionMemory {
    let memory = memory(&[turn(1, prompt, steps, last_message)]);
    assert_eq!(memory.observations.len(), 1, "{}", shown(&memory));
    memory
}

#[test]
fn one_edit_and_one_command_leave_a_memory_and_a_hand_over() {
    let memory = only(
        "Fix the crash when the config file is empty",
        vec![
            edit("config.py", "data = load(f)", "data = load(f) or {}"),
            runs("pytest -q", "4 passed in 0.1s"),
        ],
        "Fixed. `load_config` now falls back to the defaults when the file is empty, because `yaml.safe_load` returns `None` for it. All tests pass.",
    );
    let made = &memory.observations[0].observation;
    assert_eq!(made.kind, ObservationType::Bugfix);
    assert_eq!(
        made.title,
        "`load_config` now falls back to the defaults when the file is empty, because `yaml.safe_load` returns `None` for it"
    );
    assert_eq!(made.files_modified, ["config.py"]);
    let handover = &memory.handover;
    assert_eq!(handover.requests, ["Fix the crash when the config file is empty"]);
    assert_eq!(
        handover.done,
        [
            "`load_config` now falls back to the defaults when the file is empty, because `yaml.safe_load` returns `None` for it"
        ]
    );
    assert_eq!(handover.checks, ["`pytest -q` passed: `4 passed in 0.1s`"]);
    assert_eq!(handover.state, ["Changed, not committed: `config.py`"]);
    assert!(handover.open.is_empty(), "{}", shown(&memory));
}

#[test]
fn a_change_with_few_words_about_it_is_known_by_request_and_edit() {
    for (prompt, step, check, last_message, kind, title, fact) in [
        (
            "Add a --json flag to the status command",
            edit("cmd/status.go", "a := 1", "a := 2"),
            runs("go test ./...", "ok  \tapp/cmd\t0.2s"),
            "Done.",
            ObservationType::Feature,
            "Add a --json flag to the status command",
            "`go test ./...` passed afterwards",
        ),
        (
            "Rename Store to Shelf",
            edit("lib/store.ex", "defmodule Store do", "defmodule Shelf do"),
            runs("mix test", "12 tests, 0 failures"),
            "Renamed `Store` to `Shelf`.",
            ObservationType::Refactor,
            "Renamed `Store` to `Shelf`",
            "In `lib/store.ex`, `defmodule Store do` became `defmodule Shelf do`",
        ),
        (
            "bump the timeout to 30 seconds, 5 is too short for the slow registry",
            edit(
                "src/net.rs",
                "const TIMEOUT: u64 = 5;",
                "const TIMEOUT: u64 = 30;",
            ),
            runs("cargo test", "test result: ok. 3 passed; 0 failed"),
            "All done!",
            ObservationType::Change,
            "Bump the timeout to 30 seconds, 5 is too short for the slow registry",
            "`const TIMEOUT: u64 = 30`",
        ),
    ] {
        let memory = only(prompt, vec![step, check], last_message);
        let made = &memory.observations[0].observation;
        assert_eq!((made.kind, made.title.as_str()), (kind, title), "{prompt}");
        assert!(made.facts.iter().any(|one| one == fact), "{}", shown(&memory));
        assert!(memory.handover.done[0].starts_with(title), "{prompt}");
    }
}

#[test]
fn an_answer_without_any_change_is_a_discovery() {
    let memory = only(
        "why is the build slow?",
        vec![runs("time npm run build", "real 2m")],
        "The build is slow because `tsc` type-checks `node_modules` too: `skipLibCheck` is off in `tsconfig.json`.",
    );
    let made = &memory.observations[0].observation;
    assert_eq!(made.kind, ObservationType::Discovery);
    assert_eq!(
        made.title,
        "The build is slow because `tsc` type-checks `node_modules` too: `skipLibCheck` is off in `tsconfig.json`"
    );
}

#[test]
fn a_decision_in_one_sentence_is_kept() {
    let memory = only(
        "We decided to use Postgres instead of MySQL because we need JSONB indexes.",
        Vec::new(),
        "Noted.",
    );
    let made = &memory.observations[0].observation;
    assert_eq!(made.kind, ObservationType::Decision);
    assert_eq!(memory.handover.decisions, [made.title.as_str()]);
}

#[test]
fn small_talk_leaves_nothing() {
    for (prompt, answer) in [
        ("thanks", "You're welcome!"),
        ("hi", "Hello! What's on your mind?"),
    ] {
        let memory = memory(&[turn(1, prompt, Vec::new(), answer)]);
        assert_eq!(memory.observations.len(), 0, "{}", shown(&memory));
        assert_eq!(memory.handover.requests.len(), 0, "{}", shown(&memory));
        assert_eq!(memory.summaries.len(), 0);
    }
}

#[test]
fn a_script_that_was_only_tried_out_is_no_change() {
    let script = |path: &str| {
        tool(
            "Write",
            json!({"file_path": format!("/w/app/{path}"), "content": "# The bug is that only one clause is left because of caching\nprint(1)"}),
            json!({"type": "create", "filePath": path}),
        )
    };
    let memory = memory(&[turn(
        1,
        "Fix the duplicate clauses in the compiler",
        vec![
            script("repro_clauses.py"),
            runs("python3 repro_clauses.py", "1"),
            edit("compiler.py", "seen = {}", "seen = set()"),
            runs("python3 repro_clauses.py", "2"),
        ],
        "`compile_order` compares whole clauses now, because the last line alone is not unique. I used `repro_clauses.py` to verify it.",
    )]);
    let text = shown(&memory);
    assert_eq!(
        memory.handover.state,
        ["Changed, not committed: `compiler.py`"],
        "{text}"
    );
    assert!(memory.handover.checks.is_empty(), "{text}");
    assert_eq!(memory.observations.len(), 1, "{text}");
    assert_eq!(memory.observations[0].observation.files_modified, ["compiler.py"]);
}

#[test]
fn a_script_that_was_asked_for_is_a_change() {
    let memory = only(
        "Write a script cleanup.sh that removes old logs",
        vec![
            tool(
                "Write",
                json!({"file_path": "/w/app/cleanup.sh", "content": "rm -f logs/*.gz"}),
                json!({"type": "create", "filePath": "cleanup.sh"}),
            ),
            runs("bash cleanup.sh", ""),
        ],
        "Created `cleanup.sh`, which deletes `logs/*.gz` only, because open logs must stay.",
    );
    assert_eq!(memory.handover.state, ["Changed, not committed: `cleanup.sh`"]);
}
