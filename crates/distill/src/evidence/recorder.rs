//! Walks through the steps of a turn and writes items and log entries.

use std::borrow::Cow;

use backstory_model::{EvidenceItem, EvidenceKind, Timestamp};
use serde_json::Value;

use super::{
    clean::{clean, clean_prompt},
    edit, path, prose, publication,
    run::{command_of, is_shell},
    statement,
    text::cut,
    written::WrittenFiles,
};
use crate::{Action, LogEntry, ToolOutcome, ToolUse, TurnEnd, TurnInput, TurnLog, TurnStep};

/// The beginning of a file or search result that is kept: the repository has the rest.
const MAX_LOOKUP: usize = 600;

/// The evidence of one turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TurnEvidence {
    /// The items, in order; `LogEntry::item` is a position in this list.
    pub items: Vec<EvidenceItem>,
    /// The work log of the turn.
    pub log: TurnLog,
}

/// Returns the whole tool call of the step at a position; `None` if the step has it already.
pub type LoadCall<'l> = &'l mut dyn FnMut(usize) -> Option<ToolUse>;

/// Reads a turn. Pure, and no turn makes it panic.
pub fn record(turn: &TurnInput) -> TurnEvidence {
    let mut items = Vec::new();
    let log = record_each(turn, &mut |_| None, &mut |item| items.push(item));
    TurnEvidence { items, log }
}

