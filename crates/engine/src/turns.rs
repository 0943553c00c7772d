//! Assembles turns from events and transcript records.
//!
//! Hook events are the base: they report the tools that ran. The transcript adds what no hook reports: prose, messages typed
//! while the agent works, answers to its questions, task lists, refusals, interruptions and compaction summaries. An import stores
//! these additions in the payload of the event that follows them (`steps`), so a turn that was imported and the same turn
//! that was recorded live go through [`assemble`] and give the same input to the distiller.

mod records;
mod session;

use std::{
    collections::{BTreeMap, HashMap},
    mem,
};

use backstory_distill::{ToolOutcome, ToolUse, TurnEnd, TurnInput, TurnStep};
use backstory_model::{EventKind, Timestamp};
use backstory_store::TurnEvent;
use serde::Deserialize;
use serde_json::Value;

pub(crate) use records::{TranscriptStep, TurnRecords, is_reported};
pub use session::turns_of_session;

/// Properties of a turn besides its events.
#[derive(Clone, Debug, Default)]
pub struct TurnHead {
    /// Number in the session, from 1.
    pub number: u32,
    /// Start.
    pub started_at: Timestamp,
    /// Prompt of the turn.
    pub prompt: Option<String>,
    /// True if a program wrote the prompt.
    pub machine_made: bool,
    /// Root of the working tree.
    pub root: Option<String>,
    /// Git branch.
    pub branch: Option<String>,
    /// True if the turn is over.
    pub is_ended: bool,
    /// True if the next turn continues it: the user added something while the agent worked.
    pub goes_on: bool,
}

/// A turn whose tool calls are read from its events one at a time: those of a long turn do not fit into memory together.
#[derive(Debug)]
pub struct AssembledTurn<'e> {
    /// The turn. A step of an event's tool call has the id and the name of the call only.
    pub turn: TurnInput,
    /// The tool calls.
    pub calls: EventCalls<'e>,
}

/// The tool calls of a turn's events.
#[derive(Debug)]
pub struct EventCalls<'e> {
    events: &'e mut [TurnEvent],
    /// Index of the event of each step; absent for steps that are complete.
    sources: Vec<Option<usize>>,
}

impl EventCalls<'_> {
    /// Removes the tool call of the step at a position from its event; `None` if the step is complete.
    pub fn take(&mut self, step: usize) -> Option<ToolUse> {
        let event = &mut self.events[(*self.sources.get(step)?)?];
        let payload = mem::take(&mut event.payload);
        // The payload was checked when it was ingested.
        let payload = serde_json::from_str(&payload.text()).unwrap_or_default();
        Some(tool_use(event, payload))
    }
}

impl AssembledTurn<'_> {
    /// Returns the turn with all its tool calls.
    pub fn into_whole(mut self) -> TurnInput {
        for step in 0..self.turn.steps.len() {
            if let Some(tool) = self.calls.take(step) {
                self.turn.steps[step] = TurnStep::Tool(tool);
            }
        }
        self.turn
    }
}

/// Assembles a turn from its events, in order, and the additions of its transcript.
pub fn assemble(head: TurnHead, events: &mut [TurnEvent], added: Vec<TurnStep>) -> AssembledTurn<'_> {
    let mut reading = EventReading {
        end: match (head.is_ended, head.goes_on) {
            (false, _) => TurnEnd::Open,
            (true, false) => TurnEnd::Interrupted,
            // The end of the next turn is the end of this one too.
            (true, true) => TurnEnd::Stopped,
        },
        ..EventReading::default()
    };
    for (index, event) in events.iter().enumerate() {
        reading.event(event, index);
    }
    reading.order_calls();
    let steps = merge(reading.events, added);
    let (steps, sources) = steps.into_iter().map(|step| (step.step, step.event)).unzip();
    let turn = TurnInput {
        number: head.number,
        started_at: head.started_at,
        prompt: head.prompt,
        machine_made: head.machine_made,
        root: head.root,
        branch: head.branch,
        steps,
        last_message: reading.last_message,
        end: reading.end,
    };
    AssembledTurn {
        turn,
        calls: EventCalls { events, sources },
    }
}

