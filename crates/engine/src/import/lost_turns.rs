//! Finds the turns of a live session that hooks did not record.
//!
//! Hooks can fail in the middle of a session: the disk was full, the program was missing. A turn counts as lost only if
//! nothing of it was recorded. A turn that was recorded in part stays as it is: what is missing may have been left out on
//! purpose, such as the content of an excluded file.

use std::time::Duration;

use backstory_model::{Event, EventKind, Timestamp, is_machine_made};
use backstory_store::LiveSession;
use serde::Deserialize;

use super::ImportedEvent;

/// State of capture in the folder of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureState {
    /// Hooks record events.
    On,
    /// The user switched capture off: no turn is lost.
    Off,
}

/// The fields of an imported event that tell its turn.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Fields {
    prompt: Option<String>,
    prompt_id: Option<String>,
    last_assistant_message: Option<String>,
}

/// A turn of the transcript.
struct Turn {
    prompt_id: Option<String>,
    started_at: Timestamp,
    machine_made: bool,
    /// The agent did or said something.
    is_answered: bool,
}

/// Tolerated difference between the time of a prompt in the transcript and the time at which a hook recorded it.
const PROMPT_TOLERANCE: Duration = Duration::from_secs(5);

impl Turn {
    /// Reports whether a hook recorded the prompt.
    fn is_prompt_recorded(&self, live: &LiveSession) -> bool {
        match &self.prompt_id {
            Some(id) => live.prompt_ids.get(id) == Some(&true),
            None => {
                let near = self.started_at - PROMPT_TOLERANCE..self.started_at + PROMPT_TOLERANCE;
                live.prompts_at.iter().any(|at| near.contains(at))
            }
        }
    }

    /// Reports whether a hook recorded anything of the turn, which ended before `end`.
    fn is_recorded(&self, live: &LiveSession, end: Timestamp) -> bool {
        let is_known = self
            .prompt_id
            .as_ref()
            .is_some_and(|id| live.prompt_ids.contains_key(id));
        is_known || live.work_at.iter().any(|at| (self.started_at..end).contains(at))
    }
}

/// Returns the events of a transcript from before the first event that a hook recorded, and those of lost turns.
pub fn without_recorded(
    events: Vec<ImportedEvent>,
    live: &LiveSession,
    capture: CaptureState,
) -> Vec<ImportedEvent> {
    let (turns, turn_of) = turns(&events);
    let mut lost = Vec::with_capacity(turns.len());
    for (index, turn) in turns.iter().enumerate() {
        let end = turns
            .get(index + 1)
            .map_or(Timestamp::MAX, |next| next.started_at);
        // No hook reports some machine-made prompts, so such a turn alone does not show a failure.
        let may_be_lost = !turn.machine_made || lost.last() == Some(&true);
        lost.push(
            capture == CaptureState::On && may_be_lost && turn.is_answered && !turn.is_recorded(live, end),
        );
    }
    let is_new = |event: &Event, turn: Option<usize>| {
        let is_covered = turn.is_some_and(|turn| turns[turn].is_prompt_recorded(live));
        (event.at < live.first_at && !is_covered) || turn.is_some_and(|turn| lost[turn])
    };
    events
        .into_iter()
        .zip(turn_of)
        .filter(|(event, turn)| is_new(&event.head, *turn))
        .map(|(event, _)| event)
        .collect()
}

/// Returns the turns of a transcript, and for each event the index of its turn.
fn turns(events: &[ImportedEvent]) -> (Vec<Turn>, Vec<Option<usize>>) {
    let mut turns: Vec<Turn> = Vec::new();
    let mut turn_of = Vec::with_capacity(events.len());
    for ImportedEvent { head: event, payload } in events {
        let fields: Fields = serde_json::from_str(&payload.text()).unwrap_or_default();
        match event.kind {
            EventKind::UserPromptSubmit => turns.push(Turn {
                machine_made: fields.prompt.as_deref().is_some_and(is_machine_made),
                prompt_id: fields.prompt_id,
                started_at: event.at,
                is_answered: false,
            }),
            EventKind::SessionStart | EventKind::SessionEnd | EventKind::PreCompact => {
                turn_of.push(None);
                continue;
            }
            EventKind::PostToolUse
            | EventKind::PostToolUseFailure
            | EventKind::Stop
            | EventKind::SubagentStop => {
                // Background work belongs to the prompt that started it.
                let by_id = turns
                    .iter()
                    .rposition(|turn| turn.prompt_id.is_some() && turn.prompt_id == fields.prompt_id);
                let index = by_id.or(turns.len().checked_sub(1));
                if let Some(index) = index {
                    let is_answer = event.kind != EventKind::Stop || fields.last_assistant_message.is_some();
                    turns[index].is_answered |= is_answer;
                }
                turn_of.push(index);
                continue;
            }
        }
        turn_of.push(turns.len().checked_sub(1));
    }
    (turns, turn_of)
}
