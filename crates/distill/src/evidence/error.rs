//! Finds the most specific error line of an output.

use backstory_text::error_signature;

use super::text::{cut, tail};
use crate::{ErrorSignature, english::gives_orders};

/// The longest error line that is kept, in bytes: it is read by people.
const MAX_LINE: usize = 240;

/// The ends of a long output that are searched, in bytes: compilers print the cause first, programs last.
const MAX_HEAD: usize = 6 * 1024;
const MAX_TAIL: usize = 12 * 1024;

/// Returns the most specific error line of an output.
pub(super) fn find(output: &str) -> Option<ErrorSignature> {
    let mut best: Option<(Rank, &str)> = None;
    let (head, rest) = ends(output);
    let mut lines = head.lines().chain(rest.lines()).peekable();
    while let Some(line) = lines.next() {
        let mut line = line.trim();
        let Some(rank) = rank(line) else { continue };
        if gives_orders(line) {
            continue;
        }
        // `thread 'x' panicked at src/a.rs:1:2:` has the message on the next line.
        if line.ends_with(':') && line.contains("panicked at") {
            line = lines.peek().map_or(line, |next| next.trim());
        }
        // Compilers print the cause first, tracebacks and the logs of a test last.
        let is_last = matches!(rank, Rank::Exception | Rank::TestLog);
        let is_better = best.is_none_or(|(kept, _)| rank > kept || (rank == kept && is_last));
        if is_better {
            best = Some((rank, line));
        }
    }
    let (_, line) = best?;
    let line = cut(line.strip_prefix("E ").map_or(line, str::trim_start), MAX_LINE);
    Some(ErrorSignature {
        key: error_signature(line),
        line: line.to_owned(),
    })
}

/// Returns the last line of a short output: most programs say what is wrong in a line or two of their own form.
pub(super) fn only_line(output: &str) -> Option<ErrorSignature> {
    const MAX_LINES: usize = 4;
    let mut lines = output.lines().map(str::trim).filter(|line| !line.is_empty());
    let last = lines.next_back()?;
    let is_short = lines.count() < MAX_LINES && (5..=MAX_LINE).contains(&last.len());
    (is_short && !gives_orders(last)).then(|| ErrorSignature {
        key: error_signature(last),
        line: last.to_owned(),
    })
}

/// The value of a line for finding the cause, from least to most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// `make: *** [test] Error 1`: only that something failed.
    Echo,
    /// `--- FAIL: TestX`: the name of the test.
    Name,
    /// `command not found`, `No such file or directory`.
    System,
    /// `error: …`, `fatal: …`.
    Message,
    /// `a_test.go:12: got 3`: an assertion, or only a line that the test logged before it.
    TestLog,
    /// `ValueError: …`, a panic, an assertion.
    Exception,
    /// `error[E0308]: …`, `a.go:12:3: …`, `src/a.ts(3,5): error TS2322`.
    Located,
}

/// Only that something failed.
const ECHOES: [&str; 8] = [
    "make: ***",
    "make[",
    "npm err!",
    "npm error",
    "error: could not compile",
    "error: test failed",
    "error: recipe",
    "error: script ",
];

/// Openings of an error message.
const MESSAGES: [&str; 14] = [
    "error:",
    "fatal:",
    "error ",
    "assertion ",
    "err:",
    "fatal error",
    "failure:",
    "could not ",
    "cannot ",
    "unable to ",
    "failed to ",
    "** (mix)",
    "conflict (",
    "go: ",
];

/// Wordings of the operating system, the shell and loaders.
const SYSTEM: [&str; 24] = [
    "command not found",
    "no such file or directory",
    "permission denied",
    "cannot find module",
    "no module named",
    "undefined reference",
    "connection refused",
    "timed out",
    "not found in path",
    "is not recognized",
    "address already in use",
    "cannot find package",
    "unknown flag",
    "unknown option",
    "unrecognized option",
    "unrecognized argument",
    "invalid option",
    "illegal option",
    "flag provided but not defined",
    "syntax error",
    "segmentation fault",
    "out of memory",
    "no space left",
    "not a git repository",
];

/// Openings of a line that names the failing test.
const NAMES: [&str; 8] = [
    "FAILED ", "--- FAIL", "FAIL\t", "FAIL ", "FAIL:", "ERROR:", "ERROR ", "not ok ",
];

fn rank(line: &str) -> Option<Rank> {
    if !(5..=2000).contains(&line.len()) {
        return None;
    }
    let lower = cut(line, 240).to_ascii_lowercase();
    if ECHOES.iter().any(|start| lower.starts_with(start)) {
        return Some(Rank::Echo);
    }
    if lower.starts_with("error[") || lower.contains("): error ") {
        return Some(Rank::Located);
    }
    if let Some(rank) = located(line, &lower) {
        return Some(rank);
    }
    let body = line.strip_prefix("E ").map_or(line, str::trim_start);
    let is_panic = lower.contains("panicked at") || lower.starts_with("panic:") || lower.starts_with("** (");
    let is_assertion = line.starts_with("E ") && body.starts_with("assert ");
    if is_assertion || is_exception(body) || (is_panic && !lower.starts_with("** (mix)")) {
        return Some(Rank::Exception);
    }
    // `Error Trace:` of an assertion library is a position, `error summary` a count.
    let is_heading = lower.starts_with("error trace")
        || lower.starts_with("error summary")
        || lower.starts_with("error executing");
    if MESSAGES.iter().any(|start| lower.starts_with(start)) && !is_heading {
        return Some(Rank::Message);
    }
    if SYSTEM.iter().any(|words| lower.contains(words)) {
        return Some(Rank::System);
    }
    NAMES
        .iter()
        .any(|start| line.starts_with(start))
        .then_some(Rank::Name)
}

