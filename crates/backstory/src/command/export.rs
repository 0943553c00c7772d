//! `backstory export`: writes memories as lines of JSON.

use std::io::{self, BufWriter, Write};

use anyhow::{Context, Result};
use backstory_engine::engine::Engine;

use super::{ExitStatus, open_store, scope::ScopeArguments};

/// Write memories to standard output, one JSON object per line
///
/// Of all projects, or of one. `backstory import jsonl` reads them, here or on another machine.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  backstory export > memories.jsonl       everything
  backstory export -p shop > shop.jsonl   one project")]
pub(crate) struct Export {
    #[command(flatten)]
    scope: ScopeArguments,
}

pub(crate) fn run(engine: &Engine, arguments: &Export) -> Result<ExitStatus> {
    let Some(store) = open_store(engine)? else {
        return Ok(ExitStatus::Done);
    };
    let project = arguments.scope.find_or_all(engine, &store)?;
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let written = store.each_line(project.as_ref(), |line| {
        serde_json::to_writer(&mut out, line)?;
        out.write_all(b"\n")
    })?;
    written
        .and_then(|()| out.flush())
        .context("could not write the memories")?;
    Ok(ExitStatus::Done)
}
