//! Findings of made-up sessions: which of them are still true at the end and say enough to be remembered.

use super::actions::{edit, report, run, text_of, turn};
use backstory_distill::{Action, Purpose, TurnLog, compose};

const CAUSE: &str = "`load` in `src/cache.rs` reads the file twice because `open` drops its handle. The second read costs 40 ms.";

fn titles(turns: Vec<Vec<Action>>) -> Vec<String> {
    let logs: Vec<TurnLog> = (1..)
        .zip(turns)
        .map(|(number, actions)| turn(number, "Look at the cache", actions))
        .collect();
    let memory = compose(&logs);
    let titles = memory.observations.into_iter();
    titles.map(|one| one.observation.title).collect()
}

#[test]
fn a_finding_about_a_file_that_changes_later_is_overtaken() {
    let finding = "`load` in `src/cache.rs` reads the file twice because `open` drops its handle";
    assert_eq!(titles(vec![vec![report(CAUSE)]]), [finding]);
    let other = vec![
        edit("src/net.rs"),
        report("`connect` now retries once on a timeout."),
    ];
    assert!(titles(vec![vec![report(CAUSE)], other]).contains(&finding.to_owned()));
    let fixed = vec![edit("src/cache.rs"), report("`load` now reads the file once.")];
    assert_eq!(
        titles(vec![vec![report(CAUSE)], fixed]),
        ["`load` now reads the file once"]
    );
}

#[test]
fn a_finding_that_a_later_turn_acts_on_is_overtaken() {
    let finding = "`connect` in the pool never times out because `deadline` is ignored. A server that hangs blocks all workers.";
    let other = || vec![report("The license of the project is MIT.")];
    let acted = |text: &str| vec![edit("src/net.rs"), report(text)];
    let remembers = |turns: Vec<Vec<Action>>| {
        titles(turns)
            .iter()
            .any(|title| title.contains("because `deadline` is ignored"))
    };
    let unrelated = "Colors now follow the theme of the terminal.";
    assert!(remembers(vec![vec![report(finding)], other(), acted(unrelated)]));
    let fixed = "`connect` now times out: the pool passes `deadline` to each server.";
    assert!(!remembers(vec![vec![report(finding)], other(), acted(fixed)]));
    // The turn right after the answer needs fewer of its words.
    assert!(remembers(vec![vec![report(finding)], acted(unrelated)]));
    let next = "`Socket` now gives up on a hanging server after 30 seconds.";
    assert!(!remembers(vec![vec![report(finding)], acted(next)]));
}

#[test]
fn a_review_is_no_finding() {
    let listed = |grade: &str| {
        format!(
            "`load` reads the file twice{grade} because `open` drops its handle. \
             `connect` never times out{grade} because `deadline` is ignored."
        )
    };
    assert_eq!(titles(vec![vec![report(&listed(""))]]).len(), 1);
    assert!(titles(vec![vec![report(&listed(" (severity: HIGH)"))]]).is_empty());
}

#[test]
fn a_title_does_not_start_in_the_middle_of_a_thought() {
    for opening in ["Exactly, ", "So ", "If you ask, "] {
        let message = format!("{opening}`load` reads the file twice because `open` drops its handle.");
        let titles = titles(vec![vec![report(&message)]]);
        assert!(
            !titles.iter().any(|title| title.starts_with(opening.trim_end())),
            "{titles:?}"
        );
    }
}

#[test]
fn a_long_session_keeps_no_count_of_fixes() {
    let fix = |text: &str| {
        vec![
            edit("src/cache.rs"),
            run("cargo test", Purpose::Test, None),
            report(text),
        ]
    };
    let turns = vec![
        fix("Fixed 8 files in `src` in total."),
        fix("Fixed three call sites of `load` in `src`."),
        fix("`load` now keeps its handle because a second `open` costs 40 ms."),
        fix("Done."),
    ];
    assert_eq!(
        titles(turns),
        ["`load` now keeps its handle because a second `open` costs 40 ms"]
    );
}

#[test]
fn a_report_is_kept_in_its_order_and_without_talk() {
    let text = "Done. `load` now keeps its handle.\n\n**`cache.rs`**\n- Added a handle to `Cache`\n- Removed the second `open`\n\nPlease run it again.\n\nAll tests pass.";
    let memory = compose(&[turn(
        1,
        "Make it faster",
        vec![edit("src/cache.rs"), report(text)],
    )]);
    let made = &memory.observations[0].observation;
    assert_eq!(made.title, "`load` now keeps its handle");
    assert_eq!(
        made.facts,
        [
            "`cache.rs`: Added a handle to `Cache`",
            "`cache.rs`: Removed the second `open`"
        ]
    );
    assert_eq!(made.narrative, None);
}

#[test]
fn a_later_report_replaces_what_it_says_again() {
    let first = "`load` now keeps its handle. Sources the `.env` file if it is present.";
    let second = "`load` now keeps its handle and closes it on drop. The `.env` file is no longer read, because `set -u` fails on it.";
    let memory = compose(&[
        turn(
            1,
            "Keep the handle of the cache",
            vec![edit("src/cache.rs"), report(first)],
        ),
        turn(
            2,
            "Do not source the file",
            vec![edit("src/cache.rs"), report(second)],
        ),
    ]);
    let text = format!("{:?}", memory.observations);
    assert!(text.contains("closes it on drop"), "{text}");
    assert_eq!(text.matches("keeps its handle").count(), 1, "{text}");
}

#[test]
fn a_statement_that_a_later_report_updates_is_dropped() {
    let memory = compose(&[
        turn(
            1,
            "Keep the handle of the cache",
            vec![
                edit("src/cache.rs"),
                report(
                    "`load` now keeps its handle, because opening costs 40 ms. The cache holds 128 entries per tenant and drops the oldest first.",
                ),
            ],
        ),
        turn(
            2,
            "Make it larger",
            vec![
                edit("src/limits.rs"),
                report(
                    "`LIMIT` was too small for the nightly job. The cache holds 512 entries per tenant now and drops the oldest first.",
                ),
            ],
        ),
    ]);
    let text = text_of(&memory);
    assert!(
        text.contains("keeps its handle") && text.contains("512 entries"),
        "{text}"
    );
    assert!(!text.contains("128 entries"), "{text}");
}

#[test]
fn the_state_of_a_branch_is_no_finding() {
    assert!(
        titles(vec![vec![report(
            "Pull request #16 is mergeable and `main` is up to date."
        )]])
        .is_empty()
    );
}
