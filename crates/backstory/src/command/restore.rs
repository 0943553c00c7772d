//! `backstory restore`: replaces the database by a backup, or lists the backups.

use std::{
    io::{self, IsTerminal, Write},
    path::PathBuf,
};

use anstream::println;
use anyhow::{Context, Result, anyhow};
use backstory_engine::error::{HintContext as _, HintedError, error_chain};
use backstory_engine::worker_process;
use backstory_engine::{backups, engine::Engine, repair};
use backstory_model::Timestamp;
use backstory_store::{StoreError, check_backup};
use serde_json::json;

use super::ExitStatus;
use crate::{
    json_output::print_json,
    output::{self, DIM, Times},
};

/// Restore the database from a backup
///
/// The current database is saved in the folder `backups` first. A running worker is stopped and started again.
/// Memories that were deleted after the backup come back. Without a file, lists the backups.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  backstory restore                           list the backups
  backstory restore backstory-2026-03-01.db   replace the database by one")]
pub(crate) struct Restore {
    /// The backup
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Skip the confirmation
    #[arg(long, short)]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(engine: &Engine, arguments: &Restore) -> Result<ExitStatus> {
    let Some(file) = &arguments.file else {
        return list(engine, arguments.json);
    };
    check_backup(file).map_err(|error| {
        let hint = match error {
            StoreError::Newer { .. } => "update backstory first; nothing was changed",
            _ => "nothing was changed; `backstory restore` lists the backups",
        };
        // As text only: the damaged database is not our own.
        HintedError::new(format_args!("{} cannot be restored", file.display()))
            .hint(hint)
            .caused_by(anyhow!(error_chain(&error.into())))
    })?;
    if !arguments.yes {
        if !io::stdin().is_terminal() {
            anstream::eprintln!("Not a terminal, so nothing was changed. Pass --yes to apply.");
            return Ok(ExitStatus::Refused);
        }
        if !is_meant()? {
            println!("Nothing was changed.");
            return Ok(ExitStatus::Failed);
        }
    }
    let kept = repair::with_worker_stopped(engine, || repair::restore(engine, file)).hint_context(
        "could not restore the backup",
        "the earlier database is in place, or in the folder `backups`",
    )?;
    if arguments.json {
        print_json(json!({"restored": file, "kept": kept}));
    } else {
        println!("Restored {}.", file.display());
        if let Some(kept) = kept {
            println!("{DIM}The earlier database is saved in {}.{DIM:#}", kept.display());
        }
    }
    // It rebuilds the vectors and ingests events that arrived meanwhile.
    worker_process::ensure(engine);
    Ok(ExitStatus::Done)
}

fn is_meant() -> Result<bool> {
    let mut answer = String::new();
    let ask =
        write!(io::stderr(), "Replace the current database? [y/N] ").and_then(|()| io::stderr().flush());
    ask.and_then(|()| io::stdin().read_line(&mut answer))
        .context("could not read the answer")?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn list(engine: &Engine, json: bool) -> Result<ExitStatus> {
    let copies = backups::list(&engine.home).context("could not list the backups")?;
    let times = Times::new(engine)?;
    for copy in &copies {
        let at = Timestamp::from(copy.modified);
        if json {
            println!(
                "{}",
                json!({"path": copy.path, "created_at": output::rfc3339(at), "bytes": copy.bytes})
            );
        } else {
            println!(
                "{}  {DIM}{}, {}{DIM:#}",
                copy.path.display(),
                times.ago(at),
                output::size(copy.bytes)
            );
        }
    }
    if copies.is_empty() {
        anstream::eprintln!("No backups yet.");
        return Ok(ExitStatus::Failed);
    }
    Ok(ExitStatus::Done)
}
