//! What was done in a turn, as the tools tell it: edits, runs, reads, commits, and what was taken back.

use backstory_model::relative_path;
use serde_json::Value;

use super::edits::{self, Edit, Fate};
use super::failure;
use super::outcome::{self, Tests};
use super::paths;
use super::shell::{self, Purpose};
use super::text::{code, head, tail};
use super::undo::{self, Undo, Undoing};
use crate::{ToolOutcome, ToolUse, TurnInput, TurnStep};

/// The deeds of a turn.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    /// Changes of files, in order.
    pub(super) edits: Vec<Edit>,
    /// Commands that ran something, in order.
    pub(super) runs: Vec<Run>,
    /// Files that were read, in order, once each.
    pub(super) reads: Vec<String>,
    /// What was searched for.
    pub(super) searches: Vec<String>,
    /// Commits.
    pub(super) commits: Vec<Commit>,
    /// Addresses of pull requests that were opened.
    pub(super) pull_requests: Vec<String>,
    /// What the plan still held at the end.
    pub(super) open_todos: Vec<String>,
    /// How many tools were used.
    pub(super) calls: usize,
}

/// A commit.
#[derive(Clone, Debug)]
pub(super) struct Commit {
    /// Its position in the turn.
    pub(super) step: usize,
    /// The first line of its message.
    pub(super) subject: String,
    /// Its short hash, when git printed it.
    pub(super) hash: Option<String>,
}

impl Commit {
    /// "Committed `0a1b2c3`: `subject`".
    pub(super) fn as_fact(&self) -> String {
        match &self.hash {
            Some(hash) => format!("Committed {} as {}", code(&self.subject), code(hash)),
            None => format!("Committed {}", code(&self.subject)),
        }
    }
}

/// A command that ran something.
#[derive(Clone, Debug)]
pub(super) struct Run {
    /// Its position in the turn.
    pub(super) step: usize,
    /// The id of the tool use.
    pub(super) id: Option<String>,
    /// The sub-agent that ran it.
    pub(super) agent_id: Option<String>,
    /// The command as it is shown.
    pub(super) command: String,
    /// What it was for.
    pub(super) purpose: Purpose,
    /// Whether it failed.
    pub(super) failed: bool,
    /// Counts of tests.
    pub(super) tests: Option<Tests>,
    /// The line that says why it failed.
    pub(super) error: Option<String>,
    /// The end of what it printed.
    pub(super) output: String,
}

const MAX_OUTPUT: usize = 4 * 1024;
const MAX_NOISE: usize = 24;
const MAX_LISTED: usize = 40;

/// Walks through the turn once.
pub(super) fn gather(turn: &TurnInput) -> Evidence {
    let root = turn.root.as_deref();
    let mut evidence = Evidence::default();
    let mut undos = Vec::new();
    let noise = noise(turn);
    for (step, entry) in turn.steps.iter().enumerate() {
        let TurnStep::Tool(tool) = entry else { continue };
        evidence.calls += 1;
        evidence.edits.extend(edits::of(tool, step, root));
        match tool.name.as_str() {
            "Bash" | "bash" | "shell" | "run_shell_command" | "exec" | "local_shell" | "PowerShell" => {
                evidence.command(tool, step, &noise, &mut undos);
            }
            "Read" | "read" | "read_file" | "NotebookRead" => evidence.read(tool, root),
            "Grep" | "Glob" | "grep" | "glob" | "search" => evidence.search(tool),
            "TodoWrite" => evidence.todos(tool),
            _ => {}
        }
    }
    undo::settle(&mut evidence.edits, &undos);
    evidence
}

impl Evidence {
    /// The edits that stand, of the agent itself and its sub-agents.
    pub(super) fn kept(&self) -> impl Iterator<Item = &Edit> {
        self.edits.iter().filter(|edit| edit.fate != Fate::Undone)
    }

