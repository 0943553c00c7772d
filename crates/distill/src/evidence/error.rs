//! Finds the most specific error line of an output, and its normalized form.

use crate::ErrorSignature;

/// Lines beyond this are cut: an error line is read by people.
const MAX_LINE: usize = 240;

/// Only the ends of a long output are searched.
const MAX_HEAD: usize = 4 * 1024;
const MAX_TAIL: usize = 12 * 1024;

/// Returns the most specific error line of an output.
pub(super) fn find(output: &str) -> Option<ErrorSignature> {
    let mut best: Option<(Rank, &str)> = None;
    for line in ends(output).into_iter().flat_map(str::lines) {
        let line = line.trim();
        let Some(rank) = rank(line) else { continue };
        let is_better = best.is_none_or(|(kept, _)| {
            // Compilers print the cause first, tracebacks last.
            rank > kept || (rank == kept && rank == Rank::Exception)
        });
        if is_better {
            best = Some((rank, line));
        }
    }
    let (_, line) = best?;
    let line = line.strip_prefix("E ").map_or(line, str::trim_start);
    let line = cut(line, MAX_LINE);
    Some(ErrorSignature {
        key: normalized(line),
        line: line.to_owned(),
    })
}

/// How much a line says about the cause, from least to most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// `FAIL: TestX`, `2 errors`.
    Name,
    /// `No such file or directory`, `command not found`.
    System,
    /// `error: …`, `fatal: …`.
    Message,
    /// `ValueError: …`, `panicked at …`, an assertion.
    Exception,
    /// `error[E0308]: …`, `a.go:12:3: …`, `src/a.ts(3,5): error TS2322`.
    Located,
}

fn rank(line: &str) -> Option<Rank> {
    if line.len() < 5 || line.len() > 2000 {
        return None;
    }
    let lower = cut(line, 200).to_ascii_lowercase();
    if lower.starts_with("error[") || lower.contains("): error ts") || is_located(line, &lower) {
        return Some(Rank::Located);
    }
    let body = line.strip_prefix("E ").map_or(line, str::trim_start);
    if is_exception(body)
        || lower.contains("panicked at")
        || lower.starts_with("panic:")
        || lower.starts_with("** (")
    {
        return Some(Rank::Exception);
    }
    let starts = [
        "error:",
        "fatal:",
        "error ",
        "npm err!",
        "npm error",
        "assertion ",
        "err:",
        "e:",
        "fatal error",
        "make: ***",
        "failure:",
        "could not ",
        "cannot ",
        "unable to ",
        "failed to ",
    ];
    if starts.iter().any(|start| lower.starts_with(start)) && !lower.starts_with("error summary") {
        return Some(Rank::Message);
    }
    let system = [
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
        "undefined:",
        "segmentation fault",
    ];
    if system.iter().any(|words| lower.contains(words)) {
        return Some(Rank::System);
    }
    let names = [
        "FAILED ", "--- FAIL", "FAIL\t", "FAIL ", "FAIL:", "ERROR:", "ERROR ", "not ok ",
    ];
    (names.iter().any(|start| line.starts_with(start))).then_some(Rank::Name)
}

/// `path/to/a.go:12:3: message`, with a word that tells it from output of `grep -n`.
fn is_located(line: &str, lower: &str) -> bool {
    let Some((path, rest)) = line.split_once(':') else {
        return false;
    };
    let has_file = path.contains('.') && !path.contains(' ') && path.len() < 160;
    let number = rest.split(':').next().unwrap_or_default();
    let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    let says = [
        "error",
        "undefined",
        "cannot use",
        "expected",
        "not used",
        "declared and not",
        "missing",
        "undeclared",
        "mismatch",
        "unexpected",
        "invalid",
        "imported and not",
        "does not",
        "has no",
        "unresolved",
        "no such",
        "too many",
        "not enough",
    ];
    has_file && is_number && says.iter().any(|words| lower.contains(words))
}

/// `SomeError: words`, with or without a module in front.
fn is_exception(line: &str) -> bool {
    let end = line.find([':', ' ', '(']).unwrap_or(0);
    let (name, rest) = line.split_at(end);
    let ends = ["Error", "Exception", "Interrupt", "NotFound", "Failure"];
    ends.iter().any(|ending| name.ends_with(ending))
        && name.len() > 5
        && name.starts_with(|c: char| c.is_alphabetic())
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '.' | '_'))
        && rest.starts_with([':', '('])
}

/// Replaces the parts of an error line that change from run to run: numbers, addresses, paths to the last part, quoted hex.
fn normalized(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for word in line.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        // The file counts, not the folder it is in on this machine.
        let start = word.find(|c: char| c.is_alphanumeric() || c == '/').unwrap_or(0);
        let (open, word) = word.split_at(start);
        out.push_str(open);
        let word = if word.matches('/').count() >= 2 {
            word.rsplit('/').next().unwrap_or(word)
        } else {
            word
        };
        let mut in_number = false;
        for c in word.chars() {
            if c.is_ascii_digit() {
                if !in_number {
                    out.push('0');
                }
                in_number = true;
            } else {
                in_number = false;
                out.extend(c.to_lowercase());
            }
        }
    }
    out
}

/// Returns a text of at most so many bytes.
pub(super) fn cut(text: &str, max: usize) -> &str {
    let mut end = max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Returns both ends of a long output, or all of a short one.
fn ends(output: &str) -> Vec<&str> {
    if output.len() <= MAX_HEAD + MAX_TAIL {
        return vec![output];
    }
    let mut tail = output.len() - MAX_TAIL;
    while !output.is_char_boundary(tail) {
        tail += 1;
    }
    vec![cut(output, MAX_HEAD), &output[tail..]]
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
                "# pkg\nx/a.go:12:3: undefined: Foo\nFAIL\tpkg [build failed]",
                "x/a.go:12:3: undefined: Foo",
            ),
            (
                "  1) test adds (MathTest)\n** (RuntimeError) boom\n",
                "** (RuntimeError) boom",
            ),
            (
                "src/a.ts(3,5): error TS2322: Type 'x'",
                "src/a.ts(3,5): error TS2322: Type 'x'",
            ),
        ] {
            assert_eq!(
                find(output).map(|error| error.line).as_deref(),
                Some(wanted),
                "{output}"
            );
        }
        assert_eq!(find("all is well"), None);
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
