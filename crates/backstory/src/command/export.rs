//! `backstory export`: writes memories as lines of JSON.

use std::io::{self, BufWriter, Write};

use anyhow::{Context, Result};
use backstory_engine::engine::Engine;

use super::{ExitStatus, open_store, project};

/// Write memories to standard output, one JSON object per line
///
/// `backstory import jsonl` reads them, here or on another machine.
#[derive(clap::Args)]
pub(crate) struct Export {
    /// Only this project: its folder name, a path inside it, or its id
    #[arg(long, value_name = "P", conflicts_with = "all")]
    project: Option<String>,
    /// All projects (default)
    #[arg(long)]
    all: bool,
}

pub(crate) fn run(engine: &Engine, arguments: &Export) -> Result<ExitStatus> {
    let Some(store) = open_store(engine)? else {
        return Ok(ExitStatus::Done);
    };
    let project = arguments
        .project
        .as_deref()
        .map(|named| project(engine, &store, named))
        .transpose()?;
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
