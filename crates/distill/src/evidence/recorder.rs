//! Walks through the steps of a turn and writes items and log entries.

use std::borrow::Cow;

use backstory_model::{EvidenceItem, EvidenceKind};
use serde_json::Value;

use super::{
    TurnEvidence,
    clean::clean,
    content,
    edit::{self, Edit},
    error, files, git, path, prose, publication, run, shell, statement,
};
use crate::{
    Action, ChangeKind, FileChange, LogEntry, RunOutcome, ToolOutcome, ToolUse, TurnEnd, TurnInput, TurnLog,
    TurnStep,
};

/// The beginning of a file or search result that is kept: the repository has the rest.
const MAX_LOOKUP: usize = 600;

pub(super) fn record(turn: &TurnInput) -> TurnEvidence {
    let mut recorder = Recorder::new(turn);
    let last = last_message(turn);
    for (index, step) in turn.steps.iter().enumerate() {
        recorder.step(step, last == Some(LastMessage::Step(index)));
    }
    if last == Some(LastMessage::Extra) {
        let text = turn.last_message.as_deref().unwrap_or_default();
        recorder.report(text);
    }
    recorder.finish()
}

/// The place of the turn's last message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LastMessage {
    /// This step has it.
    Step(usize),
    /// Only the hook has it.
    Extra,
}

fn last_message(turn: &TurnInput) -> Option<LastMessage> {
    let known = turn
        .last_message
        .as_deref()
        .map(str::trim)
        .filter(|text| !text.is_empty());
    let is_same = |step: &TurnStep| matches!((step, known), (TurnStep::Prose(text), Some(known)) if text.trim() == known);
    if known.is_some() {
        let found = turn.steps.iter().rposition(is_same);
        return Some(found.map_or(LastMessage::Extra, LastMessage::Step));
    }
    if turn.end == TurnEnd::Open {
        return None;
    }
    let (index, step) = turn
        .steps
        .iter()
        .enumerate()
        .rev()
        .find(|(_, step)| !matches!(step, TurnStep::Interrupted))?;
    matches!(step, TurnStep::Prose(_)).then_some(LastMessage::Step(index))
}

struct Recorder<'t> {
    turn: &'t TurnInput,
    items: Vec<EvidenceItem>,
    entries: Vec<LogEntry>,
    /// The last sentence of the agent's prose.
    intent: Option<String>,
    at_ms: i64,
}

impl<'t> Recorder<'t> {
    fn new(turn: &'t TurnInput) -> Self {
        Self {
            turn,
            items: Vec::new(),
            entries: Vec::new(),
            intent: None,
            at_ms: turn.started_ms,
        }
    }

    fn finish(self) -> TurnEvidence {
        let turn = self.turn;
        TurnEvidence {
            items: self.items,
            log: TurnLog {
                number: turn.number,
                prompt: turn.prompt.clone().filter(|_| !turn.machine_made),
                machine_made: turn.machine_made,
                branch: turn.branch.clone(),
                started_ms: turn.started_ms,
                end: turn.end,
                entries: self.entries,
            },
        }
    }

    fn step(&mut self, step: &TurnStep, is_last_message: bool) {
        match step {
            TurnStep::Prose(text) if is_last_message => self.report(text),
            TurnStep::Prose(text) => {
                let text = clean(text).trim().to_owned();
                if !text.is_empty() {
                    self.statement(EvidenceKind::Prose, &text, Action::Prose(text.clone()));
                    self.intent = prose::last_sentence(&text);
                }
            }
            TurnStep::Tool(tool) => self.tool(tool),
            TurnStep::SubAgent {
                agent_id,
                agent_type,
                report,
            } => {
                self.subagent(agent_id.as_deref(), agent_type.clone(), report);
            }
            TurnStep::Compaction(text) => {
                let text = clean(text).trim().to_owned();
                if !text.is_empty() {
                    self.statement(EvidenceKind::Compaction, &text, Action::Compaction(text.clone()));
                }
                self.intent = None;
            }
            TurnStep::UserMessage(text) => {
                let text = clean(text).trim().to_owned();
                if !text.is_empty() {
                    self.statement(
                        EvidenceKind::UserMessage,
                        &text,
                        Action::UserMessage(text.clone()),
                    );
                }
            }
            TurnStep::Interrupted => self.entry(None, None, Action::Interrupted),
        }
    }

