//! Imports past sessions: turns an agent's own transcripts into events.
//!
//! Past sessions go through the same path as live ones. A transcript becomes the events that hooks would have reported, each
//! with the steps before it that no hook reports. Event keys consist of time and position in the file, so importing twice
//! is the same as importing once.

mod cursor;
mod folder_projects;
mod lost_turns;
mod opencode;
mod sources;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result};
use backstory_capture::filter;
use backstory_distill::{ToolOutcome, TurnStep};
use backstory_model::{Event, EventKind, EventSource, Host, ProjectIdentity, Timestamp, is_machine_made};
use backstory_store::EventPayload;
use backstory_transcript::{
    self as transcript, History, Position, Record, RecordKind, SessionFacts, Skipped, Transcript,
    TranscriptHost,
};
use serde_json::{Value, json};

use crate::turns::{self, TranscriptStep, TurnRecords};

pub use folder_projects::FolderProjects;
pub use lost_turns::{CaptureState, without_recorded};
pub(crate) use sources::sessions_at;
pub use sources::{default_folders, find_sessions, peek};

/// Events of a transcript.
#[derive(Debug, Default)]
pub struct TranscriptEvents {
    /// The events, in the order in which they are to be ingested.
    pub events: Vec<ImportedEvent>,
    /// The project of the session.
    pub project: Option<ProjectIdentity>,
    /// Number of lines, or records of a database, that are not JSON.
    pub damaged: u64,
    /// The first few of them.
    pub damaged_records: Vec<DamagedRecord>,
}

/// Line of a transcript, or record of a database, that is not JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedRecord {
    /// The file.
    pub path: PathBuf,
    /// The number of the line, from 1, or the key of the record.
    pub place: String,
}

/// Event of a transcript. All events of a session are in memory until it is read, so those of a long one are packed.
#[derive(Debug)]
pub struct ImportedEvent {
    /// The event without its payload.
    pub head: Event,
    payload: EventPayload,
}

impl ImportedEvent {
    /// Returns the whole event.
    pub fn to_event(&self) -> Event {
        Event {
            payload: self.payload.text().into_owned(),
            ..self.head.clone()
        }
    }

    /// Returns true if it is a prompt of the user.
    pub fn is_prompt(&self) -> bool {
        if self.head.kind != EventKind::UserPromptSubmit {
            return false;
        }
        let payload: Value = serde_json::from_str(&self.payload.text()).unwrap_or_default();
        !is_machine_made(payload["prompt"].as_str().unwrap_or_default())
    }
}

/// Time without new lines after which a session counts as ended.
const ENDED_AFTER: Duration = Duration::from_secs(24 * 3600);

