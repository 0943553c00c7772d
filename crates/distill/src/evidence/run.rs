//! Reads a shell command with its result.

use serde_json::Value;

use super::{
    error, purpose,
    shell::{Joint, Simple},
};
use crate::{CommandRun, Purpose, RunOutcome, ToolOutcome};

/// A command longer than this is shown by its beginning.
const MAX_COMMAND: usize = 600;

/// The result of a tool call that ran a command.
#[derive(Debug, Default)]
pub(super) struct Output {
    /// Everything printed.
    pub(super) text: String,
    /// The host's verdict: passed, failed, or none.
    pub(super) status: Option<bool>,
    /// Set when the command was stopped, or goes on in the background.
    pub(super) unfinished: bool,
}

impl Output {
    pub(super) fn of(outcome: &ToolOutcome) -> Self {
        match outcome {
            ToolOutcome::Failed(text) => {
                let unfinished =
                    text.contains("Command timed out") || text.contains("[Request interrupted by user");
                Self {
                    text: without_exit_code(text).to_owned(),
                    status: Some(false),
                    unfinished,
                }
            }
            ToolOutcome::Answered(Value::String(text)) => Self {
                text: text.clone(),
                status: Some(true),
                unfinished: false,
            },
            ToolOutcome::Answered(answer) => Self::structured(answer),
            ToolOutcome::Refused(_) | ToolOutcome::Unknown => Self::default(),
        }
    }

    fn structured(answer: &Value) -> Self {
        let text = |name: &str| answer.get(name).and_then(Value::as_str).unwrap_or_default();
        let is = |name: &str| answer.get(name).and_then(Value::as_bool).unwrap_or(false);
        let (out, err) = (text("stdout"), text("stderr"));
        let out = if out.is_empty() { text("output") } else { out };
        let joined = match (out.is_empty(), err.is_empty()) {
            (_, true) => out.to_owned(),
            (true, false) => err.to_owned(),
            (false, false) => format!("{}\n{err}", out.trim_end()),
        };
        let code = ["exitCode", "exit_code", "returnCode"]
            .iter()
            .find_map(|name| answer.get(*name)?.as_i64());
        let is_background = answer.get("backgroundTaskId").is_some_and(|id| !id.is_null());
        // `grep` without a match ends with 1, which the host explains: it did what it was asked to.
        Self {
            text: joined,
            status: Some(code.is_none_or(|code| code == 0)),
            unfinished: is("interrupted") || is_background,
        }
    }
}

/// Removes the line `Exit code 1` with which the host starts the text of a failure.
fn without_exit_code(text: &str) -> &str {
    let rest = text.strip_prefix("Error: ").unwrap_or(text);
    let Some(rest) = rest.strip_prefix("Exit code ") else {
        return text;
    };
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    rest[digits..].trim_start()
}