    fn report(&mut self, text: &str) {
        let text = clean(text).trim().to_owned();
        if !text.is_empty() {
            self.statement(EvidenceKind::Report, &text, Action::Report(text.clone()));
        }
    }

    fn subagent(&mut self, agent_id: Option<&str>, agent_type: Option<String>, report: &str) {
        let text = clean(report).trim().to_owned();
        if text.is_empty() {
            return;
        }
        let item = self.item(EvidenceKind::SubagentReport, text.clone(), None, None);
        self.entries.push(LogEntry {
            at_ms: self.at_ms,
            item: Some(item),
            tool_use_id: None,
            subagent: agent_id.map(ToOwned::to_owned),
            intent: None,
            action: Action::SubagentReport { agent_type, text },
        });
    }

    fn statement(&mut self, kind: EvidenceKind, text: &str, action: Action) {
        let item = self.item(kind, text.to_owned(), None, None);
        self.entry(Some(item), None, action);
    }

    /// Adds an item and returns its position.
    fn item(
        &mut self,
        kind: EvidenceKind,
        text: String,
        path: Option<String>,
        tool: Option<&ToolUse>,
    ) -> u32 {
        let is_own = tool.is_some_and(|tool| tool.agent_id.is_none());
        self.items.push(EvidenceItem {
            kind,
            text,
            intent: self.intent.clone().filter(|_| is_own),
            path,
            tool_use_id: tool.and_then(|tool| tool.id.clone()),
            at_ms: self.at_ms,
        });
        u32::try_from(self.items.len() - 1).unwrap_or(u32::MAX)
    }

    fn entry(&mut self, item: Option<u32>, tool: Option<&ToolUse>, action: Action) {
        let is_own = tool.is_some_and(|tool| tool.agent_id.is_none());
        self.entries.push(LogEntry {
            at_ms: self.at_ms,
            item,
            tool_use_id: tool.and_then(|tool| tool.id.clone()),
            subagent: tool.and_then(|tool| tool.agent_id.clone()),
            intent: self.intent.clone().filter(|_| is_own),
            action,
        });
    }

    fn shown(&self, path: &str) -> String {
        path::shown(path, self.turn.root.as_deref())
    }

    fn tool(&mut self, tool: &ToolUse) {
        if tool.at_ms > 0 {
            self.at_ms = tool.at_ms;
        }
        if let Some(words) = refused(&tool.outcome) {
            self.refusal(tool, words);
            return;
        }
        match tool.name.as_str() {
            "AskUserQuestion" => self.answers(tool),
            "TodoWrite" | "TaskCreate" | "TaskUpdate" => self.tasks(tool),
            "ExitPlanMode" => self.plan(tool),
            "EnterPlanMode" | "TaskList" | "TaskGet" | "ToolSearch" => {}
            "Read" | "NotebookRead" | "read_file" | "view" | "Grep" | "Glob" | "LS" | "grep" | "glob"
            | "ls" | "list_directory" | "search_files" | "find_files" => self.lookup(tool),
            "Task" | "Agent" => self.delegation(tool),
            _ if is_shell(&tool.name) => self.command(tool),
            _ if edit::is_edit_tool(&tool.name) => self.edits(tool),
            _ => self.other(tool),
        }
    }

    fn refusal(&mut self, tool: &ToolUse, words: Option<String>) {
        if tool.name == "ExitPlanMode" {
            self.plan(tool);
        }
        let target = target(tool).map(|target| error::cut(&target, 600).to_owned());
        let target = match target {
            Some(target) if edit::is_edit_tool(&tool.name) => Some(self.shown(&target)),
            other => other,
        };
        let text = match (&target, &words) {
            (Some(target), Some(words)) => format!("Refused {}: {target}\nUser: {words}", tool.name),
            (Some(target), None) => format!("Refused {}: {target}", tool.name),
            (None, Some(words)) => format!("Refused {}\nUser: {words}", tool.name),
            (None, None) => format!("Refused {}", tool.name),
        };
        let item = self.item(EvidenceKind::Refusal, clean(&text).into_owned(), None, Some(tool));
        let action = Action::Refused {
            tool: tool.name.clone(),
            target,
            words,
        };
        self.entry(Some(item), Some(tool), action);
    }

