//! No turn makes the distiller panic, and what comes out keeps its bounds.

use backstory_distill::{ToolOutcome, ToolUse, TurnEnd, TurnInput, TurnStep, record};
use backstory_model::Timestamp;
use proptest::prelude::*;
use serde_json::Value;

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        prose().prop_map(Value::from),
    ];
    let keys = prop::sample::select(vec![
        "command",
        "file_path",
        "filePath",
        "old_string",
        "new_string",
        "content",
        "structuredPatch",
        "lines",
        "stdout",
        "stderr",
        "bashEditDiff",
        "files",
        "hunks",
        "changedFiles",
        "created",
        "todos",
        "status",
        "edits",
        "type",
        "pattern",
        "agentId",
        "text",
        "description",
        "answers",
        "annotations",
        "questions",
        "question",
        "oldTodos",
        "plan",
        "taskId",
        "subject",
        "task",
        "result",
        "title",
        "body",
        "exitCode",
        "interrupted",
    ]);
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((keys.clone().prop_map(str::to_owned), inner), 0..6)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

/// Text in the shapes that the rules look for, with anything in between.
fn prose() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        any::<String>(),
        prop::sample::select(vec![
            "Updated `x` to ",
            "I've fixed the bug where ",
            "Added ",
            " to `",
            "`",
            "**",
            "- ",
            "1. ",
            "\n",
            "\n\n",
            "## Root cause\n",
            "```\n",
            " because ",
            ". ",
            "! ",
            "This ensures that ",
            " now ",
            "error: ",
            "ValueError: é",
            "Exit code 1\n",
            "rm -rf a && git checkout -- b",
            "pytest a.py",
            "Ran 3 tests in 1s\n\nOK",
            " (",
            ")",
            "doesn't ",
            "should be ",
            "|",
            "| a | b |\n",
            "\u{202e}",
            "ß",
            "…",
            "<system-reminder>",
            "title: ",
            "->",
            "- [x] ",
            "Changed from: ",
            "To: ",
            ":",
            "git commit -m 'a: b'",
            "git commit -m \"$(cat <<'EOF'\n",
            "\nEOF\n)\"",
            "cat > a.py <<EOF\n",
            "gh pr create --title ",
            "[main 0a1b2c3] ",
            " && ",
            " | tail -5",
            "; ",
            "$(",
            "'",
            "\"",
            "sed -i ",
            "git mv a b",
            "\u{1b}[31m",
            "const MAX: u8 = 3;",
            "a.go:1:2: undefined: x (vet)",
            "panicked at a.rs:1:2:\n",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

fn step() -> impl Strategy<Value = TurnStep> {
    let name = prop::sample::select(vec![
        "Bash",
        "Edit",
        "Write",
        "Read",
        "Grep",
        "TodoWrite",
        "Task",
        "MultiEdit",
        "AskUserQuestion",
        "TaskCreate",
        "TaskUpdate",
        "TaskOutput",
        "ExitPlanMode",
        "apply_patch",
        "mcp__x__create_issue",
        "mcp__x__y",
    ]);
    let outcome = prop_oneof![
        json().prop_map(ToolOutcome::Answered),
        prose().prop_map(ToolOutcome::Failed),
        prop::option::of(prose()).prop_map(ToolOutcome::Refused),
        Just(ToolOutcome::Unknown)
    ];
    prop_oneof![
        prose().prop_map(TurnStep::Prose),
        prose().prop_map(TurnStep::Compaction),
        prose().prop_map(TurnStep::UserMessage),
        Just(TurnStep::Interrupted),
        prose().prop_map(|report| TurnStep::SubAgent {
            agent_id: None,
            agent_type: None,
            report
        }),
        (name, json(), outcome).prop_map(|(name, input, outcome)| TurnStep::Tool(ToolUse {
            id: Some("t".into()),
            agent_id: None,
            name: name.into(),
            input,
            outcome,
            at: Timestamp::EPOCH
        })),
    ]
}

fn turn() -> impl Strategy<Value = TurnInput> {
    let end = prop::sample::select(vec![
        TurnEnd::Stopped,
        TurnEnd::Background,
        TurnEnd::Interrupted,
        TurnEnd::Open,
    ]);
    (
        prop::option::of(prose()),
        prop::option::of(prose()),
        prop::collection::vec(step(), 0..10),
        prop::option::of(prose()),
        end,
    )
        .prop_map(|(prompt, root, steps, last_message, end)| TurnInput {
            number: 0,
            started_at: Timestamp::EPOCH,
            prompt,
            machine_made: false,
            root,
            branch: None,
            steps,
            last_message,
            end,
        })
}

proptest! {
    #[test]
    fn every_turn_is_recorded_with_valid_items(turn in turn()) {
        let evidence = record(&turn);
        for entry in &evidence.log.entries {
            let item = entry.item.map(|item| item as usize);
            prop_assert!(item.is_none_or(|item| item < evidence.items.len()), "{entry:?}");
            prop_assert!(entry.intent.as_ref().is_none_or(|intent| intent.len() <= 300));
        }
        for item in &evidence.items {
            prop_assert!(!item.text.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "{:?}", item.text);
        }
        let json = serde_json::to_string(&evidence.log).unwrap();
        prop_assert_eq!(&serde_json::from_str::<backstory_distill::TurnLog>(&json).unwrap(), &evidence.log);
        prop_assert_eq!(record(&turn), evidence);
    }
}