/// Reads a session and its sub-agents.
pub fn read(
    transcript: &Transcript,
    folders: &FolderProjects,
    settings: &filter::CaptureSettings,
    now: Timestamp,
) -> Result<TranscriptEvents> {
    let mut builder = EventBuilder {
        host: Some(transcript.host.host()),
        session_id: transcript.session_id.clone(),
        agent_ids: transcript
            .agents
            .iter()
            .map(|agent| agent.agent_id.clone())
            .collect(),
        ..EventBuilder::default()
    };
    let position = match transcript.host {
        TranscriptHost::ClaudeCode => builder.file(&transcript.path, Position::default(), settings)?,
        TranscriptHost::OpenCode => {
            builder.history(&transcript.path, opencode::read(transcript, settings)?);
            Position::default()
        }
        TranscriptHost::Cursor => {
            let history = cursor::read(transcript, settings)?;
            builder.history(&cursor::database(&transcript.path), history);
            Position::default()
        }
        host => {
            let history = transcript::read_history(host, &transcript.path, settings)
                .with_context(|| format!("could not read {}", transcript.path.display()))?;
            builder.history(&transcript.path, history);
            Position::default()
        }
    };
    builder.end_turn(TurnStop::EndOfFile);
    let session = std::mem::take(&mut builder.events);
    for agent in &transcript.agents {
        builder.agent = Some(agent.agent_id.clone());
        builder.prompt_id = None;
        // Sub-agents of private turns are private, and only the session's own file marks them.
        let from = Position::default().with_private_turns_of(&position);
        builder.file(&agent.path, from, settings)?;
        builder.end_agent();
    }
    let agents = std::mem::take(&mut builder.events);
    let mut events = by_time(session, agents);
    // A transcript does not record the end of its session. One without new lines for this long has ended; the times of the
    // file itself change when it is copied.
    let last = events.iter().map(|event| event.head.at).max();
    if let Some(last) = last.filter(|last| now.since(*last) > ENDED_AFTER) {
        builder.last.0 = last;
        builder.event(EventKind::SessionEnd, json!({"reason": "imported"}));
        events.append(&mut builder.events);
    }
    let folder = transcript.path.parent().unwrap_or(&transcript.path);
    let project = folders.project(builder.cwd.as_deref(), folder);
    let mut branches = builder.branches.into_iter();
    for event in events
        .iter_mut()
        .map(|event| &mut event.head)
        .filter(|event| event.kind == EventKind::UserPromptSubmit)
    {
        // The branch of that time, not of today.
        event.project = Some(ProjectIdentity {
            branch: branches.next().flatten().filter(|branch| !branch.is_empty()),
            worktree: None,
            ..project.clone()
        });
    }
    Ok(TranscriptEvents {
        project: Some(project),
        damaged: builder.damaged,
        damaged_records: builder.damaged_records,
        events,
    })
}

/// Puts the events of sub-agents between those of the session, which stay in the order of their file: an event without the id
/// of its prompt belongs to the turn that is under way when it is ingested.
fn by_time(session: Vec<ImportedEvent>, agents: Vec<ImportedEvent>) -> Vec<ImportedEvent> {
    let mut latest = Timestamp::MIN;
    let session = session.into_iter().map(|event| {
        latest = latest.max(event.head.at);
        (latest, event)
    });
    let mut timed: Vec<(Timestamp, ImportedEvent)> = session.collect();
    timed.extend(agents.into_iter().map(|event| (event.head.at, event)));
    timed.sort_by_key(|(at, _)| *at);
    timed.into_iter().map(|(_, event)| event).collect()
}

/// Reason for the end of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TurnStop {
    NextPrompt,
    EndOfFile,
}

/// Converts the records of a transcript to the events that hooks would have reported.
#[derive(Debug, Default)]
struct EventBuilder {
    host: Option<Host>,
    session_id: String,
    /// Sub-agents that have a transcript of their own.
    agent_ids: BTreeSet<String>,
    agent: Option<String>,
    /// Id of the current prompt.
    prompt_id: Option<String>,
    facts: SessionFacts,
    /// First working folder of the session: the agent may change it.
    cwd: Option<PathBuf>,
    /// Branch at each prompt.
    branches: Vec<Option<String>>,
    /// Records of the current turn.
    records: TurnRecords,
    /// Records of sub-agents that older clients wrote into the session's own file.
    sidechains: BTreeMap<String, TurnRecords>,
    /// True while a turn of the session is open.
    in_turn: bool,
    /// Ids of the user's prompts.
    prompt_ids: BTreeSet<String>,
    /// Time and offset of the record that the next event represents.
    last: (Timestamp, u64),
    events: Vec<ImportedEvent>,
    /// Size of the payloads so far, in bytes.
    payload_len: usize,
    damaged: u64,
    damaged_records: Vec<DamagedRecord>,
}

impl EventBuilder {
    fn file(&mut self, path: &Path, from: Position, settings: &filter::CaptureSettings) -> Result<Position> {
        let attempt = || format!("could not read {}", path.display());
        let mut reader = transcript::open(path, from, settings).with_context(attempt)?;
        for record in reader.by_ref().filter(|record| !record.copied) {
            self.record(record);
        }
        if let Some(error) = reader.error() {
            return Err(anyhow::anyhow!("{error}").context(attempt()));
        }
        let skipped = reader.skipped();
        self.damaged_records(path, skipped);
        Ok(reader.position().cloned().unwrap_or_default())
    }

