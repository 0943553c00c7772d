//! Memories from the reports of made-up sessions.

use super::actions::{commit, edit, prose, report, text_of, titles, turn};
use backstory_distill::{Action, SessionMemory, compose};
use backstory_model::ObservationType;

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
    // The hand-over lists the file.
    assert_eq!(titles(vec![edit("src/cart.rs"), report("Done.")]), [""; 0]);
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
    assert_eq!(titles(&memory), ["Fix the version check"]);
    let facts = &memory.observations[0].observation.facts;
    assert!(
        facts[0].starts_with("Before the change: When `fetch_latest` fails"),
        "{facts:?}"
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
                "## Strengths\n\n- `Retry.Policy` is well-structured and the tests in `retry_test.exs` are comprehensive\n\n## Findings\n\n`Retry.run/2` retries on `:not_found` too, because the match ignores the reason. Both paths of `Retry.wait/1` are correct. The backoff of `Retry.Policy` looks good.",
            ),
        ],
    )]);
    let text = text_of(&memory);
    assert!(text.contains("because the match ignores the reason"), "{text}");
    let learned = memory.summaries[0].summary.learned.clone().unwrap_or_default();
    assert!(learned.contains("because `sleep` was called"), "{learned}");
    let text = format!("{text} {learned}");
    for noise in ["comprehensive", "are correct", "looks good", "1 of 6"] {
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

#[test]
fn guesses_and_words_to_the_user_are_left_out() {
    let memory = compose(&[turn(
        1,
        "Why is the import slow?",
        vec![report(
            "`import` is slow because `parse` runs once per line. You have to restart the server once, because `parse` is cached. The rest is probably spent in the driver, because it opens a connection per row.",
        )],
    )]);
    let text = text_of(&memory);
    assert!(text.contains("once per line"), "{text}");
    assert!(!text.contains("driver") && !text.contains("restart"), "{text}");
}

#[test]
fn a_report_about_a_written_plan_is_open_work_and_no_memory() {
    let memory = |file: &str| {
        compose(&[turn(
            1,
            "Plan how the sessions get to Postgres",
            vec![
                edit(file),
                report("`Store` moves to Postgres in three steps, because SQLite locks the whole file."),
            ],
        )])
    };
    let says = |memory: &SessionMemory| text_of(memory).contains("because SQLite locks");
    assert!(says(&memory("docs/storage.md")));
    assert!(!says(&memory("docs/plans/postgres.md")));
}

#[test]
fn a_request_to_commit_is_no_circumstance() {
    let subtitle = |request: &str| {
        let memory = compose(&[turn(
            1,
            request,
            vec![
                edit("src/lease.rs"),
                commit(
                    "Renew the lease while a job runs",
                    "A long job lost its lease because `renew` ran once per job.",
                ),
                report("Done."),
            ],
        )]);
        memory.observations[0].observation.subtitle.clone()
    };
    assert_eq!(
        subtitle("the nightly report is sent twice").as_deref(),
        Some("the nightly report is sent twice")
    );
    assert_eq!(subtitle("commit this, push and open a draft"), None);
}

#[test]
fn a_report_that_tells_a_bug_and_its_fix_is_a_bug_fix() {
    let kind = |text: &str| {
        let memory = compose(&[turn(
            1,
            "Look at the export of large tables",
            vec![edit("src/export.rs"), report(text)],
        )]);
        memory.observations[0].observation.kind
    };
    let pages = "`export` reads 500 rows per page now.";
    assert_eq!(kind(pages), ObservationType::Change);
    assert_eq!(
        kind(&format!(
            "{pages} The bug was an offset that started at 1, fixed by counting from 0."
        )),
        ObservationType::Bugfix
    );
}

#[test]
fn a_long_report_leaves_one_memory_per_subject() {
    let list = |verb: &str, names: [&str; 8]| {
        let lines = names.map(|name| {
            format!("- {verb} `{name}`, because the old form of `{name}` cut values of more than 255 characters without a warning in the log\n")
        });
        lines.concat()
    };
    let text = format!(
        "## Migrated the customer tables to `text`\n\n{}\n## Rewrote the export of `invoices`\n\n{}",
        list(
            "Widened",
            [
                "name", "street", "city", "region", "country", "comment", "phone", "email"
            ]
        ),
        list(
            "Streamed",
            [
                "total", "tax", "discount", "currency", "due_date", "memo", "owner", "status"
            ]
        ),
    );
    let memory = compose(&[turn(
        1,
        "Get rid of the short columns",
        vec![edit("schema.sql"), edit("export.py"), report(&text)],
    )]);
    let mut subjects = titles(&memory);
    subjects.sort_unstable();
    assert_eq!(
        subjects,
        [
            "Migrated the customer tables to `text`",
            "Rewrote the export of `invoices`"
        ]
    );
}

#[test]
fn a_list_of_changes_is_named_by_its_files() {
    let memory = compose(&[turn(
        1,
        "yes, both please",
        vec![
            edit("src/retry.rs"),
            edit("src/lock.rs"),
            report("- Added a retry after a timeout\n- Removed the lock around the whole loop\n"),
        ],
    )]);
    assert_eq!(titles(&memory), ["Changes to `retry.rs` and `lock.rs`"]);
}

#[test]
fn a_title_states_an_outcome_with_its_subject() {
    for (text, wanted) in [
        (
            "`connect` should retry twice. `Pool` keeps its sockets open, because a handshake takes 80 ms.",
            "`Pool` keeps its sockets open, because a handshake takes 80 ms",
        ),
        (
            "Both error messages of `load` now include the path. `Loader` reads the folder once.",
            "Both error messages of `load` now include the path",
        ),
        (
            "Both are shown by `load` now. `Loader` reads the folder once, because listing is slow.",
            "`Loader` reads the folder once, because listing is slow",
        ),
    ] {
        let memory = compose(&[turn(1, "yes, do that", vec![edit("src/net.rs"), report(text)])]);
        assert_eq!(titles(&memory), [wanted], "{text}");
    }
}

#[test]
fn the_reason_for_a_change_is_no_remedy_that_was_weighed() {
    let text = |words: &str| {
        text_of(&compose(&[turn(
            1,
            "Speed up the import",
            vec![
                prose(words),
                edit("lib/importer.ex"),
                report("`Importer.load/1` inserts rows in batches of 500 now."),
            ],
        )]))
    };
    let slow = "`Importer.load/1` inserts rows one by one because each row opens a transaction.";
    assert!(text(slow).contains("opens a transaction"));
    let weighed =
        "`Importer.load/1` should insert rows in one statement because each row opens a transaction.";
    assert!(!text(weighed).contains("opens a transaction"));
}

const CHANGE_REPORT: &str = "## Changes\n\n**1. `src/slice.rs`**\n- Added `slice_from(text, line)`, which skips the lines before a checkpoint\n\n**2. `src/explain.rs`**\n- `explain` reads prompts from the slice instead of `prompt.txt`, because that file has all prompts of the session\n";

#[test]
fn a_review_does_not_replace_the_report_of_the_work() {
    let memory = compose(&[
        turn(
            1,
            "Scope `explain` to its checkpoint",
            vec![
                edit("src/slice.rs"),
                edit("src/explain.rs"),
                report(CHANGE_REPORT),
            ],
        ),
        turn(
            2,
            "Now review the code of this branch",
            vec![report(
                "The branch adds `slice_from(text, line)` in `src/slice.rs`, which skips the lines before a checkpoint, and `explain` reads prompts from the slice instead of `prompt.txt` in `src/explain.rs`, because that file has all prompts of the session.",
            )],
        ),
    ]);
    let turns: Vec<u32> = memory.observations.iter().map(|one| one.turn).collect();
    assert_eq!(turns, [1], "{}", text_of(&memory));
}

#[test]
fn a_list_of_changes_is_named_by_the_files_it_names() {
    let memory = compose(&[
        turn(
            1,
            "Go",
            vec![edit("src/new_reset.rs"), edit("src/cli.rs"), edit("src/reset.rs")],
        ),
        turn(
            2,
            "Now also the tests",
            vec![
                edit("tests/reset.rs"),
                report(
                    "## Changes\n\n- Text of the error in `cli.rs` now lists all the strategies that a build of this program knows of and the file that sets one\n- Sessions without a branch are now cleared by the second pass of `new_reset.rs` as well as sessions whose branch was deleted by hand\n- Updated tests\n",
                ),
            ],
        ),
    ]);
    let last = memory.observations.last().expect("the report is a memory");
    assert_eq!(
        last.observation.title,
        "Changes to `new_reset.rs` and `cli.rs`",
        "{}",
        text_of(&memory)
    );
    assert_eq!(
        last.observation.files_modified,
        ["src/new_reset.rs", "src/cli.rs", "tests/reset.rs"]
    );
}

#[test]
fn a_list_of_changes_is_named_by_those_that_fit() {
    let memory = compose(&[turn(
        1,
        "Go",
        vec![
            edit("src/registry.rs"),
            report(
                "## Changes\n\n- Removed the hard-coded map from `Registry`\n- Added `find_by_type()`, which asks each agent\n- Updated the docs of `Agent`\n",
            ),
        ],
    )]);
    assert_eq!(
        titles(&memory),
        [
            "Removed the hard-coded map from `Registry`; Added `find_by_type()`, which asks each agent, and another change"
        ]
    );
}

#[test]
fn the_state_of_a_branch_is_no_memory_even_after_changes() {
    let memory = compose(&[turn(
        1,
        "Rename it",
        vec![
            edit("src/common.rs"),
            report("Ready to merge. The branch now has no outstanding issues."),
        ],
    )]);
    assert_eq!(titles(&memory), [""; 0]);
}

#[test]
fn text_after_a_list_stays_behind_it() {
    let memory = compose(&[turn(
        1,
        "Why are there two names?",
        vec![
            edit("src/agent.rs"),
            report(
                "`agent.rs` now has two types, because names were mixed up.\n\n- `AgentName` is the key of the registry\n- `AgentType` is shown to users\n\nBoth convert to text with `as_str`.\n",
            ),
        ],
    )]);
    let observation = &memory.observations[0].observation;
    assert_eq!(
        observation.facts.last().map(String::as_str),
        Some("Both convert to text with `as_str`."),
        "{observation:?}"
    );
}

#[test]
fn a_line_of_a_diagram_is_no_finding() {
    let memory = compose(&[turn(
        1,
        "How does it work?",
        vec![report(
            "User commits → `post-commit` hook fires.\n\n- `condense` writes the summary before the hook returns\n",
        )],
    )]);
    assert!(
        titles(&memory).iter().all(|title| !title.contains('→')),
        "{:?}",
        titles(&memory)
    );
}

#[test]
fn a_title_that_names_a_list_is_no_statement_of_a_commit() {
    let memory = compose(&[turn(
        1,
        "Go",
        vec![
            edit("src/registry.rs"),
            report(
                "## Changes\n\n- Removed the hard-coded map from `Registry`\n- Added `find_by_type()` to `Registry`, which asks each agent\n",
            ),
            commit("Find agents of the registry by type", ""),
        ],
    )]);
    let text = text_of(&memory);
    assert!(!text.contains("another change"), "{text}");
}

#[test]
fn the_new_state_in_a_plan_is_not_told_as_the_old_one() {
    let plan = format!(
        "Implement the following plan:\n\n# Publish the formula\n\n## How it works\n\nOn tag push, `release.yml` starts and pushes the formula because `brews` is set.\n\n## Changes\n\n{}",
        "- add `brews` to the configuration of the release\n".repeat(12)
    );
    let memory = compose(&[turn(
        1,
        &plan,
        vec![
            edit(".goreleaser.yaml"),
            report("Added `brews` to `.goreleaser.yaml`, because the formula has its own repository."),
        ],
    )]);
    let text = format!("{:?}", memory.observations);
    assert!(!text.contains("Before the change"), "{text}");
}
