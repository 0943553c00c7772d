//! Collects the transcript records of one turn as steps.

use std::collections::{HashMap, HashSet};

use backstory_distill::{ToolOutcome, ToolUse, TurnStep};
use backstory_model::Timestamp;
use backstory_transcript::{RecordKind, refusal};
use serde_json::{Value, value::RawValue};

/// Step with its position in the transcript.
#[derive(Debug)]
pub(crate) struct TranscriptStep {
    /// Step; a tool call includes its result.
    pub(crate) step: TurnStep,
    /// Time; that of the result for a tool call.
    pub(crate) at: Timestamp,
    /// Offset of the line; that of the result for a tool call.
    pub(crate) offset: u64,
    /// Id of the message that the prose is part of.
    pub(crate) message_id: Option<String>,
}

/// Records of a turn, in the order of the transcript. A call is at the position at which it was made.
#[derive(Debug, Default)]
pub(crate) struct TurnRecords {
    records: Vec<TranscriptStep>,
    /// Calls without a result so far.
    open: HashMap<String, usize>,
    /// Calls whose input and result are kept, of those that hooks report; all if absent.
    kept_calls: Option<HashSet<String>>,
}

impl TurnRecords {
    /// Returns an empty list that keeps only the position of calls that hooks report, except for these calls.
    pub(crate) fn with_calls(kept: HashSet<String>) -> Self {
        Self {
            kept_calls: Some(kept),
            ..Self::default()
        }
    }

    /// Adds a record. Prompts and facts are not steps.
    pub(crate) fn push(&mut self, kind: RecordKind, at: Timestamp, offset: u64) {
        let mut message = None;
        let step = match kind {
            RecordKind::Prose { text, message_id } => {
                message = message_id;
                TurnStep::Prose(text)
            }
            RecordKind::Compaction { summary } => TurnStep::Compaction(summary),
            RecordKind::QueuedMessage { text } => TurnStep::UserMessage(text),
            RecordKind::Interrupted => TurnStep::Interrupted,
            RecordKind::ToolUse { id, name, input } => {
                self.open.insert(id.clone(), self.records.len());
                TurnStep::Tool(ToolUse {
                    id: Some(id),
                    agent_id: None,
                    name,
                    input: parsed(&input),
                    outcome: ToolOutcome::Unknown,
                    at,
                })
            }
            RecordKind::ToolResult {
                id,
                is_error,
                text,
                result,
            } => {
                let outcome = if is_error {
                    failure(&text.unwrap_or_default())
                } else {
                    ToolOutcome::Answered(result.map_or_else(|| text.into(), |result| parsed(&result)))
                };
                self.result(&id, outcome, at, offset);
                return;
            }
            RecordKind::Prompt { .. } | RecordKind::Facts(_) => return,
        };
        self.records.push(TranscriptStep {
            step,
            at,
            offset,
            message_id: message,
        });
    }

    fn result(&mut self, id: &str, outcome: ToolOutcome, at: Timestamp, offset: u64) {
        let record = self.open.remove(id).and_then(|at| self.records.get_mut(at));
        if let Some(record) = record
            && let TurnStep::Tool(tool) = &mut record.step
        {
            tool.outcome = outcome;
            tool.at = at;
            (record.at, record.offset) = (at, offset);
            if self.kept_calls.as_ref().is_some_and(|kept| !kept.contains(id)) && is_reported(tool) {
                tool.input = Value::Null;
                match &mut tool.outcome {
                    ToolOutcome::Failed(text) => *text = String::new(),
                    outcome => *outcome = ToolOutcome::Answered(Value::Null),
                }
            }
        }
    }

    /// Removes and returns all records.
    pub(crate) fn take(&mut self) -> Vec<TranscriptStep> {
        self.open.clear();
        std::mem::take(&mut self.records)
    }

    /// Returns the steps.
    pub(crate) fn into_steps(self) -> Vec<TurnStep> {
        self.records.into_iter().map(|record| record.step).collect()
    }
}

/// Returns true if hooks report a call: it ended, the user did not refuse it or type it, and it is neither a question to the
/// user nor a task list, which are not recorded as events.
pub(crate) fn is_reported(tool: &ToolUse) -> bool {
    let is_typed = tool.id.as_deref().is_some_and(|id| id.starts_with("typed-"));
    let is_statement = matches!(tool.name.as_str(), "AskUserQuestion" | "TodoWrite");
    let ran = match &tool.outcome {
        ToolOutcome::Answered(_) => true,
        // The client rejected the input before the tool ran.
        ToolOutcome::Failed(text) => !text.starts_with("<tool_use_error>"),
        ToolOutcome::Refused(_) | ToolOutcome::Unknown => false,
    };
    ran && !is_typed && !is_statement
}

/// Distinguishes a refusal of the user from a failure.
pub(crate) fn failure(text: &str) -> ToolOutcome {
    match refusal(text) {
        Some(words) => ToolOutcome::Refused(words),
        None => ToolOutcome::Failed(text.to_owned()),
    }
}

/// Parses JSON that the reader checked; anything else stays text.
fn parsed(json: &str) -> Value {
    let raw: Result<&RawValue, _> = serde_json::from_str(json);
    raw.ok()
        .and_then(|raw| serde_json::from_str(raw.get()).ok())
        .unwrap_or_else(|| json.into())
}
