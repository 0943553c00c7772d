//! The memory of one session: the output of the built-in distiller.

pub use backstory_model::{Checkpoint, Episode, Handover, ItemRef, SessionMemory, SessionObservation};

use crate::episodes::{self, Timeline};
use crate::memories::{self, Ending};
use crate::TurnLog;

/// Derives the memory of a session from the work logs of its turns, in order. Pure: the same logs give the same memory.
pub fn compose(logs: &[TurnLog]) -> SessionMemory {
    let timeline = Timeline::new(logs);
    let spans = episodes::cut(&timeline);
    let ending = Ending::of(&timeline);
    let obstacles = memories::find_obstacles(&timeline, &ending);
    let observations = memories::write(&timeline, &spans, &ending, &obstacles);
    SessionMemory {
        observations,
        ..SessionMemory::default()
    }
}