    fn answers(&mut self, tool: &ToolUse) {
        for action in statement::answers(tool) {
            if let Action::UserAnswer { question, answer } = &action {
                let text = format!("{question}\nUser: {answer}");
                let item = self.item(
                    EvidenceKind::UserAnswer,
                    clean(&text).into_owned(),
                    None,
                    Some(tool),
                );
                self.entry(Some(item), Some(tool), action);
            }
        }
    }

    fn tasks(&mut self, tool: &ToolUse) {
        for action in statement::tasks(tool) {
            self.entry(None, Some(tool), action);
        }
    }

    fn plan(&mut self, tool: &ToolUse) {
        if let Some(action) = statement::plan(tool)
            && let Action::Plan { text, .. } = &action
        {
            let text = clean(text).into_owned();
            let item = self.item(EvidenceKind::Plan, text, None, Some(tool));
            self.entry(Some(item), Some(tool), action);
        }
    }

    fn lookup(&mut self, tool: &ToolUse) {
        let named = ["file_path", "path", "notebook_path", "pattern"]
            .iter()
            .find_map(|name| tool.input.get(*name)?.as_str());
        let path = self.shown(named.unwrap_or_default());
        let pattern = tool.input.get("pattern").and_then(Value::as_str);
        let answer = answer_text(&tool.outcome);
        let failed = matches!(tool.outcome, ToolOutcome::Failed(_));
        let beginning = error::cut(&answer, MAX_LOOKUP);
        let head = match pattern {
            Some(pattern) => format!("{} {pattern} in {path}", tool.name),
            None => format!("{} {path}", tool.name),
        };
        let text = clean(&format!("{head}\n{beginning}")).into_owned();
        let kind = if failed {
            EvidenceKind::Error
        } else {
            EvidenceKind::Lookup
        };
        let item = self.item(
            kind,
            text,
            Some(path.clone()).filter(|path| !path.is_empty()),
            Some(tool),
        );
        if !failed && !path.is_empty() {
            self.entry(Some(item), Some(tool), Action::Lookup { path });
        }
    }

    /// The answer of a delegation is the sub-agent's report, unless the sub-agent reported itself.
    fn delegation(&mut self, tool: &ToolUse) {
        let ToolOutcome::Answered(answer) = &tool.outcome else {
            self.other(tool);
            return;
        };
        let id = answer.get("agentId").and_then(Value::as_str);
        let reports_itself = self.turn.steps.iter().any(
            |step| matches!(step, TurnStep::SubAgent { agent_id: Some(agent), .. } if Some(agent.as_str()) == id),
        );
        let is_async = answer.get("isAsync").and_then(Value::as_bool).unwrap_or(false);
        if reports_itself || is_async {
            return;
        }
        let kind = tool
            .input
            .get("subagent_type")
            .and_then(Value::as_str)
            .map(ToOwned::to_owned);
        let text = answer
            .get("content")
            .map_or_else(|| value_text(answer), value_text);
        self.subagent(id, kind, &text);
    }

    fn edits(&mut self, tool: &ToolUse) {
        let edits = edit::of(tool);
        if edits.is_empty() {
            self.failure(tool);
            return;
        }
        for edit in &edits {
            self.edit(tool, edit);
        }
    }