/// Reads a command; none when it only prepares others.
pub(super) fn read(parts: &[Simple<'_>], output: &Output) -> Option<CommandRun> {
    let purpose = purpose::of_all(parts)?;
    let outcome = judge(parts, purpose, output);
    let failed = outcome == RunOutcome::Failed;
    Some(CommandRun {
        command: shown(parts, purpose),
        purpose,
        outcome,
        failed_part: if failed { failed_part(parts, output) } else { None },
        error: if failed { error::find(&output.text) } else { None },
        result_line: if matches!(purpose, Purpose::Test | Purpose::Build | Purpose::Lint) {
            summary_line(&output.text)
        } else {
            None
        },
    })
}

/// Judges the result. The exit code decides unless a pipe or a later command hides it; then the output must say so.
fn judge(parts: &[Simple<'_>], purpose: Purpose, output: &Output) -> RunOutcome {
    match output.status {
        None => RunOutcome::Unknown,
        _ if output.unfinished => RunOutcome::Unknown,
        Some(false) => RunOutcome::Failed,
        Some(true) => {
            let is_check = matches!(purpose, Purpose::Test | Purpose::Build | Purpose::Lint);
            if !is_check {
                return RunOutcome::Passed;
            }
            match verdict(&output.text) {
                Some(false) => RunOutcome::Failed,
                Some(true) => RunOutcome::Passed,
                None if hides_status(parts) => RunOutcome::Unknown,
                None => RunOutcome::Passed,
            }
        }
    }
}

/// Says whether a check fails without the exit code showing it: before a pipe, `;`, `||` or `&`.
fn hides_status(parts: &[Simple<'_>]) -> bool {
    let has_pipefail = parts
        .iter()
        .any(|part| part.program() == "set" && part.words.iter().any(|word| word == "pipefail"));
    parts.iter().enumerate().any(|(index, part)| {
        let is_check = matches!(
            purpose::of(part),
            Some(Purpose::Test | Purpose::Build | Purpose::Lint)
        );
        let next = parts.get(index + 1).map(|next| next.joint);
        is_check
            && match next {
                Some(Joint::Pipe) => !has_pipefail,
                Some(Joint::Sequence | Joint::Or) => true,
                _ => false,
            }
    })
}

/// Reads the verdict that test runners and compilers print.
fn verdict(output: &str) -> Option<bool> {
    let mut passed = None;
    for line in tail(output, 16 * 1024).lines() {
        let line = line.trim();
        if is_failure(line) {
            return Some(false);
        }
        if is_success(line) {
            passed = Some(true);
        }
    }
    passed
}

fn is_failure(line: &str) -> bool {
    let starts = [
        "FAIL\t",
        "--- FAIL",
        "FAILED (",
        "test result: FAILED",
        "error: could not compile",
        "error: test failed",
        "FAIL ",
        "BUILD FAILED",
        "make: ***",
        "error: aborting",
        "error[E",
        "npm ERR!",
        "[ERROR] BUILD FAILURE",
        "Build FAILED",
        "Test Run Failed",
        "panic: ",
        "Traceback (most recent call last)",
        "✗ ",
        "ELIFECYCLE",
    ];
    line == "FAIL"
        || starts.iter().any(|start| line.starts_with(start))
        || line.contains(": error TS")
        || counts(line).is_some_and(|counts| counts.failed > 0)
}

fn is_success(line: &str) -> bool {
    let starts = [
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
        "0 issues",
        "OK (",
    ];
    line == "OK"
        || starts.iter().any(|start| line.starts_with(start))
        || counts(line).is_some_and(|counts| counts.failed == 0)
}

struct Counts {
    failed: u32,
}

/// Reads `12 passed, 1 failed`, `3 tests, 0 failures`, `Tests: 2 failed, 5 passed`.
fn counts(line: &str) -> Option<Counts> {
    let line = line.trim_matches(['=', ' ', '-', '─']);
    let is_summary = line.len() < 160
        && (line.starts_with(|c: char| c.is_ascii_digit())
            || [
                "Tests:",
                "Tests ",
                "Test Suites:",
                "Summary",
                "test result:",
                "OK (",
                "Passed!",
                "Failed!",
            ]
            .iter()
            .any(|start| line.starts_with(start)));
    if !is_summary {
        return None;
    }
    let (mut seen, mut failed, mut number) = (false, 0u32, None);
    for word in line
        .split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '(' | ')' | '|' | ':' | '.'))
        .filter(|word| !word.is_empty())
    {
        if let Ok(value) = word.parse::<u32>() {
            number = Some(value);
            continue;
        }
        let Some(count) = number.take() else { continue };
        match word {
            "passed" | "passing" | "pass" | "examples" | "tests" | "test" | "doctests" | "run" => seen = true,
            "failed" | "failing" | "error" | "errors" | "failures" | "failure" | "fail" => {
                seen = true;
                failed = failed.saturating_add(count);
            }
            _ => {}
        }
    }
    seen.then_some(Counts { failed })
}

/// Returns the line that sums up the output of a check.
fn summary_line(output: &str) -> Option<String> {
    let lines = tail(output, 8 * 1024)
        .lines()
        .rev()
        .map(|line| line.trim().trim_matches('=').trim());
    let is_telling = |line: &&str| {
        counts(line).is_some()
            || line.starts_with("test result:")
            || line.starts_with("BUILD ")
            || line.starts_with("Ran ")
    };
    let fallback =
        |line: &&str| line.starts_with("ok ") || line.starts_with("FAIL") || line.starts_with("Finished ");
    let found = lines
        .clone()
        .find(is_telling)
        .or_else(|| lines.clone().find(fallback))?;
    Some(error::cut(found, 200).to_owned())
}

/// Returns the one command that failed, if that is certain.
fn failed_part(parts: &[Simple<'_>], output: &Output) -> Option<String> {
    let candidates: Vec<&Simple<'_>> = parts.iter().filter(|part| purpose::of(part).is_some()).collect();
    if let [only] = candidates.as_slice() {
        return Some(shown_part(only));
    }
    // `bash: line 1: foo: command not found` names the program.
    let missing = output.text.lines().find_map(|line| {
        let before = line.trim().strip_suffix(": command not found")?;
        before.rsplit(": ").next()
    })?;
    let mut named = candidates.into_iter().filter(|part| part.program() == missing);
    match (named.next(), named.next()) {
        (Some(part), None) => Some(shown_part(part)),
        _ => None,
    }
}

/// Returns the command line without change of folder, environment and, for checks, without what only shortens the output.
fn shown(parts: &[Simple<'_>], purpose: Purpose) -> String {
    let mut out = String::new();
    for part in parts {
        let is_first = out.is_empty();
        if is_first && matches!(part.program(), "" | "cd" | "export" | "set" | "source" | ".") {
            continue;
        }
        if part.joint == Joint::Pipe && purpose != Purpose::Inspect && is_shortener(part) {
            continue;
        }
        if !is_first {
            out.push_str(match part.joint {
                Joint::And => " && ",
                Joint::Or => " || ",
                Joint::Pipe => " | ",
                Joint::Sequence | Joint::Start => "; ",
            });
        }
        out.push_str(&shown_part(part));
        if out.len() > MAX_COMMAND {
            break;
        }
    }
    error::cut(&out, MAX_COMMAND).to_owned()
}

fn shown_part(part: &Simple<'_>) -> String {
    let mut source = part.source;
    // Leading assignments and wrappers are not part of the words: show from the first word on.
    if let Some(at) = part.words.first().and_then(|word| source.find(word.as_str())) {
        source = &source[at..];
    }
    let line = source.split('\n').next().unwrap_or_default();
    let line = line.split(" 2>").next().unwrap_or(line);
    line.trim_end().to_owned()
}

fn is_shortener(part: &Simple<'_>) -> bool {
    matches!(
        part.program(),
        "head"
            | "tail"
            | "grep"
            | "less"
            | "cat"
            | "sort"
            | "wc"
            | "tee"
            | "egrep"
            | "rg"
            | "sed"
            | "awk"
            | "uniq"
            | "cut"
    )
}

fn tail(text: &str, max: usize) -> &str {
    let mut start = text.len().saturating_sub(max);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

#[cfg(test)]
mod tests {
    use super::super::shell::parse;
    use super::*;
    use serde_json::json;

    fn run(command: &str, outcome: &ToolOutcome) -> CommandRun {
        read(&parse(command), &Output::of(outcome)).unwrap()
    }

    fn printed(text: &str) -> ToolOutcome {
        ToolOutcome::Answered(json!({"stdout": text, "stderr": "", "interrupted": false}))
    }

    #[test]
    fn a_pipe_hides_the_exit_code_so_the_output_decides() {
        for (output, wanted) in [
            ("ok  \tx/store\t0.3s", RunOutcome::Passed),
            ("--- FAIL: TestX (0.00s)\nFAIL", RunOutcome::Failed),
            ("some lines", RunOutcome::Unknown),
        ] {
            let run = run("cd x && go test ./... 2>&1 | tail -5", &printed(output));
            assert_eq!(
                (run.outcome, run.command.as_str()),
                (wanted, "go test ./..."),
                "{output}"
            );
        }
        assert_eq!(run("go test ./...", &printed("")).outcome, RunOutcome::Passed);
    }

    #[test]
    fn what_failed_is_named_only_when_it_is_certain() {
        let failed = |text: &str| ToolOutcome::Failed(text.into());
        let one = run(
            "cd x && cargo test -p a",
            &failed("Exit code 101\nerror[E0308]: mismatched types"),
        );
        assert_eq!(one.failed_part.as_deref(), Some("cargo test -p a"));
        assert_eq!(
            one.error.map(|error| error.line).as_deref(),
            Some("error[E0308]: mismatched types")
        );
        let two = run(
            "sudo apt-get install -y gcc && cargo test",
            &failed("Exit code 100\nE: Unable to locate"),
        );
        assert_eq!((two.failed_part, two.purpose), (None, Purpose::Test));
        let missing = run(
            "tool-x --fix && cargo test",
            &failed("Exit code 127\nbash: tool-x: command not found"),
        );
        assert_eq!(missing.failed_part.as_deref(), Some("tool-x --fix"));
    }

    #[test]
    fn the_line_that_sums_up_is_kept() {
        for (output, wanted) in [
            (
                "a\n==== 1 failed, 28 passed in 1.68s ====\n",
                "1 failed, 28 passed in 1.68s",
            ),
            (
                "test result: ok. 3 passed; 0 failed; 1 ignored",
                "test result: ok. 3 passed; 0 failed; 1 ignored",
            ),
            ("Finished in 0.1s\n12 tests, 0 failures\n", "12 tests, 0 failures"),
        ] {
            assert_eq!(
                run("make test", &printed(output)).result_line.as_deref(),
                Some(wanted)
            );
        }
    }

    #[test]
    fn an_interrupted_command_has_no_result() {
        let outcome = ToolOutcome::Answered(json!({"stdout": "", "interrupted": true}));
        assert_eq!(run("cargo test", &outcome).outcome, RunOutcome::Unknown);
    }
}
