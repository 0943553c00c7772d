//! `backstory team forget`: maintainers delete memories of others for everyone.

use anstream::println;
use anyhow::{Context as _, Result};
use backstory_engine::{
    engine::Engine,
    team::exchange::PullMode,
    time_arg::{self, TimeArg},
};
use backstory_model::Handle;
use backstory_protocol::{ForgetRequest, RecordId};
use backstory_store::Store;

use super::here::{account_named, shared_project};
use crate::{
    command::{ExitStatus, open_for_writing},
    output::count,
};

/// Delete memories of others for everyone (maintainers)
///
/// Final: the author cannot share the same record again. Shows the number first. Several conditions must all hold.
#[derive(clap::Args)]
pub(super) struct ForgetShared {
    /// Handles of memories of others: T41
    #[arg(value_name = "HANDLE", required_unless_present_any = ["author", "before"])]
    handles: Vec<Handle>,
    /// Only memories of this person in this project
    #[arg(long, value_name = "NAME")]
    author: Option<String>,
    /// Only memories from before a date or a period: 2026-03-01, 90d
    #[arg(long, value_name = "D", value_parser = time_arg::parse_time_arg)]
    before: Option<TimeArg>,
    /// Delete; without it, only the number is shown
    #[arg(long, short)]
    yes: bool,
}

pub(super) fn run(engine: &Engine, arguments: &ForgetShared) -> Result<ExitStatus> {
    let mut store = open_for_writing(engine)?;
    let (exchange, project) = shared_project(engine, &store)?;
    let before = arguments
        .before
        .map(|when| when.timestamp(engine.clock.timestamp(), &engine.zone()))
        .transpose()?;
    let mut request = ForgetRequest {
        ids: records(&store, &arguments.handles)?,
        author: arguments
            .author
            .as_deref()
            .map(|name| account_named(&store, name))
            .transpose()?,
        before: before
            .map(|at| jiff::Timestamp::from_millisecond(at.as_millis()))
            .transpose()?,
        dry_run: true,
    };
    let found = exchange.server().forget(project, &request)?;
    if !arguments.yes {
        println!(
            "{} would be deleted for everyone. Pass --yes to delete.",
            count(found.records, "record")
        );
        return Ok(ExitStatus::Refused);
    }
    request.dry_run = false;
    let deleted = exchange.server().forget(project, &request)?;
    println!("{} deleted for everyone", count(deleted.records, "record"));
    exchange.run(&mut store, PullMode::Continue)?;
    Ok(ExitStatus::Done)
}

fn records(store: &Store, handles: &[Handle]) -> Result<Vec<RecordId>> {
    let record = |handle: &Handle| {
        let record = store.record_of(*handle)?;
        record
            .map(RecordId)
            .with_context(|| format!("{handle} is no memory of another person"))
    };
    handles.iter().map(record).collect()
}
