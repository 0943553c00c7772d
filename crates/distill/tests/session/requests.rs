//! Requests of made-up sessions: the episodes and lines that tell what was asked for.

use super::actions::{edit, entries, handover, report, turn};
use backstory_distill::{Action, TurnEnd, TurnLog, compose};
use backstory_model::Timestamp;

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
