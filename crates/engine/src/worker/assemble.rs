//! Puts a turn together: from its events, and from what the transcript adds to them.

use std::{collections::BTreeMap, path::Path};

use backstory_capture::filter;
use backstory_distill::{ToolOutcome, ToolUse, TurnEnd, TurnInput, TurnStep};
use backstory_model::EventKind;
use backstory_store::{StoredTurn, TurnEvent};
use backstory_transcript::{self as transcript, Position, RecordKind};
use serde_json::Value;

use super::final_message;
use crate::sanitize::Sanitizer;

/// A turn, whole.
#[derive(Debug)]
pub(super) struct Assembled {
    /// The turn.
    pub(super) turn: TurnInput,
    /// How far the transcript was read for it.
    pub(super) position: Option<Position>,
}

/// Puts a turn together.
pub(super) fn assemble(stored: &StoredTurn, settings: &filter::CaptureSettings) -> Assembled {
    let heard = read_transcript(stored, settings);
    let mut turn = turn(stored, &heard.prose);
    if turn.last_message.is_none() && stored.is_ended {
        let words = final_message::of(stored);
        turn.last_message = words.and_then(|words| Sanitizer::new(settings.redact).text(&words));
    }
    Assembled {
        turn,
        position: heard.position,
    }
}

/// What the transcript adds to the events of a turn.
#[derive(Debug, Default)]
struct TranscriptAddition {
    prose: Prose,
    position: Option<Position>,
}

/// What the agent said and summed up, by the tool use that it came before.
#[derive(Debug, Default)]
struct Prose {
    before: BTreeMap<String, Vec<TurnStep>>,
    at_end: Vec<TurnStep>,
}

/// Reads what is new in the transcript. Without one, or with one that cannot be read, the events alone must do.
fn read_transcript(turn: &StoredTurn, settings: &filter::CaptureSettings) -> TranscriptAddition {
    let Some(path) = turn.transcript_path.as_deref() else {
        return TranscriptAddition::default();
    };
    let from = turn
        .transcript_from
        .as_deref()
        .and_then(|read| serde_json::from_str(read).ok())
        .unwrap_or_default();
    let path = Path::new(path);
    let reader = transcript::open(path, from, settings)
        .or_else(|_| transcript::open(path, Position::default(), settings));
    let Ok(mut reader) = reader else {
        return TranscriptAddition::default();
    };
    let mut prose = Prose::default();
    let mut begun = None;
    let mut is_over = false;
    for record in reader
        .by_ref()
        .filter(|record| !record.copied && record.agent_id.is_none())
    {
        match record.kind {
            RecordKind::Prompt { text, prompt_id, .. } => {
                let fit = fit(turn, &text, prompt_id.as_deref());
                // A later turn.
                if begun.is_some() && fit < begun {
                    is_over = true;
                    break;
                }
                // What stands before the turn's own prompt is an earlier turn's: its last words, which came too late for it.
                begun = begun.max(fit);
                prose = Prose::default();
            }
            RecordKind::Prose { text, .. } => prose.at_end.push(TurnStep::Prose(text)),
            RecordKind::Compaction { summary } => prose.at_end.push(TurnStep::Compaction(summary)),
            RecordKind::ToolUse { id, .. } => {
                let said = std::mem::take(&mut prose.at_end);
                prose.before.entry(id).or_default().extend(said);
            }
            _ => {}
        }
    }
    // The later turn looks for its own beginning from the same place.
    let position = if is_over { None } else { reader.position().cloned() };
    TranscriptAddition { prose, position }
}

/// How well a prompt of the transcript fits a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PromptMatch {
    /// The same id, other words. A fork gives all turns that it copies the id of its first own turn, and what a person adds
    /// while the agent works has the id of what was asked first.
    Id,
    /// The turn's own.
    Whole,
}

