//! Takes over what happened before backstory was there: from an agent's own records to events.
//!
//! Past sessions go through the same path as live ones. A transcript becomes the events that hooks would have reported,
//! with the agent's words in between; their keys are made of time and place in the file, so that importing twice is
//! importing once.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    time::{Duration, SystemTime},
};

use anyhow::{Context, Result};
use backstory_capture::{filter, project};
use backstory_model::{Event, EventKind, EventSource, Host, ProjectIdentity, Timestamp};
use backstory_transcript::{
    self as transcript, Position, Record, RecordKind, SessionFacts, Skipped, Transcript,
};
use serde_json::{Value, json, value::RawValue};

/// What a transcript tells, as events.
#[derive(Debug, Default)]
pub struct TranscriptEvents {
    /// The events, in the order of the file; sub-agents' come last.
    pub events: Vec<Event>,
    /// Where it happened.
    pub project: Option<ProjectIdentity>,
    /// Lines that are no JSON.
    pub damaged: u64,
}

/// Says whether an event is a prompt of the person.
pub fn is_prompt(event: &Event) -> bool {
    if event.kind != EventKind::UserPromptSubmit {
        return false;
    }
    let payload: Value = serde_json::from_str(&event.payload).unwrap_or_default();
    !filter::is_machine_made(payload["prompt"].as_str().unwrap_or_default())
}

/// Says whether an event is a tool use.
pub fn is_tool_use(event: &Event) -> bool {
    matches!(event.kind, EventKind::PostToolUse | EventKind::PostToolUseFailure)
}

/// A session is taken to have ended after this long.
const ENDED_AFTER: Duration = Duration::from_secs(24 * 3600);

/// Reads a session and its sub-agents.
pub fn read(
    transcript: &Transcript,
    settings: &filter::CaptureSettings,
    now: SystemTime,
) -> Result<TranscriptEvents> {
    let mut teller = EventBuilder {
        session_id: transcript.session_id.clone(),
        ..EventBuilder::default()
    };
    let (position, skipped) = teller.file(&transcript.path, Position::default(), settings)?;
    teller.end_turn();
    let mut damaged = skipped.damaged;
    for agent in &transcript.agents {
        teller.agent = Some(agent.agent_id.clone());
        // Sub-agents of private turns are private: the session's own file knows.
        let from = Position::default().with_private_turns_of(&position);
        let (_, skipped) = teller.file(&agent.path, from, settings)?;
        damaged += skipped.damaged;
        teller.end_agent();
    }
    // Transcripts do not tell of the end. One that nobody wrote to for so long has ended.
    if now
        .duration_since(transcript.modified)
        .is_ok_and(|age| age > ENDED_AFTER)
        && !teller.told.events.is_empty()
    {
        teller.event(EventKind::SessionEnd, &json!({"reason": "imported"}));
    }
    let folder = transcript.path.parent().unwrap_or(&transcript.path);
    let project = place(&teller.facts, folder);
    for event in &mut teller.told.events {
        let opens = matches!(event.kind, EventKind::UserPromptSubmit);
        event.project = opens.then(|| project.clone());
    }
    Ok(TranscriptEvents {
        project: Some(project),
        damaged,
        ..teller.told
    })
}

/// Finds the project. Where the session's folder says nothing, the transcript's own stands for it.
fn place(facts: &SessionFacts, folder: &Path) -> ProjectIdentity {
    let cwd = facts
        .cwd
        .as_deref()
        .map(Path::new)
        .filter(|cwd| cwd.is_absolute());
    let found = project::locate(cwd.unwrap_or(folder)).facts;
    // The branch of that time, not of today; nor a worktree that may be gone.
    ProjectIdentity {
        branch: facts.git_branch.clone().filter(|branch| !branch.is_empty()),
        ..found
    }
}

/// Retells records as events.
#[derive(Debug, Default)]
struct EventBuilder {
    session_id: String,
    agent: Option<String>,
    facts: SessionFacts,
    /// What was said since the last tool use.
    said: Vec<String>,
    /// Tool uses whose result is still to come: name, input, and what was said before.
    open: BTreeMap<String, (String, String, Vec<String>)>,
    /// A turn of the session has begun and not ended.
    in_turn: bool,
    /// The ids of the person's prompts.
    prompt_ids: BTreeSet<String>,
    last: (Timestamp, u64),
    told: TranscriptEvents,
}

