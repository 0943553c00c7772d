//! `backstory import pack`: memories that others share in a folder of the repository.

use std::path::PathBuf;

use anstream::println;
use anyhow::{Context, Result};
use backstory_engine::{engine::Engine, team};
use serde_json::json;

use crate::{
    command::{ExitStatus, locate_here, open_for_writing},
    json_output::print_json,
    output::{DIM, count, one_line},
};

#[derive(clap::Args)]
pub(super) struct PackArguments {
    /// The folder with the packs
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(engine: &Engine, arguments: &PackArguments) -> Result<ExitStatus> {
    engine.checked_settings()?;
    let folder = std::env::current_dir().context("could not find the current folder")?;
    let project = locate_here(engine, &folder);
    engine.home.create()?;
    let mut store = open_for_writing(engine)?;
    let imported = team::pack::import(engine, &mut store, &project, &arguments.folder)?;
    if arguments.json {
        print_json(
            json!({"packs": imported.packs, "stored": imported.stored, "quarantined": imported.quarantined,
                "deleted": imported.deleted, "unreadable": imported.unreadable}),
        );
        return Ok(ExitStatus::Done);
    }
    println!(
        "{} of others: {} new or changed, {} withdrawn",
        count(imported.packs as u64, "pack"),
        imported.stored,
        imported.deleted
    );
    if imported.quarantined > 0 {
        println!(
            "{} failed a check and are kept from agents {DIM}(`backstory team status` lists them){DIM:#}",
            imported.quarantined
        );
    }
    if imported.unreadable > 0 {
        println!("{} cannot be read", count(imported.unreadable as u64, "record"));
    }
    for (name, reason) in &imported.skipped {
        println!("Skipped {}: {reason}", one_line(name, 60));
    }
    Ok(ExitStatus::Done)
}
