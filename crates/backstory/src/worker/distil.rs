//! Turns events into memories: one share of the queue at a time, one turn after the other.
//!
//! The unit of work is a turn. Whenever events of a turn come in, the turn is distilled as a whole, from all its events
//! and what the transcript adds, in place of what was made of it before: a turn that is killed half way, claimed twice
//! or still running needs no special treatment.

use std::{
    collections::{BTreeMap, BTreeSet},
    panic::{self, AssertUnwindSafe},
    path::Path,
};

use anyhow::{Context, Result, anyhow};
use backstory_capture::{
    keep,
    transcript::{self, Position, What},
};
use backstory_distill::{Outcome, Step, ToolUse, Turn, TurnEnd, distil};
use backstory_model::EventKind;
use backstory_store::{Claim, Store, TurnEvent, TurnToDistil};
use serde_json::Value;

use crate::clock;

/// How long a share of the queue is kept for one worker: far longer than any share takes.
const LEASE_MS: i64 = 60_000;

/// The most events of one share, so that sessions take turns.
const SHARE: u32 = 200;

/// Works until nothing in the queue is ready, and tells of each share. Returns how many events were finished.
pub(crate) fn distil_all(
    store: &mut Store,
    settings: &keep::Settings,
    tell: &mut dyn FnMut(usize),
) -> Result<usize> {
    let mut finished = 0;
    let mut after = 0;
    while let Some(claim) = store.claim(clock::now_ms(), LEASE_MS, after, SHARE)? {
        after = claim.session_db_id;
        let ids: Vec<i64> = claim.events.iter().map(|event| event.id).collect();
        // A bug in a rule must cost one turn, not the worker.
        let outcome = panic::catch_unwind(AssertUnwindSafe(|| distil_share(store, &claim, settings)))
            .unwrap_or_else(|_| Err(anyhow!("the distiller panicked")));
        match outcome {
            Ok(()) => {
                store.finish(&ids)?;
                finished += ids.len();
                tell(ids.len());
            }
            Err(error) => store.fail(&ids, &format!("{error:#}"), clock::now_ms())?,
        }
    }
    Ok(finished)
}

fn distil_share(store: &mut Store, claim: &Claim, settings: &keep::Settings) -> Result<()> {
    let turns: BTreeSet<i64> = claim.events.iter().filter_map(|event| event.turn_id).collect();
    for id in turns {
        let Some(stored) = store.turn_to_distil(id)? else {
            continue;
        };
        if !stored.is_ended && tool_uses(&stored) < EPISODE {
            continue;
        }
        let heard = listen(&stored, settings);
        let turn = turn(&stored, &heard.prose);
        let distilled = distil(&turn);
        let at_ms = stored.events.last().map_or(0, |event| event.at_ms);
        // A turn that goes on is read again from the same place.
        let read = heard.position.filter(|_| stored.is_ended);
        let read = read
            .map(|position| serde_json::to_string(&position))
            .transpose()?;
        store
            .replace_turn(&stored, &distilled, read.as_deref(), at_ms)
            .context("could not store the memories")?;
    }
    Ok(())
}

/// A turn that still runs is worth a look when it has used this many tools.
const EPISODE: usize = 40;

fn tool_uses(turn: &TurnToDistil) -> usize {
    turn.events
        .iter()
        .filter(|event| event.kind.starts_with("post-tool-use"))
        .count()
}

/// What the transcript adds to the events of a turn.
#[derive(Debug, Default)]
struct Heard {
    prose: Prose,
    position: Option<Position>,
}

/// What the agent said, by the tool use that it came before.
#[derive(Debug, Default)]
struct Prose {
    before: BTreeMap<String, Vec<String>>,
    at_end: Vec<String>,
}