/// Steps of one event: those that an import stored before it, and its own.
#[derive(Debug, Default)]
struct EventSteps {
    before: Vec<TurnStep>,
    own: Option<TurnStep>,
    /// Index of the call among the calls of its turn, for an imported event.
    call: Option<u64>,
    /// Index of the event, if `own` is its tool call.
    event: Option<usize>,
    /// Id of a call whose payload retention dropped: the transcript may still have it.
    dropped_call: Option<String>,
}

impl EventSteps {
    /// Returns the id of the agent's own tool call.
    fn call_id(&self) -> Option<&str> {
        match &self.own {
            Some(TurnStep::Tool(tool)) if tool.agent_id.is_none() => tool.id.as_deref(),
            _ => self.dropped_call.as_deref(),
        }
    }

    fn into_steps(self) -> impl Iterator<Item = SourcedStep> {
        let event = self.event;
        let own = self.own.map(|step| SourcedStep { step, event });
        self.before.into_iter().map(SourcedStep::complete).chain(own)
    }
}

/// A step and the index of the event that its tool call is read from.
#[derive(Debug)]
struct SourcedStep {
    step: TurnStep,
    event: Option<usize>,
}

impl SourcedStep {
    fn complete(step: TurnStep) -> Self {
        Self { step, event: None }
    }
}

/// Fields of a payload besides input and result of the tool call, which can be large.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct EventHead {
    steps: Value,
    #[serde(rename = "said")]
    prose: Value,
    call: Value,
    tool_use_id: Value,
    tool_name: Value,
    agent_id: Value,
    agent_type: Value,
    last_assistant_message: Value,
    background_tasks: Value,
    interrupted: Value,
}

impl EventHead {
    /// Reads a payload. It was checked when it was ingested; a field that is there twice counts as the last one.
    fn read(payload: &str) -> Self {
        let whole = || serde_json::from_value(serde_json::from_str(payload).ok()?).ok();
        serde_json::from_str(payload)
            .ok()
            .or_else(whole)
            .unwrap_or_default()
    }

    /// Returns the steps that an import stored with the event.
    fn stored_steps(&mut self) -> Vec<TurnStep> {
        // Imports of earlier versions stored prose only.
        let prose = self.prose.as_array().into_iter().flatten();
        let mut steps: Vec<TurnStep> = prose.filter_map(text).map(TurnStep::Prose).collect();
        if let Value::Array(stored) = self.steps.take() {
            steps.extend(
                stored
                    .into_iter()
                    .filter_map(|step| serde_json::from_value(step).ok()),
            );
        }
        steps
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(ToOwned::to_owned)
}

#[derive(Debug, Default)]
struct EventReading {
    events: Vec<EventSteps>,
    last_message: Option<String>,
    end: TurnEnd,
    /// Tasks that were running at the last stop.
    running: Vec<String>,
}

impl EventReading {
    fn event(&mut self, event: &TurnEvent, index: usize) {
        let mut head = EventHead::read(&event.payload.text());
        let mut steps = EventSteps {
            before: head.stored_steps(),
            own: None,
            call: head.call.as_u64(),
            event: None,
            dropped_call: None,
        };
        match event.kind {
            EventKind::PostToolUse | EventKind::PostToolUseFailure if event.payload.is_dropped() => {
                steps.dropped_call.clone_from(&event.tool_use_id);
            }
            EventKind::PostToolUse | EventKind::PostToolUseFailure => {
                steps.own = Some(TurnStep::Tool(ToolUse {
                    id: text(&head.tool_use_id),
                    agent_id: text(&head.agent_id),
                    name: text(&head.tool_name).unwrap_or_default(),
                    input: Value::Null,
                    outcome: ToolOutcome::Unknown,
                    at: event.at,
                }));
                steps.event = Some(index);
            }
            EventKind::SubagentStop => {
                let agent_id = text(&head.agent_id);
                self.running.retain(|task| Some(task) != agent_id.as_ref());
                if self.end == TurnEnd::Background && self.running.is_empty() {
                    self.end = TurnEnd::Stopped;
                }
                steps.own = Some(TurnStep::SubAgent {
                    agent_id,
                    agent_type: text(&head.agent_type),
                    report: text(&head.last_assistant_message).unwrap_or_default(),
                });
            }
            EventKind::Stop => {
                // Some hosts report the last message and the end of the turn in two events.
                self.last_message = text(&head.last_assistant_message).or(self.last_message.take());
                let tasks = head.background_tasks.as_array().into_iter().flatten();
                self.running = tasks
                    .map(|task| task["id"].as_str().unwrap_or_default().to_owned())
                    .collect();
                self.end = if head.interrupted == Value::Bool(true) {
                    TurnEnd::Interrupted
                } else if self.running.is_empty() {
                    TurnEnd::Stopped
                } else {
                    TurnEnd::Background
                };
            }
            _ => {}
        }
        if steps.own.is_some() || steps.dropped_call.is_some() || !steps.before.is_empty() {
            self.events.push(steps);
        }
    }