/// `path/to/a.go:12:3: message` with something that tells it from a line of `grep -n`: a column, a test file, the name of a
/// check in brackets at the end, or a word of an error.
fn located(line: &str, lower: &str) -> Option<Rank> {
    const WORDS: [&str; 20] = [
        "got ",
        "want ",
        "should",
        "fail",
        "error",
        "undefined",
        "cannot ",
        "expected",
        "not used",
        "missing",
        "undeclared",
        "mismatch",
        "unexpected",
        "invalid",
        "does not",
        "has no",
        "unresolved",
        "no such",
        "too many",
        "not enough",
    ];
    let (path, rest) = line.split_once(':')?;
    let has_file = path.len() < 200
        && !path.contains(' ')
        && path.rsplit('/').next().is_some_and(|name| name.contains('.'));
    let mut parts = rest.splitn(3, ':');
    let is_number = |text: Option<&str>| {
        text.is_some_and(|text| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()))
    };
    if !has_file || !is_number(parts.next()) {
        return None;
    }
    let second = parts.next().unwrap_or_default();
    let has_column = is_number(Some(second.trim()));
    let message = if has_column {
        parts.next().unwrap_or_default()
    } else {
        second
    };
    if message.trim().len() < 4 {
        return None;
    }
    let has_check = line.ends_with(')')
        && line
            .rsplit('(')
            .next()
            .is_some_and(|name| name.len() < 24 && !name.contains(' '));
    let is_test = path.ends_with("_test.go") || path.ends_with("_test.exs");
    // The name of the file is no message: `error.go:3` says nothing about an error.
    let says_why = WORDS
        .iter()
        .any(|word| message.to_ascii_lowercase().contains(word))
        || (!is_test && WORDS.iter().any(|word| lower.contains(word)));
    if (has_column && has_check) || says_why {
        Some(Rank::Located)
    } else {
        is_test.then_some(Rank::TestLog)
    }
}

/// `SomeError: words`, with or without a module in front.
fn is_exception(line: &str) -> bool {
    const ENDS: [&str; 5] = ["Error", "Exception", "Interrupt", "NotFound", "Failure"];
    let end = line.find([':', ' ', '(']).unwrap_or(0);
    let (name, rest) = line.split_at(end);
    name.len() > 5
        && ENDS.iter().any(|ending| name.ends_with(ending))
        && name.starts_with(|c: char| c.is_alphabetic())
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '.' | '_'))
        // `t.Error("…")` is a line of code that a linter quotes.
        && (rest.starts_with(':') || (rest.starts_with('(') && name.starts_with(char::is_uppercase)))
}

/// Returns both ends of a long output; all of a short one comes first.
fn ends(output: &str) -> (&str, &str) {
    if output.len() <= MAX_HEAD + MAX_TAIL {
        return (output, "");
    }
    (cut(output, MAX_HEAD), tail(output, MAX_TAIL))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_specific_line_is_found() {
        for (output, wanted) in [
            (
                "Traceback (most recent call last):\n  File \"a.py\", line 1\nValueError: bad value\n",
                "ValueError: bad value",
            ),
            (
                "error[E0308]: mismatched types\n --> a.rs:1\nerror: could not compile",
                "error[E0308]: mismatched types",
            ),
            ("bash: foo: command not found", "bash: foo: command not found"),
            (
                "E       AssertionError: assert 1 == 2\nFAILED a.py::test_x - Ass...",
                "AssertionError: assert 1 == 2",
            ),
            (
                "E       assert 'a' in 'b'\nE        +  where 'b' = f()",
                "assert 'a' in 'b'",
            ),
            (
                "# pkg\nx/a.go:12:3: undefined: Foo\nFAIL\tpkg [build failed]",
                "x/a.go:12:3: undefined: Foo",
            ),
            (
                "--- FAIL: TestA (0.1s)\n    a_test.go:12: got 3 items\nFAIL",
                "a_test.go:12: got 3 items",
            ),
            (
                "    a_test.go:9: Phase 1: create it\n    a_test.go:12: got 3 items\n    a_test.go:15: cleaning up\nFAIL",
                "a_test.go:12: got 3 items",
            ),
            (
                "    a_test.go:9: \n  Error Trace:\ta_test.go:9\n  Error:\tShould be true",
                "Error:\tShould be true",
            ),
            (
                "cli/a.go:3:1: func too long (funlen)",
                "cli/a.go:3:1: func too long (funlen)",
            ),
            (
                "  1) test adds (MathTest)\n** (RuntimeError) boom\n",
                "** (RuntimeError) boom",
            ),
            (
                "src/a.ts(3,5): error TS2322: Type 'x'",
                "src/a.ts(3,5): error TS2322: Type 'x'",
            ),
            (
                "thread 'a' panicked at src/a.rs:1:2:\nindex out of bounds\nerror: test failed",
                "index out of bounds",
            ),
            (
                "./run.sh: line 3: syntax error near `fi'\nmake: *** [x] Error 2",
                "./run.sh: line 3: syntax error near `fi'",
            ),
        ] {
            assert_eq!(
                find(output).map(|error| error.line).as_deref(),
                Some(wanted),
                "{output}"
            );
        }
        for output in ["all is well", "a.py:3:import os", "notes.md:4: see the plan"] {
            assert_eq!(find(output), None, "{output}");
        }
    }

    #[test]
    fn an_error_has_the_same_key_in_every_run() {
        let key = |line: &str| find(line).unwrap().key;
        assert_eq!(
            key("error: cannot open /home/a/x/b.db: 13"),
            key("error: cannot open /tmp/q/b.db: 7")
        );
        assert_ne!(key("ValueError: a"), key("ValueError: b"));
    }
}
