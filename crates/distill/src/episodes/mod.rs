//! Cuts a session into episodes: contiguous pieces of work.
//!
//! Reads the work log only. An episode depends on the steps before and inside it, never on later ones, so appending
//! turns extends or follows the last episode and leaves the others as they are.

mod boundary;
mod timeline;

pub(crate) use boundary::{Span, cut};
pub(crate) use timeline::{Step, StepKind, Timeline};