    fn damaged_records(&mut self, path: &Path, skipped: &Skipped) {
        self.damaged += skipped.damaged;
        let lines = skipped.damaged_lines.iter().map(ToString::to_string);
        let places = lines.chain(skipped.damaged_keys.iter().cloned());
        self.damaged_records.extend(places.map(|place| DamagedRecord {
            path: path.to_owned(),
            place,
        }));
    }

    /// Adds a session that was read as a whole.
    fn history(&mut self, path: &Path, history: History) {
        self.damaged_records(path, &history.skipped);
        for record in history.records {
            self.record(record);
        }
    }

    fn record(&mut self, record: Record) {
        let is_session = self.agent.is_none();
        if let Some(agent) = record.agent_id.filter(|_| is_session) {
            let records = self.sidechains.entry(agent).or_default();
            records.push(record.kind, record.at, record.offset);
            return;
        }
        match record.kind {
            RecordKind::Facts(facts) => {
                if is_session {
                    let cwd = facts.cwd.as_ref().map(PathBuf::from);
                    self.cwd = self.cwd.take().or(cwd);
                    self.facts = facts;
                }
            }
            RecordKind::Prompt {
                text,
                prompt_id,
                machine_made,
            } => {
                if is_session {
                    self.prompt(&text, prompt_id, machine_made, (record.at, record.offset));
                } else {
                    self.prompt_id = prompt_id.or(self.prompt_id.take());
                }
            }
            kind => {
                self.last = (record.at, record.offset);
                self.records.push(kind, record.at, record.offset);
            }
        }
    }

    fn prompt(&mut self, text: &str, prompt_id: Option<String>, machine_made: bool, at: (Timestamp, u64)) {
        if let Some(id) = prompt_id.as_ref().filter(|_| !machine_made) {
            self.forget_copies(id);
        }
        self.end_turn(TurnStop::NextPrompt);
        self.last = at;
        if machine_made {
            self.background_report(text);
        }
        self.in_turn = true;
        self.prompt_id = prompt_id;
        self.branches.push(self.facts.git_branch.clone());
        self.event(EventKind::UserPromptSubmit, json!({"prompt": text}));
    }

    /// Drops copied records of a fork. In a terminal, a fork does not mark what it copies but gives it the id of its first own
    /// prompt: when that id appears again, everything so far belongs to another session.
    fn forget_copies(&mut self, prompt_id: &str) {
        let is_known = !self.prompt_ids.insert(prompt_id.to_owned());
        if is_known && self.prompt_ids.len() == 1 {
            self.records.take();
            self.sidechains.clear();
            self.in_turn = false;
            self.branches.clear();
            self.events.clear();
        }
    }

    /// Records the report in a notice about a background sub-agent. A sub-agent with a transcript of its own reports
    /// there.
    fn background_report(&mut self, notice: &str) {
        let Some(report) = backstory_transcript::task_report(notice) else {
            return;
        };
        if !self.agent_ids.contains(report.task_id) {
            let payload = json!({"agent_id": report.task_id, "agent_type": "sub-agent",
                "last_assistant_message": report.text});
            self.event(EventKind::SubagentStop, payload);
        }
    }

    /// Ends the current turn: its calls become events, and everything else goes with the event that follows it.
    fn end_turn(&mut self, stop: TurnStop) {
        let records = self.records.take();
        let sidechains = std::mem::take(&mut self.sidechains);
        let has_prompt = std::mem::take(&mut self.in_turn);
        let last = self.last;
        for (agent, mut records) in sidechains {
            self.calls(records.take(), Some(&agent));
        }
        let is_interrupted = records
            .iter()
            .rfind(|record| !matches!(record.step, TurnStep::UserMessage(_)))
            .is_some_and(|record| matches!(record.step, TurnStep::Interrupted));
        let Rest { steps, last_message } = self.calls(records, None);
        self.last = last;
        let is_over = last_message.is_some() || is_interrupted;
        let has_more = !steps.is_empty() && stop == TurnStop::NextPrompt;
        if has_prompt && (is_over || has_more) {
            let mut payload = json!({});
            if !steps.is_empty() {
                payload["steps"] = json!(steps);
            }
            if is_interrupted || !is_over {
                payload["interrupted"] = true.into();
            } else {
                payload["last_assistant_message"] = last_message.into();
            }
            self.event(EventKind::Stop, payload);
        }
    }

