//! Groups the events of a session into turns without a store, as `bench -- worklog` needs them.

use backstory_distill::TurnInput;
use backstory_model::{Event, EventKind, is_machine_made};
use backstory_store::TurnEvent;
use serde_json::Value;

use super::{TurnHead, assemble};

/// Turn whose events are being collected.
struct Draft<'e> {
    head: TurnHead,
    prompt_id: Option<String>,
    events: Vec<&'e Event>,
}

/// Assembles the turns of a session from its events, which are in the order in which the store would ingest them.
pub fn turns_of_session(events: &[Event], root: Option<&str>) -> Vec<TurnInput> {
    let mut drafts: Vec<Draft<'_>> = Vec::new();
    for event in events {
        let payload: Value = serde_json::from_str(&event.payload).unwrap_or_default();
        let prompt_id = payload["prompt_id"].as_str().map(ToOwned::to_owned);
        let opens = event.kind == EventKind::UserPromptSubmit;
        if opens || drafts.is_empty() {
            if let Some(last) = drafts.last_mut() {
                last.head.is_ended = true;
            }
            let prompt = payload["prompt"].as_str().map(ToOwned::to_owned);
            let head = TurnHead {
                number: u32::try_from(drafts.len() + 1).unwrap_or(u32::MAX),
                started_at: event.at,
                machine_made: prompt.as_deref().is_some_and(is_machine_made),
                prompt,
                root: root.map(ToOwned::to_owned),
                branch: event.project.as_ref().and_then(|project| project.branch.clone()),
                ..TurnHead::default()
            };
            drafts.push(Draft {
                head,
                prompt_id: prompt_id.clone(),
                events: Vec::new(),
            });
        }
        // Background work belongs to the prompt that requested it.
        let is_of_prompt = |draft: &Draft<'_>| draft.prompt_id.is_some() && draft.prompt_id == prompt_id;
        let at = drafts.iter().rposition(is_of_prompt).unwrap_or(drafts.len() - 1);
        if let Some(draft) = drafts.get_mut(at).filter(|_| !opens) {
            draft.head.is_ended |= matches!(event.kind, EventKind::Stop | EventKind::SessionEnd);
            draft.events.push(event);
        }
    }
    drafts.into_iter().map(turn).collect()
}

fn turn(mut draft: Draft<'_>) -> TurnInput {
    draft.events.sort_by_key(|event| &event.key);
    let mut events: Vec<TurnEvent> = draft
        .events
        .into_iter()
        .map(|event| TurnEvent {
            kind: event.kind,
            at: event.at,
            tool_use_id: None,
            payload: event.payload.clone().into(),
        })
        .collect();
    assemble(draft.head, &mut events, Vec::new()).into_whole()
}
