//! Distil: from a turn, all that was said and done after one prompt, to memories worth reading.
//!
//! Pure functions: no store, no clock, no network. `turn` is what goes in, `memory` what comes out, `builtin` the
//! rules that need no model.

mod builtin;
mod memory;
mod turn;

pub use builtin::distil;
pub use memory::{Distilled, NewObservation, NewPassage, NewSummary, PassageKind};
pub use turn::{Outcome, Step, ToolUse, Turn, TurnEnd};