    /// The files that are changed at the end of the turn; scratch files only when there is nothing else.
    pub(super) fn modified(&self) -> Vec<String> {
        let mut files: Vec<String> = Vec::new();
        for edit in self.kept() {
            if !files.contains(&edit.path) {
                files.push(edit.path.clone());
            }
        }
        if files.iter().any(|file| !paths::is_scratch(file)) {
            files.retain(|file| !paths::is_scratch(file));
        }
        files
    }

    fn command(&mut self, tool: &ToolUse, step: usize, noise: &[String], undos: &mut Vec<Undo>) {
        let command = command_of(&tool.input);
        let failed_text = match &tool.outcome {
            ToolOutcome::Failed(text) => Some(text.as_str()),
            ToolOutcome::Answered(Value::String(text))
                if text.trim_start().starts_with("Exit code ") || text.starts_with("Error: Exit code ") =>
            {
                Some(text.as_str())
            }
            _ => None,
        };
        if failed_text.is_none() && command.contains("gh pr create") {
            self.pull_requests.extend(pull_request(&output_of(&tool.outcome)));
        }
        let mut main = None;
        for purpose in shell::purposes(&command) {
            let what = match &purpose {
                Purpose::Remove(arguments) => Some(Undoing::Removed(arguments.clone())),
                Purpose::Restore(arguments) => Some(Undoing::Restored(arguments.clone())),
                Purpose::Unstash => Some(Undoing::Unstashed),
                Purpose::Commit(subject) if failed_text.is_none() => {
                    let hash = commit_hash(&output_of(&tool.outcome));
                    self.commits.push(Commit {
                        step,
                        subject: subject.clone(),
                        hash,
                    });
                    None
                }
                _ => None,
            };
            undos.extend(
                what.filter(|_| failed_text.is_none())
                    .map(|what| Undo { step, what }),
            );
            main = Some(stronger(main, purpose));
        }
        let Some(purpose) = main.filter(|purpose| {
            matches!(
                purpose,
                Purpose::Test | Purpose::Build | Purpose::Install | Purpose::Run
            )
        }) else {
            return;
        };
        let output = failed_text.map_or_else(|| output_of(&tool.outcome), str::to_owned);
        let tests = if purpose == Purpose::Test {
            outcome::tests(&output)
        } else {
            None
        };
        let failed = failed_text.is_some() || tests.is_some_and(|tests| tests.failed > 0);
        self.runs.push(Run {
            step,
            id: tool.id.clone(),
            agent_id: tool.agent_id.clone(),
            command: shell::shown(&command),
            purpose,
            failed,
            tests,
            error: if failed {
                failure::signature(&output, noise)
            } else {
                None
            },
            output: tail(&output, MAX_OUTPUT).to_owned(),
        });
    }

    fn read(&mut self, tool: &ToolUse, root: Option<&str>) {
        if matches!(tool.outcome, ToolOutcome::Failed(_)) {
            return;
        }
        let path = ["file_path", "path", "notebook_path"]
            .iter()
            .find_map(|key| tool.input.get(*key))
            .and_then(Value::as_str);
        if let Some(path) = path.map(|path| relative_path(path, root))
            && !path.is_empty()
            && !self.reads.contains(&path)
            && self.reads.len() < MAX_LISTED
        {
            self.reads.push(path);
        }
    }

    fn search(&mut self, tool: &ToolUse) {
        if let Some(pattern) = tool.input.get("pattern").and_then(Value::as_str)
            && tool.name.eq_ignore_ascii_case("grep")
            && !self.searches.iter().any(|known| known == pattern)
            && pattern.len() <= 60
            && self.searches.len() < MAX_LISTED
        {
            self.searches.push(pattern.to_owned());
        }
    }