impl EventBuilder {
    fn file(
        &mut self,
        path: &Path,
        from: Position,
        settings: &filter::CaptureSettings,
    ) -> Result<(Position, Skipped)> {
        let attempt = || format!("could not read {}", path.display());
        let mut reader = transcript::open(path, from, settings).with_context(attempt)?;
        for record in reader.by_ref().filter(|record| !record.copied) {
            self.record(record);
        }
        if let Some(error) = reader.error() {
            return Err(anyhow::anyhow!("{error}").context(attempt()));
        }
        Ok((
            reader.position().cloned().unwrap_or_default(),
            reader.skipped().clone(),
        ))
    }

    fn record(&mut self, record: Record) {
        let agent = record.agent_id.or_else(|| self.agent.clone());
        self.last = (Timestamp::from_millis(record.at_ms), record.offset);
        match record.kind {
            RecordKind::Facts(facts) if agent.is_none() => self.facts = facts,
            RecordKind::Prompt {
                text,
                prompt_id,
                machine_made,
            } if agent.is_none() => {
                if let Some(id) = prompt_id.as_ref().filter(|_| !machine_made) {
                    self.forget_copies(id);
                }
                self.end_turn();
                self.in_turn = true;
                self.event(
                    EventKind::UserPromptSubmit,
                    &json!({"prompt": text, "prompt_id": prompt_id}),
                );
            }
            RecordKind::Prose { text, .. } => self.said.push(text),
            RecordKind::Compaction { summary } if agent.is_none() => {
                self.event(EventKind::PreCompact, &json!({"compact_summary": summary}));
            }
            RecordKind::ToolUse { id, name, input } => {
                let said = std::mem::take(&mut self.said);
                self.open.insert(id, (name, input, said));
            }
            RecordKind::ToolResult {
                id,
                is_error,
                text,
                result,
            } => self.result(&id, is_error, text, result.as_deref(), agent),
            _ => {}
        }
    }

    /// In a terminal a fork does not mark what it copies, but gives it the id of its first own prompt: when that comes again,
    /// all there is was told by another session.
    fn forget_copies(&mut self, prompt_id: &str) {
        let is_known = !self.prompt_ids.insert(prompt_id.to_owned());
        if is_known && self.prompt_ids.len() == 1 {
            self.said.clear();
            self.open.clear();
            self.in_turn = false;
            self.told = TranscriptEvents::default();
        }
    }

    fn result(
        &mut self,
        id: &str,
        is_error: bool,
        text: Option<String>,
        result: Option<&str>,
        agent: Option<String>,
    ) {
        let Some((name, input, said)) = self.open.remove(id) else {
            return;
        };
        let mut payload =
            json!({"tool_name": name, "tool_use_id": id, "tool_input": parsed(&input), "said": said});
        if let Some(agent) = agent {
            payload["agent_id"] = agent.into();
        }
        if is_error {
            payload["error"] = text.unwrap_or_default().into();
            self.event(EventKind::PostToolUseFailure, &payload);
        } else {
            payload["tool_response"] = result.map_or_else(|| text.into(), parsed);
            self.event(EventKind::PostToolUse, &payload);
        }
    }

    /// Ends the turn under way, with the agent's last words if it had any.
    fn end_turn(&mut self) {
        let said = std::mem::take(&mut self.said);
        self.open.clear();
        if std::mem::take(&mut self.in_turn) && !said.is_empty() {
            self.event(
                EventKind::Stop,
                &json!({"last_assistant_message": said.join("\n\n")}),
            );
        }
    }

    fn end_agent(&mut self) {
        let report = std::mem::take(&mut self.said).pop();
        self.open.clear();
        if let (Some(agent), Some(report)) = (self.agent.take(), report) {
            let payload =
                json!({"agent_id": agent, "agent_type": "sub-agent", "last_assistant_message": report});
            self.event(EventKind::SubagentStop, &payload);
        }
    }

    fn event(&mut self, kind: EventKind, payload: &Value) {
        let (at, offset) = self.last;
        let agent = self.agent.as_deref().unwrap_or("session");
        self.told.events.push(Event {
            // Sorts among the keys of live events, and is the same every time.
            key: format!(
                "{:020}-import-{}-{agent}-{offset:012}-{kind}",
                i128::from(at.as_millis()) * 1_000_000,
                self.session_id
            ),
            source: EventSource::Import,
            kind,
            host: Host::claude_code(),
            at,
            session_id: self.session_id.clone(),
            project: None,
            payload: payload.to_string(),
        });
    }
}

/// JSON that was checked when it was read; anything else stays text.
fn parsed(json: &str) -> Value {
    let raw: Result<&RawValue, _> = serde_json::from_str(json);
    raw.ok()
        .and_then(|raw| serde_json::from_str(raw.get()).ok())
        .unwrap_or_else(|| json.into())
}