    fn edit(&mut self, tool: &ToolUse, edit: &Edit) {
        let path = self.shown(&edit.path);
        let (kind, text) = match &edit.content {
            Some(content) => (EvidenceKind::File, format!("{path}\n{content}")),
            None => (EvidenceKind::Edit, format!("{path}\n{}", edit.lines.join("\n"))),
        };
        let item = self.item(kind, clean(&text).into_owned(), Some(path.clone()), Some(tool));
        let defines = content::names(&path, edit.added());
        let gone = content::names(&path, edit.removed());
        let change = FileChange {
            scratch: path::is_scratch(&path),
            kind: match (edit.created, edit.deleted) {
                (true, _) => ChangeKind::Created,
                (_, true) => ChangeKind::Deleted,
                _ => ChangeKind::Modified,
            },
            header: edit
                .content
                .as_deref()
                .and_then(|content| content::header(&path, content)),
            values: content::values(&path, edit.added()),
            removes: gone
                .iter()
                .filter(|name| !defines.contains(name))
                .cloned()
                .collect(),
            defines: defines.into_iter().filter(|name| !gone.contains(name)).collect(),
            comments: content::reasons(&path, edit.added()),
            path,
        };
        self.entry(Some(item), Some(tool), Action::Change(change));
    }

    fn command(&mut self, tool: &ToolUse) {
        let command = command_of(&tool.input);
        if command.trim().is_empty() {
            self.other(tool);
            return;
        }
        let output = run::Output::of(&tool.outcome);
        let printed = clean(&output.text);
        let output = run::Output {
            text: printed.into_owned(),
            ..output
        };
        let parts = shell::parse(&command);
        let run = run::read(&parts, &output);
        let failed = output.status == Some(false);
        let commits: Vec<_> = if failed && !output.text.contains("] ") {
            Vec::new()
        } else {
            parts
                .iter()
                .filter_map(|part| git::commit(part, &output.text))
                .collect()
        };
        let mark = match run.as_ref().map(|run| run.outcome) {
            Some(RunOutcome::Failed) => "[failed]",
            Some(RunOutcome::Unknown) => "[unknown]",
            None if failed => "[failed]",
            _ => "[ok]",
        };
        let text = format!("$ {}\n{mark}\n{}", clean(command.trim()), output.text.trim());
        let kind = if mark == "[failed]" {
            EvidenceKind::Error
        } else {
            EvidenceKind::Command
        };
        let item = self.item(kind, text.trim_end().to_owned(), None, Some(tool));
        let is_bookkeeping = !failed
            && parts.iter().all(|part| {
                matches!(part.program(), "git" | "cd" | "echo")
                    && matches!(
                        git::subcommand(part).0,
                        "add" | "commit" | "push" | "status" | "log" | ""
                    )
                    || matches!(part.program(), "cd" | "echo" | "head" | "tail" | "cat")
            })
            && !commits.is_empty();
        if let Some(run) = run.filter(|_| !is_bookkeeping) {
            self.entry(Some(item), Some(tool), Action::Run(run));
        }
        for commit in commits {
            let body = commit
                .body
                .as_deref()
                .map(|body| format!("\n\n{body}"))
                .unwrap_or_default();
            let hash = commit
                .hash
                .as_deref()
                .map(|hash| format!("commit {hash}\n"))
                .unwrap_or_default();
            let text = format!("{hash}{}{body}", commit.subject);
            let item = self.item(EvidenceKind::Commit, clean(&text).into_owned(), None, Some(tool));
            self.entry(Some(item), Some(tool), Action::Commit(commit));
        }
        if failed {
            return;
        }
        let host_edits = edit::of(tool);
        for edit in &host_edits {
            self.edit(tool, edit);
        }
        let mut folder: Option<String> = None;
        for part in &parts {
            if part.program() == "cd" {
                folder = part.words.get(1).map(|to| path::joined(folder.as_deref(), to));
            }
            if let Some(branch) = git::push(part, &output.text) {
                self.entry(Some(item), Some(tool), Action::Push { branch });
            }
            if let Some(publication) = publication::of_command(part, &output.text) {
                self.publication(tool, publication);
            }
            for change in files::of(part) {
                self.shell_change(tool, item, folder.as_deref(), change);
            }
        }
    }

