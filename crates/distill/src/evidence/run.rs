//! Reads a shell command with its result.

use serde_json::Value;

use super::{
    clean::clean,
    error, git, purpose,
    shell::{Joint, Simple},
    text::cut,
    verdict,
};
use crate::{CommandRun, Purpose, RunOutcome, ToolOutcome};

/// A command longer than this is shown by its beginning.
const MAX_COMMAND: usize = 600;

/// Reports whether a tool runs shell commands.
pub(super) fn is_shell(name: &str) -> bool {
    matches!(
        name,
        "Bash"
            | "bash"
            | "shell"
            | "exec"
            | "local_shell"
            | "run_shell_command"
            | "run_terminal_cmd"
            | "terminal"
            | "execute_command"
            | "PowerShell"
    )
}

/// Returns the command of a shell tool: a string, or the words of one.
pub(super) fn command_of(input: &Value) -> String {
    match input.get("command").or_else(|| input.get("cmd")) {
        Some(Value::String(command)) => command.clone(),
        Some(Value::Array(words)) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            match words.as_slice() {
                // `["bash", "-lc", "make test"]`.
                [_, flag, command] if flag.starts_with('-') && flag.ends_with('c') => (*command).to_owned(),
                _ => words.join(" "),
            }
        }
        _ => String::new(),
    }
}

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
    /// Reads the result of a tool call.
    pub(super) fn of(outcome: &ToolOutcome) -> Self {
        let mut output = Self::read(outcome);
        output.text = without_notes(&clean(&output.text)).to_owned();
        output
    }

    fn read(outcome: &ToolOutcome) -> Self {
        match outcome {
            // The host's own error, such as a call that was cancelled with its siblings: the command did not run.
            ToolOutcome::Failed(text) if text.trim_start().starts_with("<tool_use_error>") => Self::default(),
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

/// Removes the note that the host appends after a command that changed the folder.
fn without_notes(text: &str) -> &str {
    let text = text.trim_end();
    match text.rsplit_once('\n') {
        Some((rest, last)) if last.starts_with("Shell cwd was reset to ") => rest.trim_end(),
        None if text.starts_with("Shell cwd was reset to ") => "",
        _ => text,
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
        error: if failed {
            error::find(&output.text).or_else(|| error::only_line(&output.text))
        } else {
            None
        },
        result_line: result_line(parts, purpose, output),
        changed_files: changed_files(parts, output),
    })
}

/// Returns the files that a `git status` of the whole working tree listed.
fn changed_files(parts: &[Simple<'_>], output: &Output) -> Option<Vec<String>> {
    let [status] = parts else { return None };
    let ("status", arguments) = git::subcommand(status) else {
        return None;
    };
    let is_whole = git::folder(status).is_none() && arguments.iter().all(|word| word.starts_with('-'));
    let is_known = status.program() == "git" && is_whole && output.status == Some(true);
    is_known
        .then(|| verdict::changed_files(&output.text, arguments.iter().any(|word| is_short_status(word))))
        .flatten()
}

/// Recognizes the options that print one line per file.
fn is_short_status(word: &str) -> bool {
    matches!(word, "-s" | "--short" | "--porcelain" | "-sb")
}

fn result_line(parts: &[Simple<'_>], purpose: Purpose, output: &Output) -> Option<String> {
    if matches!(purpose, Purpose::Test | Purpose::Build | Purpose::Lint) {
        return verdict::summary_line(&output.text);
    }
    // The output of other commands would be counted too.
    let mut telling = parts.iter().filter(|part| purpose::of(part).is_some());
    let status = telling
        .next()
        .filter(|_| telling.next().is_none() && output.status == Some(true))?;
    let line = tree_state(status, &output.text)?;
    (!line.is_empty()).then_some(line)
}

/// Returns the state of the working tree if a command is `git status`.
fn tree_state(command: &Simple<'_>, output: &str) -> Option<String> {
    let ("status", arguments) = git::subcommand(command) else {
        return None;
    };
    (command.program() == "git")
        .then(|| verdict::tree_state(output, arguments.iter().any(|word| is_short_status(word))))
}

/// Judges the result. The exit code decides unless a pipe or a later command hides it; then the output must say so.
fn judge(parts: &[Simple<'_>], purpose: Purpose, output: &Output) -> RunOutcome {
    let is_check = matches!(purpose, Purpose::Test | Purpose::Build | Purpose::Lint);
    match output.status {
        None => RunOutcome::Unknown,
        _ if output.unfinished || never_ran(parts, output) => RunOutcome::Unknown,
        Some(false) => RunOutcome::Failed,
        Some(true) if is_check && hides_status(parts) => match verdict::of(&output.text) {
            Some(true) => RunOutcome::Passed,
            Some(false) => RunOutcome::Failed,
            None => RunOutcome::Unknown,
        },
        Some(true) => RunOutcome::Passed,
    }
}

/// Reports whether the change of folder before a command failed: `cd: no such file or directory: x`.
fn never_ran(parts: &[Simple<'_>], output: &Output) -> bool {
    let changes_folder = parts.iter().any(|part| part.program() == "cd");
    let mut lines = output.text.lines().filter(|line| !line.trim().is_empty());
    let only = lines.next().filter(|_| lines.next().is_none());
    changes_folder
        && output.status == Some(false)
        && only.is_some_and(|line| {
            let lower = line.to_ascii_lowercase();
            lower.contains("cd:") && lower.contains("no such file or directory")
        })
}

/// Says whether a check may fail without the exit code showing it: before a pipe, `;`, `||` or `&`.
fn hides_status(parts: &[Simple<'_>]) -> bool {
    let sets = |option: &str| {
        let is_set = |part: &Simple<'_>| {
            part.program() == "set" && part.arguments().iter().any(|word| word.contains(option))
        };
        parts.iter().any(is_set)
    };
    let (has_pipefail, has_errexit) = (sets("pipefail"), sets("e"));
    parts.iter().enumerate().any(|(index, part)| {
        let is_check = matches!(
            purpose::of(part),
            Some(Purpose::Test | Purpose::Build | Purpose::Lint)
        );
        is_check
            && match parts.get(index + 1).map(|next| next.joint) {
                Some(Joint::Pipe) => !has_pipefail,
                Some(Joint::Sequence) => !has_errexit,
                Some(Joint::Or) => true,
                _ => false,
            }
    })
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
    });
    let is_missing = |part: &Simple<'_>| missing.is_some_and(|program| part.program() == program);
    let blamed = verdict::blamed_task(&output.text);
    let is_blamed =
        |part: &Simple<'_>| blamed.is_some_and(|task| part.words.last().is_some_and(|word| word == task));
    let failure = verdict::kind_of_failure(&output.text);
    let is_kind =
        |part: &Simple<'_>| failure.is_some() && purpose::of(part) == failure && !purpose::is_formatter(part);
    only(&candidates, is_missing)
        .or_else(|| only(&candidates, is_blamed))
        .or_else(|| only(&candidates, is_kind))
        .map(shown_part)
}

/// Returns the one command that fits a condition.
fn only<'p, 'c>(parts: &[&'p Simple<'c>], fits: impl Fn(&Simple<'c>) -> bool) -> Option<&'p Simple<'c>> {
    let mut found = parts.iter().filter(|part| fits(part));
    found.next().filter(|_| found.next().is_none()).copied()
}

/// Returns the command line without change of folder, environment and text that is only printed; for checks also without
/// the filters that shorten their output, so that the same check has the same command line.
fn shown(parts: &[Simple<'_>], purpose: Purpose) -> String {
    let mut out = String::new();
    for part in parts {
        let is_first = out.is_empty();
        let prepares = match part.program() {
            "cd" => is_first,
            program => matches!(
                program,
                "" | "export" | "set" | "source" | "." | "echo" | "printf" | "true" | "sleep" | ":"
            ),
        };
        let shortens = part.joint == Joint::Pipe && purpose != Purpose::Inspect && is_filter(part);
        if prepares || shortens || (purpose != Purpose::Inspect && writes_text(part)) {
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
    cut(&out, MAX_COMMAND).to_owned()
}

/// Returns a simple command on one line, without assignments, redirected errors and here documents.
fn shown_part(part: &Simple<'_>) -> String {
    let mut source = part.source;
    // Leading assignments and wrappers are no words of the command: show it from its first word on.
    if let Some(at) = part.words.first().and_then(|word| source.find(word.as_str())) {
        source = &source[at..];
    }
    let is_continued = |line: &str| line.ends_with('\\');
    let mut out = String::new();
    for line in source.lines() {
        out.push_str(line.trim_end_matches('\\').trim());
        if !is_continued(line) {
            break;
        }
        out.push(' ');
    }
    let mut end = out.len();
    for noise in [" 2>", " <<"] {
        end = end.min(out.find(noise).unwrap_or(end));
    }
    out.truncate(end);
    // A text of several lines opens a quote that this line does not close.
    for quote in ['\'', '"'] {
        if out.matches(quote).count() % 2 == 1
            && source.contains('\n')
            && let Some(at) = out.rfind(quote)
        {
            out.truncate(at);
        }
    }
    out.truncate(out.trim_end().len());
    out
}

/// `cat > a.py <<EOF`: logged as a change of the file.
fn writes_text(part: &Simple<'_>) -> bool {
    part.heredoc.is_some() && matches!(part.program(), "cat" | "tee")
}

fn is_filter(part: &Simple<'_>) -> bool {
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
        for (command, output, wanted) in [
            (
                "mise run fmt && mise run lint",
                "a.go:3:1: func too long (funlen)\n1 issues:\n* funlen: 1",
                Some("mise run lint"),
            ),
            (
                "make lint && make check",
                "make: *** [Makefile:9: lint] Error 1",
                Some("make lint"),
            ),
            (
                "npm run lint && npm test",
                "Tests:       1 failed, 5 passed, 6 total",
                Some("npm test"),
            ),
            ("mix format && mix credo && mix test", "** (Mix) boom", None),
        ] {
            let part = run(command, &failed(&format!("Exit code 1\n{output}"))).failed_part;
            assert_eq!(part.as_deref(), wanted, "{command}");
        }
    }

    #[test]
    fn a_command_that_never_ran_did_not_fail() {
        for (command, output) in [
            (
                "cargo test",
                "<tool_use_error>Sibling tool call errored</tool_use_error>",
            ),
            (
                "cd app && npm test",
                "(eval):cd:1: no such file or directory: app",
            ),
            (
                "cd app && npm test",
                "Exit code 1\nbash: line 1: cd: app: No such file or directory",
            ),
        ] {
            assert_eq!(
                run(command, &ToolOutcome::Failed(output.into())).outcome,
                RunOutcome::Unknown,
                "{output}"
            );
        }
    }

    #[test]
    fn an_interrupted_command_has_no_result() {
        let outcome = ToolOutcome::Answered(json!({"stdout": "", "interrupted": true}));
        assert_eq!(run("cargo test", &outcome).outcome, RunOutcome::Unknown);
    }

    #[test]
    fn a_command_is_shown_without_its_noise() {
        for (command, wanted) in [
            ("cd a && FOO=1 timeout 60 pytest -q 2>&1 | tail -20", "pytest -q"),
            ("python3 - <<'EOF'\nprint(1)\nEOF", "python3 -"),
            ("python3 -c \"\nprint(1)\n\"", "python3 -c"),
            ("echo start; cargo build && echo done", "cargo build"),
            ("go test \\\n  ./... -run X", "go test ./... -run X"),
            ("make -C a && cd b && make", "make -C a && cd b && make"),
            ("ls | head -3", "ls | head -3"),
            ("cat > t.py <<'EOF'\nprint(1)\nEOF\npython3 t.py", "python3 t.py"),
        ] {
            assert_eq!(run(command, &printed("")).command, wanted, "{command}");
        }
    }

    #[test]
    fn notes_of_the_host_are_no_output() {
        let outcome = printed("ok\nShell cwd was reset to /w/app");
        assert_eq!(Output::of(&outcome).text, "ok");
    }
}
