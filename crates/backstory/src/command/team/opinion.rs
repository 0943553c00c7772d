//! `backstory team rate` and `replace`: what the user thinks of memories of others.

use anstream::println;
use anyhow::Result;
use backstory_engine::{engine::Engine, team::opinion};
use backstory_model::Handle;
use backstory_store::Verdict;
use clap::ValueEnum;

use crate::{
    command::{ExitStatus, open_store_with},
    output::DIM,
};

/// Say what you think of a memory of another person
///
/// Your agents are no longer told what you find wrong. Others see how many find a memory useful or wrong, and it ranks
/// accordingly; only its author can change it. Sent with the next exchange, if your role permits it.
#[derive(clap::Args)]
pub(super) struct Rate {
    /// Your opinion; `none` takes it back
    #[arg(value_enum)]
    verdict: Opinion,
    /// Handles of memories of others: T41
    #[arg(value_name = "HANDLE", required = true)]
    handles: Vec<Handle>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Opinion {
    Useful,
    Wrong,
    None,
}

/// Replace a memory of another person by another memory
///
/// The other memory is one that the team has: your own one that is shared, or one of a third person. Your agents are told
/// the replacement only; what you share names what it replaces.
#[derive(clap::Args)]
pub(super) struct Replace {
    /// The memory that is outdated or wrong: T41
    #[arg(value_name = "HANDLE")]
    handle: Handle,
    /// The memory that holds instead: N5, 123, T42
    #[arg(long, value_name = "HANDLE", required_unless_present = "undo")]
    by: Option<Handle>,
    /// Nothing replaces it any more
    #[arg(long, conflicts_with = "by")]
    undo: bool,
}

pub(super) fn rate(engine: &Engine, arguments: &Rate) -> Result<ExitStatus> {
    let mut store = open_store_with(engine, &[])?;
    let (verdict, told) = match arguments.verdict {
        Opinion::Useful => (Verdict::Useful, "useful"),
        Opinion::Wrong => (Verdict::Wrong, "wrong"),
        Opinion::None => (Verdict::None, "not rated any more"),
    };
    for &handle in &arguments.handles {
        opinion::rate(&mut store, handle, verdict)?;
        println!("{handle} is {told}, in your opinion");
    }
    Ok(ExitStatus::Done)
}

pub(super) fn replace(engine: &Engine, arguments: &Replace) -> Result<ExitStatus> {
    let mut store = open_store_with(engine, &[])?;
    let handle = arguments.handle;
    opinion::replace(&mut store, handle, arguments.by)?;
    match arguments.by {
        Some(by) => println!(
            "{handle} is replaced by {by} {DIM}(`backstory team replace {handle} --undo` takes it back){DIM:#}"
        ),
        None => println!("{handle} is valid again"),
    }
    Ok(ExitStatus::Done)
}
