//! Relevance gate: precision and recall of injections at prompts.
//!
//! 36 past sessions of three projects (`data/gate`) run through the real hooks. Then 120 prompts are sent to new sessions:
//! half of them resemble past work, the other half must recall nothing.

mod answers;
pub(crate) mod handles;
mod memory;
mod past;
mod scores;

use anyhow::Result;

use crate::{Bench, report::Section};
use memory::Memory;

/// Command-line options of this benchmark.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    pub(crate) show: Show,
    pub(crate) limits: Limits,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Show {
    /// Totals only.
    #[default]
    Table,
    /// Also each prompt with its result.
    List,
    /// Search scores of each prompt, to choose a threshold.
    Scores,
}

/// Treatment of missed limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Limits {
    #[default]
    Enforced,
    Reported,
}

pub(crate) fn measure(bench: &Bench) -> Result<Section> {
    let memory = Memory::prepare(bench)?;
    match bench.gate.show {
        Show::Table | Show::List => answers::measure(&memory, bench.gate),
        Show::Scores => scores::measure(&memory),
    }
}
