//! No session makes `compose` panic, and its memory keeps its bounds.

use std::collections::HashSet;

use backstory_distill::{
    Action, ChangeKind, CommandRun, ErrorSignature, FileChange, GitCommit, LogEntry, Publication,
    PublicationAction, PublicationKind, Purpose, RunOutcome, TaskState, TurnEnd, TurnLog, compose,
};
use backstory_model::Timestamp;
use proptest::prelude::*;

/// Text in the shapes that the rules look for, with anything in between.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        any::<String>(),
        prop::sample::select(vec![
            "Updated `x` to ",
            "I've fixed the bug where ",
            "`",
            "**",
            "**Root cause:** ",
            "- ",
            "  - ",
            "1. ",
            "\n",
            "\n\n",
            "## Next steps\n",
            "3. Errors and fixes:\n",
            "```\n",
            " because ",
            ". ",
            "! ",
            "? ",
            ": ",
            "; ",
            " — ",
            "This ensures that ",
            " now ",
            "Let me ",
            "I should ",
            "`load` reads the file",
            "You're right - ",
            "don't ",
            "we decided to ",
            "still to do",
            "Fixed in `a.rs`",
            "| a | b |\n",
            "|---|---|\n",
            "<system-reminder>",
            "</system-reminder>",
            "<command-name>/x</command-name>",
            "\u{202e}",
            "ß",
            "…",
            "(",
            ")",
            "“",
            "”",
            "#12",
            "ENG-7",
            "src/a.rs",
            "_did_",
            "*",
            "'",
            "\"",
            "Merge branch",
            "feat(x): ",
            "$(",
            " && ",
            "cargo test",
            "python a.py",
            "2>&1",
            "git restore ",
            "=",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

fn run() -> impl Strategy<Value = Action> {
    let purpose = prop::sample::select(vec![
        Purpose::Test,
        Purpose::Build,
        Purpose::Lint,
        Purpose::Install,
        Purpose::Inspect,
        Purpose::Other,
    ]);
    let outcome = prop::sample::select(vec![RunOutcome::Passed, RunOutcome::Failed, RunOutcome::Unknown]);
    let error = prop::option::of(text().prop_map(|line| ErrorSignature {
        key: line.clone(),
        line,
    }));
    (text(), purpose, outcome, prop::option::of(text()), error).prop_map(
        |(command, purpose, outcome, failed_part, error)| {
            Action::Run(CommandRun {
                command,
                purpose,
                outcome,
                failed_part,
                error,
                result_line: None,
                changed_files: None,
            })
        },
    )
}

fn change() -> impl Strategy<Value = Action> {
    let kind = prop_oneof![
        Just(ChangeKind::Created),
        Just(ChangeKind::Modified),
        Just(ChangeKind::Deleted),
        text().prop_map(ChangeKind::MovedFrom),
    ];
    let names = prop::collection::vec(text(), 0..3);
    (text(), kind, any::<bool>(), prop::option::of(text()), names).prop_map(
        |(path, kind, scratch, header, names)| {
            Action::Change(FileChange {
                path,
                kind,
                scratch,
                header,
                values: names.clone(),
                defines: Vec::new(),
                removes: names.clone(),
                comments: names,
                replaced: None,
            })
        },
    )
}

fn commit() -> impl Strategy<Value = Action> {
    (text(), prop::option::of(text()), any::<bool>()).prop_map(|(subject, body, amend)| {
        Action::Commit(GitCommit {
            hash: Some("abc1234".to_owned()),
            subject,
            body,
            amend,
            files: None,
        })
    })
}

fn publication() -> impl Strategy<Value = Action> {
    let kind = prop::sample::select(vec![
        PublicationKind::PullRequest,
        PublicationKind::Issue,
        PublicationKind::Comment,
    ]);
    let action = prop::sample::select(vec![
        PublicationAction::Created,
        PublicationAction::Updated,
        PublicationAction::Closed,
        PublicationAction::Merged,
    ]);
    let texts = (prop::option::of(text()), prop::option::of(text()));
    (kind, action, texts).prop_map(|(kind, action, (title, body))| {
        Action::Publication(Publication {
            kind,
            action,
            reference: title.clone(),
            title,
            body,
        })
    })
}

fn statement() -> impl Strategy<Value = Action> {
    let state = prop::sample::select(vec![
        TaskState::Pending,
        TaskState::InProgress,
        TaskState::Completed,
        TaskState::Deleted,
    ]);
    prop_oneof![
        text().prop_map(Action::UserMessage),
        (text(), text()).prop_map(|(question, answer)| Action::UserAnswer {
            question,
            answer,
            choice: None,
        }),
        (prop::option::of(text()), prop::option::of(text())).prop_map(|(target, words)| Action::Refused {
            tool: "Bash".to_owned(),
            target,
            words
        }),
        text().prop_map(Action::Prose),
        text().prop_map(Action::Report),
        text().prop_map(|text| Action::SubagentReport {
            agent_type: None,
            text
        }),
        text().prop_map(Action::Compaction),
        text().prop_map(|text| Action::Plan { text, approved: None }),
        (text(), state).prop_map(|(text, state)| Action::Task {
            id: None,
            text,
            state
        }),
    ]
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        4 => statement(),
        2 => run(),
        2 => change(),
        1 => commit(),
        1 => publication(),
        1 => Just(Action::Push {
                branch: None,
                tip: None,
            }),
        1 => Just(Action::Interrupted),
        1 => text().prop_map(|path| Action::Lookup { path }),
    ]
}

fn session() -> impl Strategy<Value = Vec<TurnLog>> {
    let end = prop::sample::select(vec![
        TurnEnd::Stopped,
        TurnEnd::Background,
        TurnEnd::Interrupted,
        TurnEnd::Open,
    ]);
    let turn = (
        prop::option::of(text()),
        any::<bool>(),
        prop::collection::vec((action(), prop::option::of(text())), 0..12),
        end,
    );
    prop::collection::vec(turn, 0..5).prop_map(|turns| {
        (1..)
            .zip(turns)
            .map(|(number, (prompt, machine_made, actions, end))| TurnLog {
                number,
                prompt,
                machine_made,
                started_at: Timestamp::from_millis(i64::from(number) * 1_000_000),
                end,
                entries: (0..)
                    .zip(actions)
                    .map(|(item, (action, intent))| LogEntry {
                        at: Timestamp::from_millis(i64::from(number) * 1_000_000 + i64::from(item)),
                        item: Some(item),
                        tool_use_id: None,
                        subagent: None,
                        intent,
                        action,
                    })
                    .collect(),
                ..TurnLog::default()
            })
            .collect()
    })
}

proptest! {
    #[test]
    fn every_session_is_composed_within_bounds(logs in session()) {
        let memory = compose(&logs);
        let mut keys = HashSet::new();
        for one in &memory.observations {
            let title = &one.observation.title;
            prop_assert!(!title.trim().is_empty());
            prop_assert!(title.chars().count() <= 120, "{title}");
            prop_assert!(!title.ends_with('…') && !title.ends_with("..."), "{title}");
            prop_assert!(keys.insert(one.key.clone()), "{}", one.key);
            prop_assert!(memory.episodes.iter().any(|episode| episode.number == one.episode));
        }
        prop_assert_eq!(compose(&logs), memory);
    }

    #[test]
    fn later_turns_leave_earlier_episodes_as_they_are(logs in session()) {
        // A queued message that comes back as a prompt belongs to the later turn.
        let is_prompt = |text: &String| logs.iter().any(|log| log.prompt.as_deref().map(str::trim) == Some(text.trim()));
        let queued = logs.iter().flat_map(|log| &log.entries);
        prop_assume!(!queued.into_iter().any(|entry| matches!(&entry.action, Action::UserMessage(text) if is_prompt(text))));
        let whole = compose(&logs);
        for end in 0..logs.len() {
            let part = compose(&logs[..end]);
            let settled = part.episodes.len().saturating_sub(1);
            for (early, late) in part.episodes[..settled].iter().zip(&whole.episodes) {
                prop_assert_eq!((early.number, early.first, early.last, &early.request), (late.number, late.first, late.last, &late.request));
            }
        }
    }
}
