//! Reads the result that test runners, compilers and linters print.

use super::text::{cut, tail};
use crate::Purpose;

/// The end of an output that is searched, in bytes.
const MAX_TAIL: usize = 16 * 1024;

/// Returns whether a check passed, if its output says so.
pub(super) fn of(output: &str) -> Option<bool> {
    let mut passed = None;
    let mut last = "";
    for line in tail(output, MAX_TAIL)
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
    {
        if is_failure(line) {
            return Some(false);
        }
        if is_success(line) {
            passed = Some(true);
        }
        last = line;
    }
    // A program that ends with an error message failed, whatever it printed before.
    let ends_with_error = passed.is_none() && super::error::find(last).is_some();
    if ends_with_error { Some(false) } else { passed }
}

fn is_failure(line: &str) -> bool {
    const STARTS: [&str; 18] = [
        "FAIL\t",
        "--- FAIL",
        "FAILED (",
        "FAILED ",
        "FAIL ",
        "FAIL:",
        "BUILD FAILED",
        "BUILD FAILURE",
        "make: ***",
        "error[E",
        "error: could not compile",
        "error: test failed",
        "error: aborting",
        "npm ERR!",
        "npm error",
        "Build FAILED",
        "Test Run Failed",
        "** (Mix)",
    ];
    line == "FAIL"
        || STARTS.iter().any(|start| line.starts_with(start))
        || line.contains("): error ")
        || line.contains("panicked at ")
        || line.starts_with("Found ") && line.contains(" error") && !line.starts_with("Found 0 ")
        || counts(line).is_some_and(|counts| counts.failed > 0)
}

fn is_success(line: &str) -> bool {
    const STARTS: [&str; 16] = [
        "ok  \t",
        "ok \t",
        "PASS",
        "test result: ok",
        "BUILD SUCCESS",
        "All tests passed",
        "All checks passed",
        "Finished ",
        "Build succeeded",
        "Success: no issues",
        "OK (",
        "All matched files",
        "Found 0 errors",
        "No issues found",
        "Compiled ",
        "✔ No problems",
    ];
    line == "OK"
        || line == "0 issues."
        || STARTS.iter().any(|start| line.starts_with(start))
        || counts(line).is_some_and(|counts| counts.failed == 0)
}

/// The counts of a line that sums up.
struct Counts {
    failed: u32,
}

/// Reads `12 passed, 1 failed`, `3 tests, 0 failures`, `Tests: 2 failed, 5 passed`, `3 issues:`.
fn counts(line: &str) -> Option<Counts> {
    const STARTS: [&str; 9] = [
        "Tests:",
        "Tests ",
        "Test Suites:",
        "Test Files",
        "Summary",
        "test result:",
        "OK (",
        "Passed!",
        "Failed!",
    ];
    let line = line.trim_matches(['=', ' ', '-', '─', '✖', '✗', '✘']);
    let is_summary = line.len() < 160
        && (line.starts_with(|c: char| c.is_ascii_digit())
            || STARTS.iter().any(|start| line.starts_with(start)));
    if !is_summary {
        return None;
    }
    let (mut seen, mut failed, mut number, mut label) = (false, 0u32, None, "");
    let parts = line.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '(' | ')' | '|' | '.'));
    for word in parts.filter(|word| !word.is_empty()) {
        if let Ok(value) = word.parse::<u32>() {
            // `Failed:     1, Passed:    12`.
            if label == "Failed:" {
                failed = failed.saturating_add(value);
            }
            seen |= matches!(label, "Failed:" | "Passed:");
            number = Some(value);
            continue;
        }
        label = word;
        let Some(count) = number.take() else { continue };
        match word.trim_end_matches(':') {
            "passed" | "passing" | "pass" | "examples" | "example" | "tests" | "test" | "doctests"
            | "doctest" => seen = true,
            "failed" | "failing" | "error" | "errors" | "failures" | "failure" | "fail" | "issues"
            | "issue" | "problems" | "problem" | "offenses" => {
                seen = true;
                failed = failed.saturating_add(count);
            }
            _ => {}
        }
    }
    seen.then_some(Counts { failed })
}

