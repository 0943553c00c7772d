//! `backstory backup`: copies the database to a file.

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
use crate::{json_output::print_json, output::size};

/// Back up the database to one file
///
/// Works while agents and the worker are running. The copy is verified before it gets its name, and only you can read it.
/// The worker makes one every day and keeps the last seven (`retention.backups`); your own backups stay until you delete
/// them. `backstory restore` restores a backup.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  backstory backup                         into the folder `backups`
  backstory backup /mnt/usb/backstory.db   into a file of your choice")]
pub(crate) struct Backup {
    /// Target file [default: a file with the time in its name in the folder `backups`]
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
    // Our own folder is created if it is missing; any other missing folder is probably a typo.
    let folder = path.parent().filter(|_| arguments.file.is_some());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        let error = HintedError::new(format_args!("no such folder: {}", folder.display()));
        bail!(error.hint("create it first, or name another"));
    }
    if path.exists() {
        let error = HintedError::new(format_args!("{} already exists", path.display()));
        bail!(error.hint("name another file, or delete that one first"));
    }
    let bytes = store.back_up(&path).hint_context(
        "could not create the backup",
        "check the free disk space and your permissions",
    )?;
    match arguments.json {
        true => print_json(json!({"path": path, "bytes": bytes})),
        false => println!("{} ({})", path.display(), size(bytes)),
    }
    Ok(ExitStatus::Done)
}