/// Reads a turn whose tool calls do not fit into memory together.
///
/// `load` returns one call at a time, and every item goes to `keep` at once. The steps in `turn` have the id and the name of
/// such calls only.
pub fn record_each(turn: &TurnInput, load: LoadCall<'_>, keep: &mut dyn FnMut(EvidenceItem)) -> TurnLog {
    let mut recorder = Recorder::new(turn, keep);
    let last = last_message(turn);
    for (index, step) in turn.steps.iter().enumerate() {
        if let (TurnStep::Tool(_), Some(tool)) = (step, load(index)) {
            recorder.tool(&tool);
        } else {
            recorder.step(step, last == Some(LastMessage::Step(index)));
        }
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

pub(super) struct Recorder<'t> {
    turn: &'t TurnInput,
    keep: &'t mut dyn FnMut(EvidenceItem),
    /// The number of items so far.
    items: u32,
    /// The plans so far, each with the position of its item.
    plans: Vec<(String, u32)>,
    entries: Vec<LogEntry>,
    /// The last sentence of the agent's prose.
    intent: Option<String>,
    at: Timestamp,
    pub(super) written: WrittenFiles,
}

impl<'t> Recorder<'t> {
    fn new(turn: &'t TurnInput, keep: &'t mut dyn FnMut(EvidenceItem)) -> Self {
        Self {
            turn,
            keep,
            items: 0,
            plans: Vec::new(),
            entries: Vec::new(),
            intent: None,
            at: turn.started_at,
            written: WrittenFiles::default(),
        }
    }

    fn finish(self) -> TurnLog {
        let turn = self.turn;
        TurnLog {
            number: turn.number,
            prompt: turn
                .prompt
                .as_deref()
                .filter(|_| !turn.machine_made)
                .map(clean_prompt),
            machine_made: turn.machine_made,
            branch: turn.branch.clone(),
            started_at: turn.started_at,
            end: turn.end,
            entries: self.entries,
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
            at: self.at,
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
    pub(super) fn item(
        &mut self,
        kind: EvidenceKind,
        text: String,
        path: Option<String>,
        tool: Option<&ToolUse>,
    ) -> u32 {
        let is_own = tool.is_some_and(|tool| tool.agent_id.is_none());
        (self.keep)(EvidenceItem {
            kind,
            text,
            intent: self.intent.clone().filter(|_| is_own),
            path,
            tool_use_id: tool.and_then(|tool| tool.id.clone()),
            at: self.at,
        });
        let position = self.items;
        self.items += 1;
        position
    }

    pub(super) fn entry(&mut self, item: Option<u32>, tool: Option<&ToolUse>, action: Action) {
        let is_own = tool.is_some_and(|tool| tool.agent_id.is_none());
        self.entries.push(LogEntry {
            at: self.at,
            item,
            tool_use_id: tool.and_then(|tool| tool.id.clone()),
            subagent: tool.and_then(|tool| tool.agent_id.clone()),
            intent: self.intent.clone().filter(|_| is_own),
            action,
        });
    }

    pub(super) fn shown(&self, path: &str) -> String {
        path::shown(path, self.turn.root.as_deref())
    }

    fn tool(&mut self, tool: &ToolUse) {
        if tool.at > Timestamp::EPOCH {
            self.at = tool.at;
        }
        if let ToolOutcome::Refused(words) = &tool.outcome {
            self.refusal(tool, words.clone());
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
            "TaskOutput" | "AgentOutputTool" => self.task_output(tool),
            _ if is_shell(&tool.name) => self.command(tool),
            _ if edit::is_edit_tool(&tool.name) => self.edits(tool),
            _ => self.other(tool),
        }
    }

    fn refusal(&mut self, tool: &ToolUse, words: Option<String>) {
        if tool.name == "ExitPlanMode" {
            self.plan(tool);
        }
        let target = match tool.name.as_str() {
            "AskUserQuestion" => statement::first_question(tool),
            _ => target(tool),
        };
        let target = target.map(|target| cut(&target, 600).to_owned());
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
            if let Action::UserAnswer { question, answer, .. } = &action {
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
        if let Some((text, approved)) = statement::plan(tool) {
            self.plan_text(tool, &text, approved);
        }
    }

    /// Records a plan. A plan file and the plan that is shown to the user often have the same text: one item is enough.
    pub(super) fn plan_text(&mut self, tool: &ToolUse, text: &str, approved: Option<bool>) {
        let text = clean(text).trim().to_owned();
        if text.is_empty() {
            return;
        }
        let known = self.plans.iter().rfind(|(plan, _)| *plan == text);
        let item = match known {
            Some((_, item)) => *item,
            None => {
                let item = self.item(EvidenceKind::Plan, text.clone(), None, Some(tool));
                self.plans.push((text.clone(), item));
                item
            }
        };
        self.entry(Some(item), Some(tool), Action::Plan { text, approved });
    }

    fn lookup(&mut self, tool: &ToolUse) {
        let named = ["file_path", "path", "notebook_path", "pattern"]
            .iter()
            .find_map(|name| tool.input.get(*name)?.as_str());
        let path = self.shown(named.unwrap_or_default());
        let pattern = tool.input.get("pattern").and_then(Value::as_str);
        let answer = answer_text(&tool.outcome);
        let failed = matches!(tool.outcome, ToolOutcome::Failed(_));
        let beginning = cut(&answer, MAX_LOOKUP);
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
        let is_pattern = path.contains(['*', '(', ')', '|', '\\', '"', ' ', '{', '?', '^', '$']);
        if !failed && !path.is_empty() && !is_pattern {
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
        let description = tool
            .input
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if reports_itself || is_async {
            let prompt = tool
                .input
                .get("prompt")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let text = format!("{} {description}\n{prompt}", tool.name);
            self.item(
                EvidenceKind::Tool,
                clean(text.trim()).into_owned(),
                None,
                Some(tool),
            );
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

    /// The output of a background task: the report of a sub-agent once it is done.
    fn task_output(&mut self, tool: &ToolUse) {
        let task = match &tool.outcome {
            ToolOutcome::Answered(answer) => answer.get("task"),
            _ => None,
        };
        let text = |name: &str| task.and_then(|task| task.get(name)?.as_str());
        let is_done = text("status") == Some("completed");
        let report = text("result").filter(|_| is_done && text("task_type") == Some("local_agent"));
        let Some(report) = report else {
            self.other(tool);
            return;
        };
        // The calls of the sub-agent stand before its words.
        let lines: Vec<&str> = report
            .lines()
            .filter(|line| !line.starts_with("[Tool: "))
            .collect();
        let id = text("task_id").map(ToOwned::to_owned);
        self.subagent(id.as_deref(), None, &lines.join("\n"));
    }

    pub(super) fn publication(&mut self, tool: &ToolUse, publication: crate::Publication) {
        let parts = [&publication.reference, &publication.title, &publication.body];
        let text: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
        let text = clean(&text.join("\n")).into_owned();
        let item = self.item(EvidenceKind::Publication, text, None, Some(tool));
        self.entry(Some(item), Some(tool), Action::Publication(publication));
    }

    pub(super) fn failure(&mut self, tool: &ToolUse) {
        if let ToolOutcome::Failed(text) = &tool.outcome {
            let target = target(tool).map(|target| self.shown(&target)).unwrap_or_default();
            let text = clean(&format!("{} {target}\n[failed]\n{text}", tool.name)).into_owned();
            self.item(EvidenceKind::Error, text, None, Some(tool));
        }
    }

    pub(super) fn other(&mut self, tool: &ToolUse) {
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