/// Returns the purpose of the check that printed a failure: a test that failed, or findings of a linter.
pub(super) fn kind_of_failure(output: &str) -> Option<Purpose> {
    const TESTS: [&str; 5] = ["--- FAIL", "FAILED ", "test result: FAILED", "FAIL\t", "Tests:"];
    let lines = || tail(output, MAX_TAIL).lines().map(str::trim);
    let is_test = |line: &str| {
        let is_count = counts(line).is_some_and(|counts| counts.failed > 0) && line.contains(" passed");
        is_count || (is_failure(line) && TESTS.iter().any(|start| line.starts_with(start)))
    };
    let is_finding = |line: &str| {
        let is_count = counts(line).is_some_and(|counts| counts.failed > 0);
        is_count
            && ["issue", "problem", "offense"]
                .iter()
                .any(|noun| line.contains(noun))
    };
    if lines().any(is_test) {
        Some(Purpose::Test)
    } else if lines().any(is_finding) {
        Some(Purpose::Lint)
    } else {
        None
    }
}

/// Returns the task that a task runner blames: `make: *** [Makefile:3: lint] Error 1`, `[lint] ERROR task failed`.
pub(super) fn blamed_task(output: &str) -> Option<&str> {
    tail(output, MAX_TAIL)
        .lines()
        .map(str::trim)
        .rev()
        .find_map(|line| {
            if line.starts_with("make") {
                let (_, target) = line.split_once("*** [")?;
                return target.split(']').next()?.rsplit(": ").next();
            }
            let (task, rest) = line.strip_prefix('[')?.split_once(']')?;
            rest.trim_start().starts_with("ERROR").then_some(task)
        })
}

/// Returns the line that sums up the output of a check.
pub(super) fn summary_line(output: &str) -> Option<String> {
    let output = tail(output, MAX_TAIL);
    let lines = || output.lines().map(|line| line.trim().trim_matches('=').trim());
    let is_sum = |line: &&str| {
        counts(line).is_some()
            || [
                "BUILD ",
                "Found ",
                "All checks passed",
                "Success: no issues",
                "Build succeeded",
            ]
            .iter()
            .any(|start| line.starts_with(start))
    };
    if let Some(line) = lines().rfind(is_sum) {
        return Some(cut(line, 200).to_owned());
    }
    // Go has no such line: the test that failed, or the only package, says most.
    let failed = lines().find(|line| line.starts_with("--- FAIL") || line.starts_with("FAIL\t"));
    let mut passed = lines().filter(|line| line.starts_with("ok  \t") || line.starts_with("ok \t"));
    let line = failed.or_else(|| match (passed.next(), passed.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    })?;
    Some(cut(line, 200).replace('\t', " "))
}

/// Returns the state of the working tree that `git status` printed, in one line.
pub(super) fn tree_state(output: &str, is_short: bool) -> String {
    const CLEAN: &str = "nothing to commit, working tree clean";
    if is_short {
        let changed = output
            .lines()
            .filter(|line| !line.trim().is_empty() && !line.starts_with("##"));
        return match changed.count() {
            0 => CLEAN.to_owned(),
            1 => "1 changed file".to_owned(),
            count => format!("{count} changed files"),
        };
    }
    const TELLING: [&str; 8] = [
        "Your branch is",
        "Your branch and",
        "Changes to be committed",
        "Changes not staged",
        "Untracked files",
        "You have unmerged",
        "nothing to commit",
        "nothing added to commit",
    ];
    let is_telling = |line: &&str| TELLING.iter().any(|start| line.starts_with(start));
    let lines = output.lines().map(str::trim).filter(is_telling);
    let lines: Vec<&str> = lines.map(|line| line.trim_end_matches([':', '.'])).collect();
    cut(&lines.join("; "), 240).to_owned()
}

/// Returns the changed files that `git status` listed, or `None` if the list is too long to be kept or was cut.
pub(super) fn changed_files(output: &str, is_short: bool) -> Option<Vec<String>> {
    const MAX_FILES: usize = 60;
    let mut is_untracked = false;
    let mut files = Vec::new();
    for line in output.lines() {
        let file = if is_short {
            // A client may strip the space before the first status letter.
            line.trim_start()
                .split_once(' ')
                .filter(|(code, _)| code.len() <= 2 && code.chars().all(|c| "MADRCUT?".contains(c)))
                .map(|(_, file)| file)
        } else {
            is_untracked = match line.starts_with(char::is_whitespace) {
                false if !line.is_empty() => line.starts_with("Untracked files"),
                _ => is_untracked,
            };
            listed(line, is_untracked)
        };
        files.extend(file.map(|file| {
            let file = file.rsplit_once(" -> ").map_or(file, |(_, new)| new);
            file.trim().trim_matches('"').to_owned()
        }));
    }
    (files.len() <= MAX_FILES).then_some(files)
}

