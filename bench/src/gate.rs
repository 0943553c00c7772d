//! Does memory speak up at the right prompts, and keep silent at the others?
//!
//! Thirty-six past sessions of three code bases (`data/gate`) go through the real hooks. Then 120 prompts are typed into
//! new sessions: half of them resemble past work, half must bring nothing.

mod memory;
mod past;
mod scores;

use anyhow::Result;

use crate::{Bench, report::Section};
use memory::Memory;

/// What is shown of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Show {
    /// What comes back.
    #[default]
    Table,
    /// What search says to each prompt, for choosing a threshold.
    Scores,
}

pub(crate) fn measure(bench: &Bench) -> Result<Section> {
    let memory = Memory::prepare(bench)?;
    match bench.gate {
        Show::Table | Show::Scores => scores::measure(&memory),
    }
}
