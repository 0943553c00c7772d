//! What comes out: memories that are not stored yet.

pub use backstory_model::{Distilled, NewObservation, NewPassage, NewSummary, PassageKind};
