//! `backstory team enroll`: decides how the memories of a project are shared.

use std::io::{self, IsTerminal as _};

use anstream::println;
use anyhow::Result;
use backstory_engine::{
    engine::Engine,
    team::share::{self, Sharer},
};
use backstory_model::Timestamp;
use backstory_protocol::SharePolicy;
use backstory_store::Store;
use backstory_sync::{record_id, shareable_types};

use super::here::{is_confirmed, project_here};
use crate::{
    command::{ExitStatus, open_for_writing},
    output::{BOLD, DIM, count},
};

/// Choose how memories of this project are shared
///
/// Shows what would be proposed, exactly as it would be sent, and asks. Nothing is sent before you approve it, except in the
/// mode `auto`. Only memories from now on are proposed, unless --include-existing is given.
#[derive(clap::Args)]
pub(super) struct Enroll {
    /// off, manual, review or auto [default: the setting `team.share_mode`]
    #[arg(long, value_name = "MODE", value_parser = mode)]
    mode: Option<SharePolicy>,
    /// The name under which a project without a remote is shared; every member uses the same one
    #[arg(long = "as", value_name = "NAME")]
    shared_as: Option<String>,
    /// Propose memories from before too
    #[arg(long)]
    include_existing: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

/// Parses a mode of sharing.
fn mode(name: &str) -> Result<SharePolicy, String> {
    SharePolicy::from_name(name).ok_or_else(|| "expected off, manual, review or auto".to_owned())
}

/// Number of memories that are shown as they would be sent.
const SHOWN: usize = 5;

pub(super) fn run(engine: &Engine, arguments: &Enroll) -> Result<ExitStatus> {
    let settings = engine.checked_settings()?;
    let project = project_here(engine)?;
    engine.home.create()?;
    let mut store = open_for_writing(engine)?;
    let mode = arguments.mode.unwrap_or(settings.team.share_mode);
    let key = match &arguments.shared_as {
        Some(name) => name.clone(),
        None => share::shared_key(&store, &project.key)?,
    };
    let sharer = Sharer::new(engine)?;
    let since = if arguments.include_existing {
        Timestamp::EPOCH
    } else {
        engine.clock.timestamp()
    };
    println!(
        "{BOLD}{key}{BOLD:#} will be shared in the mode {BOLD}{}{BOLD:#}",
        mode.name()
    );
    if mode > SharePolicy::Manual {
        preview(&store, &sharer, &project.key, &key, since)?;
    }
    if !arguments.yes {
        if !io::stdin().is_terminal() {
            anstream::eprintln!("Not a terminal, so nothing was changed. Pass --yes to apply.");
            return Ok(ExitStatus::Refused);
        }
        if !is_confirmed("Enroll this project? [y/N] ")? {
            println!("Nothing was changed.");
            return Ok(ExitStatus::Failed);
        }
    }
    share::enroll(
        engine,
        &mut store,
        &project,
        mode,
        arguments.shared_as.as_deref(),
        since,
    )?;
    println!("Enrolled. {DIM}`backstory team review` lists what waits for you.{DIM:#}");
    Ok(ExitStatus::Done)
}

/// Shows how many memories would be proposed, the first as they would be sent, and what the scanner blocks.
fn preview(
    store: &Store,
    sharer: &Sharer<'_>,
    project_key: &str,
    shared_key: &str,
    since: Timestamp,
) -> Result<()> {
    let found = store.shareable(project_key, &shareable_types(), since, u32::MAX)?;
    let mut records = Vec::new();
    let mut blocked = Vec::new();
    for handle in found {
        let Some(memory) = store.memory(handle)? else {
            continue;
        };
        match sharer.record(store, &memory, record_id(shared_key, &memory), 1) {
            Ok(record) => records.push(record),
            Err(reason) => blocked.push((handle, reason)),
        }
    }
    println!(
        "{} would be proposed now",
        count(records.len() as u64, "memory").replace("memorys", "memories")
    );
    for record in records.iter().take(SHOWN) {
        println!("  {DIM}{}{DIM:#}", record.to_body()?);
    }
    for (handle, reason) in &blocked {
        println!("  #{handle} is blocked: {reason}");
    }
    Ok(())
}