fn fit(turn: &StoredTurn, text: &str, prompt_id: Option<&str>) -> Option<PromptMatch> {
    let same_words = turn.prompt.as_deref() == Some(text);
    match prompt_id {
        Some(id) if Some(id) != turn.prompt_id.as_deref() => None,
        _ if same_words => Some(PromptMatch::Whole),
        Some(_) => Some(PromptMatch::Id),
        None => None,
    }
}

/// Puts a turn together from its events and what was said between them.
fn turn(stored: &StoredTurn, prose: &Prose) -> TurnInput {
    let mut steps = Vec::new();
    let mut last_message = None;
    let mut end = match (stored.is_ended, stored.goes_on) {
        (false, _) => TurnEnd::Open,
        (true, false) => TurnEnd::Interrupted,
        // The end of the next turn is the end of this one too.
        (true, true) => TurnEnd::Stopped,
    };
    let mut running: Vec<String> = Vec::new();
    for event in &stored.events {
        // Checked when it was taken in.
        let payload: Value = serde_json::from_str(&event.payload).unwrap_or_default();
        let text = |name: &str| payload[name].as_str().map(ToOwned::to_owned);
        match event.kind {
            EventKind::PostToolUse | EventKind::PostToolUseFailure => {
                let id = text("tool_use_id");
                let said = id.as_ref().and_then(|id| prose.before.get(id));
                steps.extend(said.into_iter().flatten().cloned());
                // Imported events bring what was said before them.
                let brought = payload["said"].as_array().into_iter().flatten();
                steps.extend(
                    brought
                        .filter_map(|said| said.as_str())
                        .map(|said| TurnStep::Prose(said.to_owned())),
                );
                steps.push(TurnStep::Tool(tool_use(event, payload, id)));
            }
            EventKind::SubagentStop => {
                let agent_id = text("agent_id");
                running.retain(|task| Some(task) != agent_id.as_ref());
                if end == TurnEnd::Background && running.is_empty() {
                    end = TurnEnd::Stopped;
                }
                steps.push(TurnStep::SubAgent {
                    agent_id,
                    agent_type: text("agent_type"),
                    report: text("last_assistant_message").unwrap_or_default(),
                });
            }
            // Imported; a live session's stands in its transcript.
            EventKind::PreCompact => steps.extend(text("compact_summary").map(TurnStep::Compaction)),
            EventKind::Stop => {
                // Some hosts say the last words and the end of the turn in two events.
                last_message = text("last_assistant_message").or(last_message);
                let tasks = payload["background_tasks"].as_array().into_iter().flatten();
                running = tasks
                    .map(|task| task["id"].as_str().unwrap_or_default().to_owned())
                    .collect();
                end = if running.is_empty() {
                    TurnEnd::Stopped
                } else {
                    TurnEnd::Background
                };
            }
            _ => {}
        }
    }
    steps.extend(prose.at_end.iter().cloned());
    TurnInput {
        number: 0,
        started_ms: stored.events.first().map_or(0, |event| event.at_ms),
        prompt: stored.prompt.clone(),
        machine_made: stored.machine_made,
        root: Some(stored.root.clone()),
        branch: stored.branch.clone(),
        steps,
        last_message,
        end,
    }
}

fn tool_use(event: &TurnEvent, mut payload: Value, id: Option<String>) -> ToolUse {
    let outcome = match payload["error"].as_str() {
        Some(error) if event.kind == EventKind::PostToolUseFailure => ToolOutcome::Failed(error.to_owned()),
        _ if payload["tool_response"].is_null() => ToolOutcome::Unknown,
        _ => ToolOutcome::Answered(payload["tool_response"].take()),
    };
    ToolUse {
        id,
        agent_id: payload["agent_id"].as_str().map(ToOwned::to_owned),
        name: payload["tool_name"].as_str().unwrap_or_default().to_owned(),
        input: payload["tool_input"].take(),
        outcome,
        at_ms: event.at.as_millis(),
    }
}