/// Returns the file of one line of the long form of `git status`.
fn listed(line: &str, is_untracked: bool) -> Option<&str> {
    let entry = line.trim();
    if !line.starts_with(char::is_whitespace) || entry.is_empty() || entry.starts_with('(') {
        return None;
    }
    match entry.split_once(": ") {
        Some((label, file)) if !is_untracked && label.chars().all(|c| c.is_ascii_lowercase() || c == ' ') => {
            Some(file)
        }
        _ => is_untracked.then_some(entry),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_of_many_tools_are_read() {
        for (output, wanted) in [
            ("==== 1 failed, 28 passed in 1.68 seconds ====", Some(false)),
            ("===== 26 passed, 1 xfailed, 3 warnings in 0.2s =====", Some(true)),
            ("Ran 6 tests in 0.007s\n\nOK\n", Some(true)),
            ("Ran 6 tests in 0.007s\n\nFAILED (failures=1)", Some(false)),
            ("test result: ok. 3 passed; 0 failed; 1 ignored", Some(true)),
            ("test result: FAILED. 2 passed; 1 failed;", Some(false)),
            ("Tests:       1 failed, 5 passed, 6 total", Some(false)),
            ("  12 passing (40ms)\n", Some(true)),
            ("12 examples, 2 failures", Some(false)),
            ("3 doctests, 40 tests, 0 failures", Some(true)),
            ("ok  \tx/y\t0.1s\nFAIL\tx/z\t0.2s", Some(false)),
            ("[lint] $ golangci-lint run ./...\n0 issues.", Some(true)),
            ("a.go:1:2: x (lll)\n1 issues:\n* lll: 1", Some(false)),
            ("✖ 3 problems (1 error, 2 warnings)", Some(false)),
            ("Passed!  - Failed:     0, Passed:    12, Skipped: 0", Some(true)),
            ("Failed!  - Failed:     2, Passed:    12", Some(false)),
            ("Found 2 errors in 1 file.", Some(false)),
            ("BUILD SUCCESSFUL in 3s", Some(true)),
            (
                "Traceback (most recent call last):\nImportError: No module named x",
                Some(false),
            ),
            ("Traceback …\nAttributeError: x\nRemainder of file ignored", None),
            ("some lines\nof output", None),
            ("all of the 3 passed arguments are read", None),
        ] {
            assert_eq!(of(output), wanted, "{output}");
        }
    }

    #[test]
    fn the_line_that_sums_up_is_found() {
        for (output, wanted) in [
            (
                "a\n==== 1 failed, 28 passed in 1.68s ====\n",
                Some("1 failed, 28 passed in 1.68s"),
            ),
            ("ok  \tx/y\t0.1s\n", Some("ok   x/y 0.1s")),
            ("ok  \tx/y\t0.1s\nok  \tx/z\t0.1s\n", None),
            (
                "--- FAIL: TestA (0.04s)\nFAIL\nFAIL\tx/y\t0.1s",
                Some("--- FAIL: TestA (0.04s)"),
            ),
        ] {
            assert_eq!(summary_line(output).as_deref(), wanted, "{output}");
        }
    }

    #[test]
    fn the_state_of_the_tree_is_one_line() {
        let long = "On branch x\nYour branch is ahead of 'origin/x' by 1 commit.\n  (use \"git push\")\n\nnothing to commit, working tree clean";
        assert_eq!(
            tree_state(long, false),
            "Your branch is ahead of 'origin/x' by 1 commit; nothing to commit, working tree clean"
        );
        assert_eq!(
            tree_state(
                "On branch x\nChanges not staged for commit:\n  modified: a",
                false
            ),
            "Changes not staged for commit"
        );
        assert_eq!(tree_state("## main\n M a\n?? b\n", true), "2 changed files");
        assert_eq!(tree_state("", true), "nothing to commit, working tree clean");
    }

    #[test]
    fn the_changed_files_of_a_tree_are_read() {
        let long = "On branch x\nChanges to be committed:\n  (use \"git restore\")\n\tnew file:   a.rs\n\nChanges not staged for commit:\n\tmodified:   src/b.rs\n\trenamed:    c.rs -> d.rs\n\nUntracked files:\n  (use \"git add\")\n\tnotes/\n\nno changes added to commit";
        let files = |output, is_short| changed_files(output, is_short).expect("the list is short");
        assert_eq!(files(long, false), ["a.rs", "src/b.rs", "d.rs", "notes/"]);
        assert_eq!(
            files("## main\n M a.rs\n?? \"my notes/\"\nR  b.rs -> c.rs\n", true),
            ["a.rs", "my notes/", "c.rs"]
        );
        assert_eq!(files("M a.rs\n", true), ["a.rs"]);
        assert!(files("On branch x\nnothing to commit, working tree clean", false).is_empty());
        assert_eq!(changed_files(&"?? a\n".repeat(61), true), None);
    }
}