    /// Orders imported calls as they were made. Events are sorted by the time of their result, and of two calls that were made
    /// at once the second may finish first.
    fn order_calls(&mut self) {
        let indexes: Vec<usize> = (0..self.events.len())
            .filter(|&at| self.events[at].call.is_some())
            .collect();
        let mut calls: Vec<EventSteps> = indexes
            .iter()
            .map(|&at| mem::take(&mut self.events[at]))
            .collect();
        calls.sort_by_key(|event| event.call);
        for (at, event) in indexes.into_iter().zip(calls) {
            self.events[at] = event;
        }
    }
}

/// Merges the steps of events and of the transcript: in the order of the transcript for the agent's own calls and
/// everything it adds, in the order of the events for the rest.
fn merge(events: Vec<EventSteps>, added: Vec<TurnStep>) -> Vec<SourcedStep> {
    let index_of: HashMap<String, usize> = added
        .iter()
        .enumerate()
        .filter_map(|(at, step)| Some((call_id(step)?.to_owned(), at)))
        .collect();
    let mut reported: BTreeMap<usize, EventSteps> = BTreeMap::new();
    let mut order: Vec<Result<usize, EventSteps>> = Vec::with_capacity(events.len());
    for event in events {
        match event.call_id().and_then(|id| index_of.get(id)) {
            Some(&at) => {
                reported.insert(at, event);
                order.push(Ok(at));
            }
            None => order.push(Err(event)),
        }
    }
    let mut out = Vec::with_capacity(added.len() + order.len());
    let mut added = added.into_iter().enumerate().peekable();
    let mut emit = |out: &mut Vec<SourcedStep>, at: usize, step: TurnStep| match reported.remove(&at) {
        Some(event) => {
            let restored = event.dropped_call.is_some().then(|| SourcedStep::complete(step));
            out.extend(event.into_steps().chain(restored));
        }
        None if is_unreported(&step) => out.push(SourcedStep::complete(step)),
        None => {}
    };
    for item in order {
        match item {
            Ok(at) => {
                while let Some((index, step)) = added.next_if(|(index, _)| *index <= at) {
                    emit(&mut out, index, step);
                }
            }
            Err(event) => out.extend(event.into_steps()),
        }
    }
    for (index, step) in added {
        emit(&mut out, index, step);
    }
    out
}

fn call_id(step: &TurnStep) -> Option<&str> {
    match step {
        TurnStep::Tool(tool) => tool.id.as_deref(),
        _ => None,
    }
}

/// Returns true if a step of the transcript has no event: all but calls that hooks report, which may be recorded later.
fn is_unreported(step: &TurnStep) -> bool {
    match step {
        TurnStep::Tool(tool) => !is_reported(tool),
        _ => true,
    }
}

fn tool_use(event: &TurnEvent, mut payload: Value) -> ToolUse {
    let text = |name: &str| payload[name].as_str().map(ToOwned::to_owned);
    let (id, agent_id) = (text("tool_use_id"), text("agent_id"));
    let name = text("tool_name").unwrap_or_default();
    let outcome = match payload["error"].as_str() {
        Some(error) if event.kind == EventKind::PostToolUseFailure => records::failure(error),
        _ if payload["tool_response"].is_null() => ToolOutcome::Unknown,
        _ => ToolOutcome::Answered(payload["tool_response"].take()),
    };
    ToolUse {
        id,
        agent_id,
        name,
        input: payload["tool_input"].take(),
        outcome,
        at: event.at,
    }
}
