//! `backstory team pack`: writes the shared memories of a project as a file for the repository.

use std::path::PathBuf;

use anstream::println;
use anyhow::Result;
use backstory_engine::{
    engine::Engine,
    team::{self, share::Sharer},
};

use super::here::project_here;
use crate::{
    command::{ExitStatus, open_store_with},
    output::{DIM, count},
};

/// Write your shared memories of this project into a folder of the repository
///
/// One file per device, sorted and signed: the same memories always give the same bytes, so it can be reviewed in a pull
/// request. Others read it with `backstory import pack DIR`.
#[derive(clap::Args)]
pub(super) struct PackFolder {
    /// The folder, for example `.backstory/team`
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(super) fn run(engine: &Engine, arguments: &PackFolder) -> Result<ExitStatus> {
    let project = project_here(engine)?;
    let mut store = open_store_with(engine, &[])?;
    let sharer = Sharer::new(engine)?;
    let written = team::pack::write(&sharer, &mut store, &project, &arguments.folder)?;
    let path = arguments.folder.join(&written.file);
    let records = count(written.records as u64, "record");
    if written.is_unchanged {
        println!("{records} in {} {DIM}(unchanged){DIM:#}", path.display());
    } else {
        println!("{records} in {}", path.display());
    }
    if written.records == 0 {
        println!("{DIM}`backstory share HANDLE` or `backstory team review` adds some.{DIM:#}");
    }
    Ok(ExitStatus::Done)
}