    fn shell_change(
        &mut self,
        tool: &ToolUse,
        command: u32,
        folder: Option<&str>,
        change: files::ShellChange<'_>,
    ) {
        let path = self.shown(&path::joined(folder, &change.path));
        let item = match change.content {
            Some(content) => {
                let text = clean(&format!("{path}\n{content}")).into_owned();
                self.item(EvidenceKind::File, text, Some(path.clone()), Some(tool))
            }
            None => command,
        };
        let lines = || change.content.unwrap_or_default().lines();
        let kind = match change.kind {
            ChangeKind::MovedFrom(from) => ChangeKind::MovedFrom(self.shown(&path::joined(folder, &from))),
            other => other,
        };
        let recorded = FileChange {
            scratch: path::is_scratch(&path),
            header: change.content.and_then(|content| content::header(&path, content)),
            values: content::values(&path, lines()),
            defines: content::names(&path, lines()),
            removes: Vec::new(),
            comments: content::reasons(&path, lines()),
            kind,
            path,
        };
        self.entry(Some(item), Some(tool), Action::Change(recorded));
    }

    fn publication(&mut self, tool: &ToolUse, publication: crate::Publication) {
        let parts = [&publication.reference, &publication.title, &publication.body];
        let text: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
        let text = clean(&text.join("\n")).into_owned();
        let item = self.item(EvidenceKind::Publication, text, None, Some(tool));
        self.entry(Some(item), Some(tool), Action::Publication(publication));
    }

    fn failure(&mut self, tool: &ToolUse) {
        if let ToolOutcome::Failed(text) = &tool.outcome {
            let target = target(tool).map(|target| self.shown(&target)).unwrap_or_default();
            let text = clean(&format!("{} {target}\n[failed]\n{text}", tool.name)).into_owned();
            self.item(EvidenceKind::Error, text, None, Some(tool));
        }
    }

    fn other(&mut self, tool: &ToolUse) {
        if matches!(tool.outcome, ToolOutcome::Failed(_)) {
            self.failure(tool);
            return;
        }
        let answer = match &tool.outcome {
            ToolOutcome::Answered(answer) => Some(answer),
            _ => None,
        };
        if let Some(publication) = publication::of_tool(&tool.name, &tool.input, answer) {
            self.publication(tool, publication);
            return;
        }
        let input = if tool.input.is_null() {
            String::new()
        } else {
            tool.input.to_string()
        };
        let text = format!("{} {input}\n{}", tool.name, answer_text(&tool.outcome));
        self.item(
            EvidenceKind::Tool,
            clean(text.trim_end()).into_owned(),
            None,
            Some(tool),
        );
    }
}

fn is_shell(name: &str) -> bool {
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

/// Returns the refusal of a call, with the user's words.
fn refused(outcome: &ToolOutcome) -> Option<Option<String>> {
    match outcome {
        ToolOutcome::Refused(words) => Some(words.clone()),
        ToolOutcome::Failed(text) => statement::refusal(text),
        _ => None,
    }
}

/// Returns the command or file that a call is about.
fn target(tool: &ToolUse) -> Option<String> {
    if is_shell(&tool.name) {
        return Some(command_of(&tool.input)).filter(|command| !command.is_empty());
    }
    let names = ["file_path", "path", "notebook_path", "title", "url", "query"];
    names
        .iter()
        .find_map(|name| tool.input.get(*name)?.as_str())
        .map(ToOwned::to_owned)
}

/// Returns the command of a shell tool: a string, or the words of one.
fn command_of(input: &Value) -> String {
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

fn answer_text(outcome: &ToolOutcome) -> Cow<'_, str> {
    match outcome {
        ToolOutcome::Failed(text) => Cow::Borrowed(text),
        ToolOutcome::Answered(answer) => Cow::Owned(value_text(answer)),
        ToolOutcome::Refused(_) | ToolOutcome::Unknown => Cow::Borrowed(""),
    }
}

/// Returns the readable text of a structured answer.
fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => {
            let texts: Vec<String> = list.iter().map(value_text).collect();
            texts.join("\n")
        }
        Value::Object(fields) => {
            let named = ["text", "content", "result", "output", "stdout", "message"]
                .iter()
                .find_map(|name| fields.get(*name));
            match (named, fields.get("file"), fields.get("filenames")) {
                (_, Some(file), _) => file.get("content").map_or_else(String::new, value_text),
                (Some(Value::String(text)), _, _) if !text.is_empty() => text.clone(),
                (Some(list @ Value::Array(_)), _, _) => value_text(list),
                (_, _, Some(files)) => value_text(files),
                _ => value.to_string(),
            }
        }
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