/// Reads what is new in the transcript. Without one, or with one that cannot be read, the events alone must do.
fn listen(turn: &TurnToDistil, settings: &keep::Settings) -> Heard {
    let Some(path) = turn.transcript_path.as_deref() else {
        return Heard::default();
    };
    let from = turn
        .transcript_read
        .as_deref()
        .and_then(|read| serde_json::from_str(read).ok())
        .unwrap_or_default();
    let path = Path::new(path);
    let reader = transcript::open(path, from, settings)
        .or_else(|_| transcript::open(path, Position::default(), settings));
    let Ok(mut reader) = reader else {
        return Heard::default();
    };
    let mut prose = Prose::default();
    let (mut has_begun, mut is_over) = (false, false);
    for record in reader
        .by_ref()
        .filter(|record| !record.copied && record.agent_id.is_none())
    {
        match record.what {
            // A later turn.
            What::Prompt { .. } if has_begun => {
                is_over = true;
                break;
            }
            // What stands before the turn's own prompt is an earlier turn's: its last words, which came too late for it.
            What::Prompt { text, prompt_id, .. } => {
                has_begun = if prompt_id.is_some() {
                    prompt_id == turn.prompt_id
                } else {
                    Some(text) == turn.prompt
                };
                prose = Prose::default();
            }
            What::Prose { text, .. } => prose.at_end.push(text),
            What::ToolUse { id, .. } => {
                let said = std::mem::take(&mut prose.at_end);
                prose.before.entry(id).or_default().extend(said);
            }
            _ => {}
        }
    }
    // The later turn looks for its own beginning from the same place.
    let position = if is_over { None } else { reader.position().cloned() };
    Heard { prose, position }
}

/// Puts a turn together from its events and what was said between them.
fn turn(stored: &TurnToDistil, prose: &Prose) -> Turn {
    let mut steps = Vec::new();
    let mut last_message = None;
    let mut end = if stored.is_ended {
        TurnEnd::Interrupted
    } else {
        TurnEnd::Open
    };
    for event in &stored.events {
        // Checked when it was taken in.
        let payload: Value = serde_json::from_str(&event.payload).unwrap_or_default();
        let text = |name: &str| payload[name].as_str().map(ToOwned::to_owned);
        match EventKind::from_name(&event.kind) {
            Some(EventKind::PostToolUse | EventKind::PostToolUseFailure) => {
                let id = text("tool_use_id");
                let said = id.as_ref().and_then(|id| prose.before.get(id));
                steps.extend(said.into_iter().flatten().cloned().map(Step::Prose));
                // Imported events bring what was said before them.
                let brought = payload["said"].as_array().into_iter().flatten();
                steps.extend(
                    brought
                        .filter_map(|said| said.as_str())
                        .map(|said| Step::Prose(said.to_owned())),
                );
                steps.push(Step::Tool(tool_use(event, payload, id)));
            }
            Some(EventKind::SubagentStop) => steps.push(Step::SubAgent {
                agent_id: text("agent_id"),
                agent_type: text("agent_type"),
                report: text("last_assistant_message").unwrap_or_default(),
            }),
            Some(EventKind::Stop) => {
                last_message = text("last_assistant_message");
                let runs_on = payload["background_tasks"]
                    .as_array()
                    .is_some_and(|tasks| !tasks.is_empty());
                end = if runs_on {
                    TurnEnd::Background
                } else {
                    TurnEnd::Stopped
                };
            }
            _ => {}
        }
    }
    steps.extend(prose.at_end.iter().cloned().map(Step::Prose));
    Turn {
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
        Some(error) if event.kind == EventKind::PostToolUseFailure.name() => {
            Outcome::Failed(error.to_owned())
        }
        _ if payload["tool_response"].is_null() => Outcome::Unknown,
        _ => Outcome::Answered(payload["tool_response"].take()),
    };
    ToolUse {
        id,
        agent_id: payload["agent_id"].as_str().map(ToOwned::to_owned),
        name: payload["tool_name"].as_str().unwrap_or_default().to_owned(),
        input: payload["tool_input"].take(),
        outcome,
        at_ms: event.at_ms,
    }
}
