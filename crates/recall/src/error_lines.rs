//! Finds the lines of an output or a prompt that state an error.

/// Returns the line of an output that states an error. Stricter than for a tool that failed: a command that succeeded also
/// prints lines such as "0 failed" or "no errors".
pub fn stated_error(output: &str) -> Option<&str> {
    output.lines().map(str::trim).find(|line| {
        let start = line.trim_start_matches(|c: char| !c.is_alphanumeric());
        names_error_kind(line) || ["error: ", "fatal: "].iter().any(|sign| start.starts_with(sign))
    })
}

/// Reports whether a line names a kind of error, such as `KeyError: 'x'` or `error[E0308]: …`.
fn names_error_kind(line: &str) -> bool {
    line.contains("Error:") || line.contains("error[") || line.contains("Exception:")
}

/// Reports whether a line may state an error.
pub(crate) fn is_error_line(line: &str) -> bool {
    const SIGNS: [&str; 12] = [
        "error",
        "exception",
        "panicked",
        "failed",
        "cannot",
        "can't",
        "not found",
        "no such",
        "undefined",
        "denied",
        "unexpected",
        "missing",
    ];
    let lower = line.to_lowercase();
    lower.len() > 12 && SIGNS.iter().any(|sign| lower.contains(sign)) && !lower.starts_with("exit code")
}

/// Returns the most specific line of an error output.
pub(crate) fn error_line(error: &str) -> Option<&str> {
    let is_specific = |line: &&str| is_error_line(line);
    let lines = || error.lines().map(str::trim).take(400);
    // Python and many others print it last, compilers first; a line that names a kind of error is the most specific.
    lines()
        .filter(is_specific)
        .find(|line| names_error_kind(line))
        .or_else(|| lines().find(is_specific))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_that_state_an_error_count_in_an_answer() {
        for (output, line) in [
            ("ok\nKeyError: 'region'\n", Some("KeyError: 'region'")),
            (
                "error[E0308]: mismatched types",
                Some("error[E0308]: mismatched types"),
            ),
            (
                "! fatal: not a git repository",
                Some("! fatal: not a git repository"),
            ),
            ("test result: ok. 4 passed; 0 failed", None),
            ("checked 12 files, no errors found", None),
        ] {
            assert_eq!(stated_error(output), line, "{output}");
        }
    }

    #[test]
    fn the_most_specific_line_of_an_error_is_found() {
        let python =
            "Exit code 1\nTraceback (most recent call last):\n  File \"a.py\", line 3\nKeyError: 'region'";
        assert_eq!(error_line(python), Some("KeyError: 'region'"));
        let rust = "   Compiling x v0.1.0\nerror[E0502]: cannot borrow `map` as mutable\n  --> src/a.rs:3:4";
        assert_eq!(
            error_line(rust),
            Some("error[E0502]: cannot borrow `map` as mutable")
        );
        assert_eq!(error_line("Exit code 1\nall is well here"), None);
    }
}
