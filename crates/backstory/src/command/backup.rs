//! `backstory backup`: a copy of everything that is remembered.

use std::path::PathBuf;

use anstream::println;
use anyhow::{Result, bail};
use backstory_engine::error::{HintContext as _, HintedError};
use backstory_engine::{
    backups::{self, BackupKind},
    engine::Engine,
};
use serde_json::json;

use super::{ExitStatus, open_store};
use crate::output::size;

/// Back up the database to one file
///
/// Works while agents and the worker do. The copy is checked from end to end before it gets its name, and only you can
/// read it. The worker takes one by itself every day and keeps the last seven (`retention.backups`); those taken by hand
/// stay until you delete them. `backstory restore` brings a copy back.
#[derive(clap::Args)]
pub(crate) struct Backup {
    /// Where to [default: a file with the time in its name in the folder `backups`]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(engine: &Engine, arguments: &Backup) -> Result<ExitStatus> {
    let Some(store) = open_store(engine)? else {
        bail!(HintedError::new("no memories yet").hint("there is nothing to back up"));
    };
    let path = match &arguments.file {
        Some(file) => std::path::absolute(file)?,
        None => backups::path_for(&engine.home, BackupKind::ByHand, engine.clock.timestamp()),
    };
    // Our own folder is made when it is missing; another that is not there is a slip of the hand.
    let folder = path.parent().filter(|_| arguments.file.is_some());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        let error = HintedError::new(format_args!("there is no folder {}", folder.display()));
        bail!(error.hint("create it first, or name another"));
    }
    if path.exists() {
        let error = HintedError::new(format_args!("{} exists already", path.display()));
        bail!(error.hint("name another file, or delete that one first"));
    }
    let bytes = store.back_up(&path).hint_context(
        "could not make a backup",
        "is there room on the disk, and may you write there?",
    )?;
    match arguments.json {
        true => println!("{}", json!({"path": path, "bytes": bytes})),
        false => println!("{} ({})", path.display(), size(bytes)),
    }
    Ok(ExitStatus::Done)
}
