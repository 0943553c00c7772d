//! `backstory mcp`: MCP server on standard input and output.

use anyhow::{Context, Result};
use backstory_engine::engine::Engine;
use backstory_serve::serve_stdio;

use super::ExitStatus;

/// Run the MCP server (for agents)
///
/// Speaks the Model Context Protocol on standard input and output. Tools: search, timeline, `get_observations`, remember,
/// `file_history`, fix, correct. Searches the project of the folder in which it was started. Needs no running worker.
#[derive(clap::Args)]
pub(crate) struct Mcp {}

pub(crate) fn run(engine: &Engine, _: &Mcp) -> Result<ExitStatus> {
    engine.home.create()?;
    let folder = std::env::current_dir().ok();
    serve_stdio(engine.clone(), folder).context("could not serve on standard input and output")?;
    Ok(ExitStatus::Done)
}
