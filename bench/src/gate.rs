//! Does memory speak up at the right prompts, and keep silent at the others?
//!
//! Thirty-six past sessions of three code bases (`data/gate`) go through the real hooks. Then 120 prompts are typed into
//! new sessions: half of them resemble past work, half must bring nothing.

mod answers;
mod handles;
mod memory;
mod past;
mod scores;

use anyhow::Result;

use crate::{Bench, report::Section};
use memory::Memory;

/// What the command line wants of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) show: Show,
    pub(crate) promise: Promise,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Show {
    /// How much comes back.
    #[default]
    Table,
    /// Also each prompt, with what came.
    List,
    /// What search says to each prompt, for choosing a threshold.
    Scores,
}

/// Whether what was promised must hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Promise {
    #[default]
    Kept,
    Reported,
}

pub(crate) fn measure(bench: &Bench) -> Result<Section> {
    let memory = Memory::prepare(bench)?;
    match bench.gate.show {
        Show::Table | Show::List => answers::measure(&memory, bench.gate),
        Show::Scores => scores::measure(&memory),
    }
}
