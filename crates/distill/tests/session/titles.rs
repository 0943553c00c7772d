//! Titles: what a memory is named by.

use backstory_distill::{Action, compose};

use crate::actions::{edit, prose, report, text_of, titles, turn};

fn title(prompt: &str, actions: Vec<Action>) -> Option<String> {
    let memory = compose(&[turn(1, prompt, actions)]);
    titles(&memory).first().map(|title| (*title).to_owned())
}

const LIST: &str = "Changes:\n\n- `a.py`: Added `retry` to `load()`, with 3 attempts\n- `b.py`: Added `timeout` to `fetch()`, with 5 seconds\n";

#[test]
fn a_polite_order_names_the_change() {
    let prompt = "The log is full of timeouts. I wonder if we could retry failed downloads in `load()`?";
    assert_eq!(
        title(prompt, vec![edit("a.py"), edit("b.py"), report(LIST)]).as_deref(),
        Some("Retry failed downloads in `load()`")
    );
}

#[test]
fn a_reported_problem_names_its_fix() {
    let prompt = "`load()` silently returns an empty list on three kinds of errors. Callers cannot tell.";
    assert_eq!(
        title(prompt, vec![edit("a.py"), edit("b.py"), report(LIST)]).as_deref(),
        Some("Fixed: `load()` silently returns an empty list on three kinds of errors")
    );
}

#[test]
fn the_cause_that_a_report_states_names_the_fix() {
    let text = "The issue was that `per_file` was lost between `Session` and `Store`.\n\n- `a.py`: Added `per_file` to `Store`\n- `b.py`: Added `per_file` to both conversions";
    assert_eq!(
        title("it does not work", vec![edit("a.py"), edit("b.py"), report(text)]).as_deref(),
        Some("Fixed: `per_file` was lost between `Session` and `Store`")
    );
    let text = "The issue was in `Encoder` of `cookie.py`. Changed the check in `Encoder` from `if tags` to `if tags is not None`, because an empty string is false.";
    let named = title("it does not work", vec![edit("cookie.py"), report(text)]).unwrap_or_default();
    assert!(!named.starts_with("Fixed: "), "{named}");
}

#[test]
fn an_answer_is_named_by_its_question_unless_it_states_the_cause() {
    let answer = "Three places, in this order: the local file `.app/config` of the repository; the global file `~/.config/app`; the defaults in `defaults.py`. The first one wins, because `merge()` never overwrites a value that is set, and `load()` reads them in this order for every command that runs.";
    assert_eq!(
        title(
            "where does `load_settings` look for values?",
            vec![report(answer)]
        )
        .as_deref(),
        Some("Where does `load_settings` look for values?")
    );
}

#[test]
fn a_section_of_a_long_report_is_named_by_its_heading() {
    let detail = "`store.py` — Added `drop_branch(name)`, which runs `git branch -D`, because the library cannot delete packed references in worktrees. ";
    let text = format!(
        "## Changes\n\n### Bug 1: Logs go to the terminal\n{}\n\n### Bug 2: Branches are not deleted\n{}",
        "`clean.py` opens the log file before it deletes anything, so that messages go to `app.log`. "
            .repeat(9),
        detail.repeat(7),
    );
    let memory = compose(&[turn(
        1,
        "go",
        vec![edit("clean.py"), edit("store.py"), report(&text)],
    )]);
    assert!(
        titles(&memory).contains(&"Fixed: Branches are not deleted"),
        "{:?}",
        titles(&memory)
    );
}

#[test]
fn a_remark_about_a_change_is_no_memory_of_a_long_session() {
    let work = |number: u32| {
        turn(
            number,
            "and now?",
            vec![
                edit("a.py"),
                report("Changed the word in `a.py` from `off` to `false`."),
            ],
        )
    };
    let memory = compose(&[work(1), work(2), work(3), work(4)]);
    assert_eq!(titles(&memory), [""; 0]);
}

#[test]
fn a_lead_in_to_a_list_is_no_title() {
    let memory = compose(&[turn(
        1,
        "running `shop enable` resets my settings",
        vec![
            edit("src/setup.rs"),
            report(
                "`enable()` created new `Settings` because it never read the file. Fixed in `setup.rs` - now both functions:\n\n- Load the settings first with `load_settings()`\n- Update only `enabled`\n- Save the merged settings",
            ),
        ],
    )]);
    assert_eq!(
        titles(&memory),
        ["`enable()` created new `Settings` because it never read the file"]
    );
}

#[test]
fn the_problem_at_the_start_of_a_report_is_what_was_fixed() {
    let memory = compose(&[turn(
        1,
        "have a look at the failing export",
        vec![
            edit("src/export.rs"),
            report(
                "**Issue:** `Writer` didn't handle empty rows - it wrote a lone comma.\n\n**Solution:** Made two changes to `src/export.rs`:\n- `write_row` skips rows without fields\n- `finish` no longer adds a line",
            ),
        ],
    )]);
    assert_eq!(titles(&memory), ["Fixed: `Writer` didn't handle empty rows"]);
}

#[test]
fn an_opening_without_names_says_more_than_the_first_entries_of_its_list() {
    let memory = compose(&[turn(
        1,
        "one last thing: there is logic outside of the strategies, can we move that too?",
        vec![
            edit("src/cleanup.rs"),
            report(
                "The cleanup logic has been moved into the strategies themselves.\n\n- `Manual`: implements `list_orphans()` for branches\n- `Auto`: implements `list_orphans()` for checkpoints\n- Removed `find_orphans()` and its tests",
            ),
        ],
    )]);
    assert_eq!(
        titles(&memory),
        ["The cleanup logic has been moved into the strategies themselves"]
    );
}

#[test]
fn a_sentence_about_the_change_says_more_than_the_names_of_its_files() {
    let memory = compose(&[turn(
        1,
        "yes, please do that",
        vec![
            edit("src/hooks.rs"),
            report(
                "Done:\n\n- `hooks.rs`: removed the match on names\n- Unknown hooks such as `Setup` are now preserved when `install` rewrites the file\n- Updated 3 tests",
            ),
        ],
    )]);
    assert_eq!(
        titles(&memory),
        ["Unknown hooks such as `Setup` are now preserved when `install` rewrites the file"]
    );
}

#[test]
fn a_fix_with_failing_tests_is_not_told_as_done() {
    let memory = compose(&[turn(
        1,
        "fix the bugs in the attribution",
        vec![
            edit("src/attribution.rs"),
            report(
                "Fixed all three bugs in `attribution.rs`, because the counts were wrong. However, three integration tests are failing with `agent=0`.",
            ),
        ],
    )]);
    assert!(
        titles(&memory)
            .iter()
            .all(|title| !title.starts_with("Fixed all")),
        "{:?}",
        titles(&memory)
    );
}

#[test]
fn a_list_of_files_with_a_passed_check_is_no_memory_but_a_reason_is() {
    let named = |actions| title("go on", actions);
    assert_eq!(named(vec![edit("a.py")]), None);
    let reason =
        "`is_filtered()` does not know `summary.txt`, so secrets in a summary are stored unfiltered.";
    let memory = compose(&[turn(1, "go on", vec![prose(reason), edit("a.py")])]);
    let text = text_of(&memory);
    assert!(text.contains("secrets in a summary"), "{text}");
}
