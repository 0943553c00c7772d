//! Reads a stored turn, and the part of the transcript that belongs to it, for the distiller.

use std::path::Path;

use backstory_capture::filter;
use backstory_distill::TurnInput;
use backstory_store::StoredTurn;
use backstory_transcript::{self as transcript, Position, RecordKind};

use super::final_message;
use crate::{
    sanitize::Sanitizer,
    turns::{self, TurnHead, TurnRecords},
};

/// A turn with everything that is known of it.
#[derive(Debug)]
pub(super) struct Assembled {
    /// The turn.
    pub(super) turn: TurnInput,
    /// The position up to which the transcript was read for it.
    pub(super) position: Option<Position>,
}

/// Puts a turn together.
pub(super) fn assemble(stored: &StoredTurn, settings: &filter::CaptureSettings) -> Assembled {
    let TranscriptPart { records, position } = read_transcript(stored, settings);
    let head = TurnHead {
        number: 0,
        started_ms: stored.events.first().map_or(0, |event| event.at.as_millis()),
        prompt: stored.prompt.clone(),
        machine_made: stored.machine_made,
        root: Some(stored.root.clone()),
        branch: stored.branch.clone(),
        is_ended: stored.is_ended,
        goes_on: stored.goes_on,
    };
    let mut turn = turns::assemble(head, &stored.events, records.into_steps());
    if turn.last_message.is_none() && stored.is_ended {
        let message = final_message::of(stored);
        turn.last_message = message.and_then(|message| Sanitizer::new(settings.redact).text(&message));
    }
    Assembled { turn, position }
}

/// The part of a transcript that belongs to a turn.
#[derive(Debug, Default)]
struct TranscriptPart {
    records: TurnRecords,
    position: Option<Position>,
}

/// Reads the part of the transcript that is new. Without a transcript, or with one that cannot be read, the events alone
/// must do.
fn read_transcript(turn: &StoredTurn, settings: &filter::CaptureSettings) -> TranscriptPart {
    let Some(path) = turn.transcript_path.as_deref() else {
        return TranscriptPart::default();
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
        return TranscriptPart::default();
    };
    let mut records = TurnRecords::default();
    let mut begun = None;
    let mut is_over = false;
    for record in reader
        .by_ref()
        .filter(|record| !record.copied && record.agent_id.is_none())
    {
        if let RecordKind::Prompt { text, prompt_id, .. } = &record.kind {
            let fit = fit(turn, text, prompt_id.as_deref());
            // A later turn.
            if begun.is_some() && fit < begun {
                is_over = true;
                break;
            }
            // Records before the turn's own prompt belong to an earlier turn that ended before they were written.
            begun = begun.max(fit);
            records = TurnRecords::default();
        } else {
            records.push(record.kind, record.at_ms, record.offset);
        }
    }
    // The later turn looks for its own beginning from the same place.
    let position = if is_over { None } else { reader.position().cloned() };
    TranscriptPart { records, position }
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