    /// Emits the calls among some records as events, with the steps before each; returns the records after the last call.
    fn calls(&mut self, records: Vec<TranscriptStep>, agent: Option<&str>) -> Rest {
        let mut rest = Rest::default();
        let mut message_id = None;
        let mut call = 0u64;
        for record in records {
            match record.step {
                TurnStep::Tool(tool) if turns::is_reported(&tool) => {
                    call += 1;
                    let mut payload =
                        json!({"tool_name": tool.name, "tool_use_id": tool.id, "tool_input": tool.input});
                    let steps = std::mem::take(&mut rest).steps;
                    if let Some(agent) = agent {
                        payload["agent_id"] = agent.into();
                    } else {
                        payload["call"] = call.into();
                        if !steps.is_empty() {
                            payload["steps"] = json!(steps);
                        }
                    }
                    self.last = (record.at, record.offset);
                    self.tool_event(tool.outcome, payload);
                }
                step => {
                    if let TurnStep::Prose(text) = &step {
                        // A message of several blocks is one message.
                        let is_same = record.message_id.is_some() && record.message_id == message_id;
                        rest.last_message = match rest.last_message.take().filter(|_| is_same) {
                            Some(known) => Some(format!("{known}\n\n{text}")),
                            None => Some(text.clone()),
                        };
                        message_id = record.message_id;
                    }
                    rest.steps.push(step);
                }
            }
        }
        rest
    }

    fn tool_event(&mut self, outcome: ToolOutcome, mut payload: Value) {
        match outcome {
            ToolOutcome::Answered(answer) => {
                payload["tool_response"] = answer;
                self.event(EventKind::PostToolUse, payload);
            }
            ToolOutcome::Failed(error) => {
                payload["error"] = error.into();
                self.event(EventKind::PostToolUseFailure, payload);
            }
            ToolOutcome::Refused(_) | ToolOutcome::Unknown => {}
        }
    }

    /// Ends a sub-agent: its calls become events, its last message its report.
    fn end_agent(&mut self) {
        let Some(agent) = self.agent.clone() else { return };
        let records = self.records.take();
        let last = self.last;
        let rest = self.calls(records, Some(&agent));
        self.last = last;
        if let Some(report) = rest.last_message {
            let payload =
                json!({"agent_id": agent, "agent_type": "sub-agent", "last_assistant_message": report});
            self.event(EventKind::SubagentStop, payload);
        }
        self.agent = None;
    }

    fn event(&mut self, kind: EventKind, mut payload: Value) {
        let (at, offset) = self.last;
        if let Some(id) = &self.prompt_id {
            payload["prompt_id"] = id.as_str().into();
        }
        let agent = self.agent.as_deref().unwrap_or("session");
        let payload = payload.to_string();
        self.payload_len += payload.len();
        let head = Event {
            // Sorts among the keys of live events, and is deterministic.
            key: format!(
                "{:020}-import-{}-{agent}-{offset:012}-{kind}",
                i128::from(at.as_millis()) * 1_000_000,
                self.session_id
            ),
            source: EventSource::Import,
            kind,
            host: self.host.clone().unwrap_or_else(Host::claude_code),
            at,
            session_id: self.session_id.clone(),
            project: None,
            payload: String::new(),
        };
        let payload = if self.payload_len > MAX_PLAIN {
            EventPayload::pack(payload)
        } else {
            payload.into()
        };
        self.events.push(ImportedEvent { head, payload });
    }
}

/// Size of the payloads of a session up to which they stay plain: packing takes time.
const MAX_PLAIN: usize = 16 << 20;

/// Records after the last call of a turn.
#[derive(Debug, Default)]
struct Rest {
    steps: Vec<TurnStep>,
    /// Last message of the agent among them.
    last_message: Option<String>,
}