    fn todos(&mut self, tool: &ToolUse) {
        let Some(todos) = tool.input.get("todos").and_then(Value::as_array) else {
            return;
        };
        self.open_todos = todos
            .iter()
            .filter(|todo| todo.get("status").and_then(Value::as_str) != Some("completed"))
            .filter_map(|todo| todo.get("content").and_then(Value::as_str))
            .map(|content| head(content, 200).to_owned())
            .take(12)
            .collect();
    }
}

/// The hash in git's "[main 0a1b2c3] subject".
fn commit_hash(output: &str) -> Option<String> {
    let line = output.lines().find(|line| line.starts_with('['))?;
    let hash = line.split_once(']')?.0.rsplit(' ').next()?;
    (hash.len() >= 7 && hash.bytes().all(|b| b.is_ascii_hexdigit())).then(|| hash.to_owned())
}

/// The address that `gh pr create` prints.
fn pull_request(output: &str) -> Option<String> {
    let address = output
        .split_whitespace()
        .find(|word| word.starts_with("https://") && word.contains("/pull/"))?;
    (address.len() < 160).then(|| address.to_owned())
}

/// The one of two purposes that a command line is remembered for.
fn stronger(one: Option<Purpose>, other: Purpose) -> Purpose {
    let rank = |purpose: &Purpose| match purpose {
        Purpose::Test => 5,
        Purpose::Build => 4,
        Purpose::Run => 3,
        Purpose::Install => 2,
        _ => 1,
    };
    match one {
        Some(one) if rank(&one) >= rank(&other) => one,
        _ => other,
    }
}

/// The command of a shell tool: a string, or the words of one.
pub(super) fn command_of(input: &Value) -> String {
    match input.get("command").or_else(|| input.get("cmd")) {
        Some(Value::String(command)) => head(command, 8 * 1024).to_owned(),
        Some(Value::Array(words)) => words
            .iter()
            .filter_map(Value::as_str)
            .take(60)
            .collect::<Vec<_>>()
            .join(" "),
        _ => String::new(),
    }
}

/// What a command printed: its end, where results and errors stand, and both streams.
pub(super) fn output_of(outcome: &ToolOutcome) -> String {
    const MAX: usize = 16 * 1024;
    match outcome {
        ToolOutcome::Failed(text) | ToolOutcome::Answered(Value::String(text)) => tail(text, MAX).to_owned(),
        ToolOutcome::Answered(answer) => {
            let stream = |name: &str| answer.get(name).and_then(Value::as_str).unwrap_or_default();
            let (out, err) = (tail(stream("stdout"), MAX), tail(stream("stderr"), MAX / 2));
            if err.is_empty() {
                out.to_owned()
            } else {
                format!("{out}\n{err}")
            }
        }
        ToolOutcome::Unknown | ToolOutcome::Refused(_) => String::new(),
    }
}

/// Error lines that several commands print, successful ones among them: noise of the machine.
fn noise(turn: &TurnInput) -> Vec<String> {
    const SEVERAL: usize = 3;
    let mut seen: Vec<(String, usize, bool)> = Vec::new();
    for entry in &turn.steps {
        let TurnStep::Tool(tool) = entry else { continue };
        let texts = match &tool.outcome {
            ToolOutcome::Answered(Value::Object(answer)) => {
                ["stdout", "stderr"].map(|stream| answer.get(stream).and_then(Value::as_str))
            }
            ToolOutcome::Failed(text) => [Some(text.as_str()), None],
            _ => continue,
        };
        let succeeded = matches!(tool.outcome, ToolOutcome::Answered(_));
        for line in texts.into_iter().flatten().flat_map(failure::error_lines) {
            if let Some((_, count, fine)) = seen.iter_mut().find(|(known, ..)| *known == line) {
                *count += 1;
                *fine |= succeeded;
            } else if seen.len() < MAX_NOISE {
                seen.push((line, 1, succeeded));
            }
        }
    }
    seen.into_iter()
        .filter(|(_, count, fine)| *count >= SEVERAL && *fine)
        .map(|(line, ..)| line)
        .collect()
}
