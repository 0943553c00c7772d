//! Reads a turn into evidence items and its work log.

use backstory_model::EvidenceItem;

use crate::{TurnInput, TurnLog};

/// The evidence of one turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TurnEvidence {
    /// The items, in order; `LogEntry::item` is a position in this list.
    pub items: Vec<EvidenceItem>,
    /// The work log of the turn.
    pub log: TurnLog,
}

/// Reads a turn. Pure, and no turn makes it panic.
pub fn record(turn: &TurnInput) -> TurnEvidence {
    TurnEvidence {
        log: TurnLog {
            prompt: turn.prompt.clone().filter(|_| !turn.machine_made),
            machine_made: turn.machine_made,
            branch: turn.branch.clone(),
            end: turn.end,
            ..TurnLog::default()
        },
        ..TurnEvidence::default()
    }
}
