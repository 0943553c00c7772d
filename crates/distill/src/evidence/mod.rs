//! Reads a turn into evidence items and its work log.
//!
//! Every statement and action of a turn becomes an item, whole within the limits of capture, and an entry of the log that
//! points to it. Nothing is concluded here: episodes, memories and hand-over read the log.
//! The result depends on the turn alone, so the same events always give the same evidence.

mod changes;
mod clean;
mod commands;
mod content;
mod edit;
mod error;
mod files;
mod git;
mod path;
mod prose;
mod publication;
mod purpose;
mod recorder;
mod run;
mod shell;
mod statement;
mod text;
mod verdict;
mod written;

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
    recorder::record(turn)
}
