//! The memory of one session: the output of the built-in distiller.

pub use backstory_model::{Checkpoint, Episode, Handover, ItemRef, SessionMemory, SessionObservation};

use crate::TurnLog;

/// Derives the memory of a session from the work logs of its turns, in order. Pure: the same logs give the same memory.
pub fn compose(_logs: &[TurnLog]) -> SessionMemory {
    SessionMemory::default()
}
