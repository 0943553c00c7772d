//! Groups the events of a session into turns without a store, as `bench -- worklog` needs them.

use backstory_capture::filter::is_machine_made;
use backstory_distill::TurnInput;
use backstory_model::{Event, EventKind};
use backstory_store::TurnEvent;
use serde_json::Value;

use super::{TurnHead, assemble};

/// Puts the turns of a session together from its events, which are in the order in which the store would ingest them.
pub fn turns_of_session(events: &[Event], root: Option<&str>) -> Vec<TurnInput> {
    let mut turns: Vec<(TurnHead, Option<String>, Vec<(&str, TurnEvent)>)> = Vec::new();
    for event in events {
        let payload: Value = serde_json::from_str(&event.payload).unwrap_or_default();
        let prompt_id = payload["prompt_id"].as_str().map(ToOwned::to_owned);
        let opens = event.kind == EventKind::UserPromptSubmit;
        if opens || turns.is_empty() {
            if let Some((head, ..)) = turns.last_mut() {
                head.is_ended = true;
            }
            let prompt = payload["prompt"].as_str().map(ToOwned::to_owned);
            let head = TurnHead {
                number: u32::try_from(turns.len() + 1).unwrap_or(u32::MAX),
                started_ms: event.at.as_millis(),
                machine_made: prompt.as_deref().is_some_and(is_machine_made),
                prompt,
                root: root.map(ToOwned::to_owned),
                branch: event.project.as_ref().and_then(|project| project.branch.clone()),
                ..TurnHead::default()
            };
            turns.push((head, prompt_id.clone(), Vec::new()));
        }
        let of_prompt = turns
            .iter()
            .rposition(|(_, id, _)| id.is_some() && *id == prompt_id);
        let at = of_prompt.unwrap_or(turns.len() - 1);
        if let Some((head, _, events)) = turns.get_mut(at).filter(|_| !opens) {
            head.is_ended |= matches!(event.kind, EventKind::Stop | EventKind::SessionEnd);
            let event = (
                event.key.as_str(),
                TurnEvent {
                    kind: event.kind,
                    at: event.at,
                    payload: event.payload.clone(),
                },
            );
            events.push(event);
        }
    }
    let sorted = |mut events: Vec<(&str, TurnEvent)>| -> Vec<TurnEvent> {
        events.sort_by(|(one, _), (other, _)| one.cmp(other));
        events.into_iter().map(|(_, event)| event).collect()
    };
    let turns = turns.into_iter();
    turns
        .map(|(head, _, events)| assemble(head, &sorted(events), Vec::new()))
        .collect()
}
