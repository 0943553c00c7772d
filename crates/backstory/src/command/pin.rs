//! `backstory pin`, `backstory unpin`: protect memories from replacement and show them first.

use anstream::println;
use anyhow::Result;
use backstory_engine::engine::Engine;
use backstory_model::Handle;

use super::{ExitStatus, open_store_with};

/// Pin memories: shown first, never replaced
#[derive(clap::Args)]
pub(crate) struct Pin {
    /// Handles: 123, S12, P34, N5, V678
    #[arg(value_name = "HANDLE", required = true)]
    handles: Vec<Handle>,
}

/// Unpin memories
#[derive(clap::Args)]
pub(crate) struct Unpin {
    /// Handles: 123, S12, P34, N5, V678
    #[arg(value_name = "HANDLE", required = true)]
    handles: Vec<Handle>,
}

pub(crate) fn pin(engine: &Engine, arguments: &Pin) -> Result<ExitStatus> {
    set(engine, &arguments.handles, true)
}

pub(crate) fn unpin(engine: &Engine, arguments: &Unpin) -> Result<ExitStatus> {
    set(engine, &arguments.handles, false)
}

fn set(engine: &Engine, handles: &[Handle], pinned: bool) -> Result<ExitStatus> {
    open_store_with(engine, handles)?.set_pinned(handles, pinned)?;
    let list: Vec<String> = handles.iter().map(ToString::to_string).collect();
    let verb = if pinned { "Pinned" } else { "Unpinned" };
    println!("{verb} {}", list.join(", "));
    Ok(ExitStatus::Done)
}
