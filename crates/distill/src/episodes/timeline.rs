//! The steps of a session in one sequence: prompts and log entries of all turns.

use std::cell::OnceCell;
use std::collections::HashSet;

use backstory_model::Timestamp;

use crate::english::{announces_work, sentences};
use crate::prose::Message;
use crate::{Action, LogEntry, TurnEnd, TurnLog};

/// All steps of a session, in order.
pub(crate) struct Timeline<'a> {
    /// The logs.
    pub(crate) logs: &'a [TurnLog],
    /// The steps.
    pub(crate) steps: Vec<Step<'a>>,
    /// The text of each step, read when it is first needed.
    messages: Vec<OnceCell<Message>>,
}

/// A prompt or an entry of the work log.
#[derive(Clone, Copy)]
pub(crate) struct Step<'a> {
    /// The number of the turn.
    pub(crate) turn: u32,
    /// The time.
    pub(crate) at: Timestamp,
    /// The position of the evidence item within the turn.
    pub(crate) item: u32,
    /// The prompt or entry.
    pub(crate) kind: StepKind<'a>,
}

/// The content of a step.
#[derive(Clone, Copy)]
pub(crate) enum StepKind<'a> {
    /// A prompt that a human wrote.
    Prompt(&'a str),
    /// An entry of the work log.
    Entry(&'a LogEntry),
}

impl<'a> Timeline<'a> {
    /// Lines up the steps of the turns.
    pub(crate) fn new(logs: &'a [TurnLog]) -> Self {
        let mut steps = Vec::new();
        let prompts: HashSet<&str> = logs
            .iter()
            .filter_map(|log| log.prompt.as_deref())
            .map(str::trim)
            .collect();
        for log in logs {
            let mut item = 0;
            if let Some(prompt) = log.prompt.as_deref().filter(|_| !log.machine_made) {
                steps.push(Step {
                    turn: log.number,
                    at: log.started_at,
                    item,
                    kind: StepKind::Prompt(prompt),
                });
            }
            for entry in &log.entries {
                item = entry.item.unwrap_or(item);
                // A queued message that the agent got as its next prompt is reported twice.
                if matches!(&entry.action, Action::UserMessage(text) if prompts.contains(text.trim())) {
                    continue;
                }
                steps.push(Step {
                    turn: log.number,
                    at: entry.at,
                    item,
                    kind: StepKind::Entry(entry),
                });
            }
        }
        let messages = steps.iter().map(|_| OnceCell::new()).collect();
        Self {
            logs,
            steps,
            messages,
        }
    }

    /// Returns the text of a step, parsed; empty for a step without text.
    pub(crate) fn message(&self, at: usize) -> &Message {
        self.messages[at].get_or_init(|| {
            let Some(
                Action::Prose(text)
                | Action::Report(text)
                | Action::Compaction(text)
                | Action::SubagentReport { text, .. }
                | Action::Plan { text, .. },
            ) = self.steps[at].action()
            else {
                return Message::default();
            };
            Message::read(text)
        })
    }

    /// Reports whether a step is a report, and not the announcement of work that the turn then stopped short of.
    pub(crate) fn is_finished_report(&self, at: usize) -> bool {
        let Some(Action::Report(text)) = self.steps[at].action() else {
            return false;
        };
        let last = text.trim().lines().last().unwrap_or_default();
        !sentences(last).last().is_some_and(|last| announces_work(last))
    }

    /// Returns the step of the last report that concludes its turn.
    pub(crate) fn last_report(&self) -> Option<usize> {
        (0..self.steps.len())
            .rev()
            .find(|at| self.is_finished_report(*at))
    }

    /// Returns the end of the last turn.
    pub(crate) fn end(&self) -> Option<TurnEnd> {
        self.logs.last().map(|log| log.end)
    }
}

impl<'a> Step<'a> {
    /// Returns the action, unless the step is a prompt.
    pub(crate) fn action(&self) -> Option<&'a Action> {
        match self.kind {
            StepKind::Entry(entry) => Some(&entry.action),
            StepKind::Prompt(_) => None,
        }
    }

    /// Returns the entry, unless the step is a prompt.
    pub(crate) fn entry(&self) -> Option<&'a LogEntry> {
        match self.kind {
            StepKind::Entry(entry) => Some(entry),
            StepKind::Prompt(_) => None,
        }
    }

    /// Returns the words of a human, if the step holds any.
    pub(crate) fn user_words(&self) -> Option<&'a str> {
        match (self.kind, self.action()) {
            (StepKind::Prompt(text), _) => Some(text),
            (_, Some(Action::UserMessage(text))) => Some(text),
            (_, Some(Action::UserAnswer { answer, .. })) => Some(answer),
            (_, Some(Action::Refused { words, .. })) => words.as_deref(),
            _ => None,
        }
    }

    /// Reports whether the agent's own tool use made the step.
    pub(crate) fn is_tool_call(&self) -> bool {
        matches!(
            self.action(),
            Some(
                Action::Run(_)
                    | Action::Change(_)
                    | Action::Commit(_)
                    | Action::Push { .. }
                    | Action::Publication(_)
                    | Action::Lookup { .. }
            )
        )
    }
}
