//! `backstory project`: confirms folders that claim to belong to a known project.

use std::{
    io::{self, BufRead as _, IsTerminal as _, Write as _},
    path::PathBuf,
};

use anstream::println;
use anyhow::{Context, Result, bail};
use backstory_capture::project;
use backstory_engine::{
    engine::Engine,
    project_claims::{self, ClaimState},
};

use super::ExitStatus;

/// Manage the folders of projects
#[derive(clap::Args)]
pub(crate) struct ProjectArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Let a folder share the memories of the project whose remote it names
    ///
    /// Clones that you make yourself need no confirmation. A folder that was unpacked, copied or mounted could come from anyone,
    /// so it has memories of its own until you confirm it. Sessions that were recorded before stay where they are.
    Confirm {
        /// The folder
        #[arg(default_value = ".")]
        folder: PathBuf,
        /// Skip the question
        #[arg(long)]
        yes: bool,
    },
}

pub(crate) fn run(engine: &Engine, arguments: &ProjectArgs) -> Result<ExitStatus> {
    let Action::Confirm { folder, yes } = &arguments.action;
    if !folder.is_dir() {
        bail!("no such folder: {}", folder.display());
    }
    let folder = std::path::absolute(folder)?;
    let identity = project::locate(&folder).facts;
    if project_claims::claim(engine, &identity) == ClaimState::Accepted {
        println!(
            "Nothing to confirm: {} belongs to {}.",
            identity.root, identity.key
        );
        return Ok(ExitStatus::Done);
    }
    if !yes {
        if !io::stdin().is_terminal() {
            anstream::eprintln!("Not a terminal, so nothing was changed. Pass --yes to apply.");
            return Ok(ExitStatus::Failed);
        }
        anstream::eprint!(
            "Agents in {} will read and write the memories of {}. Continue? [y/N] ",
            identity.root,
            identity.key
        );
        io::stderr().flush()?;
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer)?;
        if !matches!(answer.trim().to_lowercase().as_str(), "y" | "yes") {
            println!("Nothing was changed.");
            return Ok(ExitStatus::Failed);
        }
    }
    project_claims::confirm(engine, &identity).context("could not store the confirmation")?;
    println!("{} now shares the memories of {}.", identity.root, identity.key);
    Ok(ExitStatus::Done)
}
