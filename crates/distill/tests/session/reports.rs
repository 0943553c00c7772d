//! Memories from the reports of made-up sessions.

use super::actions::{edit, prose, report, text_of, titles, turn};
use backstory_distill::{Action, SessionMemory, compose};

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
