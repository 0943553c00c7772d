//! What a run came to: counts of tests, and whether it passed.

use super::text::tail;

/// Counts of tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tests {
    /// How many passed.
    pub(super) passed: u32,
    /// How many failed or ended in an error.
    pub(super) failed: u32,
}

impl Tests {
    /// "12 tests", "2 failed, 10 passed".
    pub(super) fn shown(self) -> String {
        match (self.passed, self.failed) {
            (1, 0) => "1 test".to_owned(),
            (passed, 0) => format!("{passed} tests"),
            (0, failed) => format!("{failed} failed"),
            (passed, failed) => format!("{failed} failed, {passed} passed"),
        }
    }
}

const MAX_SCANNED: usize = 12 * 1024;

/// Finds the counts in the output of a test run: the summaries of the common runners.
pub(super) fn tests(output: &str) -> Option<Tests> {
    let mut ran = None;
    let mut found: Option<Tests> = None;
    let mut sum = Tests::default();
    let mut summed = false;
    for line in tail(output, MAX_SCANNED).lines() {
        let line = line.trim().trim_matches('=').trim();
        if let Some(rest) = line.strip_prefix("test result:") {
            let counts = counts(rest)?;
            sum = Tests {
                passed: sum.passed.saturating_add(counts.passed),
                failed: sum.failed.saturating_add(counts.failed),
            };
            summed = true;
        } else if let Some(rest) = line.strip_prefix("Ran ") {
            ran = rest
                .split(' ')
                .next()
                .and_then(|number| number.parse::<u32>().ok());
        } else if let Some(total) = ran.filter(|_| line == "OK" || line.starts_with("OK (")) {
            found = Some(Tests {
                passed: total,
                failed: 0,
            });
        } else if let Some(total) = ran.filter(|_| line.starts_with("FAILED (")) {
            let failed = line
                .split(|c: char| !c.is_ascii_digit())
                .filter_map(|n| n.parse::<u32>().ok())
                .fold(0, u32::saturating_add);
            found = Some(Tests {
                passed: total.saturating_sub(failed),
                failed,
            });
        } else if is_summary(line)
            && let Some(counts) = counts(line)
        {
            found = Some(counts);
        }
    }
    if summed { Some(sum) } else { found }
}

/// A line of results, not a sentence that mentions some.
fn is_summary(line: &str) -> bool {
    line.len() < 160
        && (line.starts_with(|c: char| c.is_ascii_digit())
            || line.starts_with("Tests:")
            || line.starts_with("Tests ")
            || line.starts_with("tests finished:")
            || line.starts_with("Summary [")
            || line.starts_with("OK (")
            || line.starts_with("PASSED"))
}

/// Reads "3 failed, 12 passed", "12 passing", "12 examples, 0 failures".
fn counts(line: &str) -> Option<Tests> {
    let mut tests = Tests::default();
    let mut seen = false;
    let mut number = None;
    let mut examples = None;
    for word in line
        .split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '(' | ')' | '|'))
        .filter(|word| !word.is_empty())
    {
        if let Ok(value) = word.parse::<u32>() {
            number = Some(value);
            continue;
        }
        let Some(count) = number.take() else { continue };
        match word {
            "passed" | "passed." | "passing" | "pass" => tests.passed = tests.passed.saturating_add(count),
            "failed" | "failing" | "error" | "errors" | "failures" | "failure" | "fail" => {
                tests.failed = tests.failed.saturating_add(count);
            }
            "examples" | "example" => examples = Some(count),
            _ => continue,
        }
        seen = true;
    }
    if let Some(total) = examples {
        tests.passed = total.saturating_sub(tests.failed);
    }
    (seen && (tests.passed > 0 || tests.failed > 0)).then_some(tests)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_of_the_common_runners_are_read() {
        for (output, passed, failed) in [
            ("==== 1 failed, 28 passed in 1.68 seconds ====", 28, 1),
            ("===== 26 passed, 1 xfailed, 3 warnings in 0.2s =====", 26, 0),
            ("Ran 6 tests in 0.007s\n\nOK\n", 6, 0),
            ("Ran 6 tests in 0.007s\n\nFAILED (failures=1, errors=2)", 3, 3),
            (
                "test result: ok. 3 passed; 0 failed; 1 ignored\n\ntest result: FAILED. 2 passed; 1 failed;",
                5,
                1,
            ),
            ("Tests:       1 failed, 5 passed, 6 total", 5, 1),
            ("      Tests  3 passed (3)", 3, 0),
            ("  12 passing (40ms)\n", 12, 0),
            ("12 examples, 2 failures", 10, 2),
            ("Summary [   0.1s] 12 tests run: 12 passed, 0 skipped", 12, 0),
            ("tests finished: 43 passed, in 0.50 seconds", 43, 0),
        ] {
            assert_eq!(tests(output), Some(Tests { passed, failed }), "{output}");
        }
    }

    #[test]
    fn prose_is_no_summary() {
        assert_eq!(tests("all of the 3 passed arguments are read"), None);
        assert_eq!(tests(""), None);
    }
}
