//! `backstory team sync` and `resync`: exchanges with the server.

use std::{thread, time::Duration};

use anstream::println;
use anyhow::{Context as _, Result};
use backstory_engine::{
    engine::Engine,
    team::{
        ExchangeReport, TeamServerError,
        exchange::{Exchange, PullMode},
        identity,
    },
};
use backstory_protocol::ErrorCode;

use super::here::project_here;
use crate::{
    command::{ExitStatus, open_for_writing},
    output::DIM,
};

/// Exchange with the server now
///
/// The worker does this by itself while it runs.
#[derive(clap::Args)]
pub(super) struct Sync {
    /// If the server does not answer, try again for this many seconds
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "60", require_equals = true)]
    wait: Option<u64>,
}

/// Read everything from the server again, and drop copies that it no longer has
#[derive(clap::Args)]
pub(super) struct Resync {}

/// Time between two attempts.
const PAUSE: Duration = Duration::from_secs(1);

pub(super) fn sync(engine: &Engine, arguments: &Sync) -> Result<ExitStatus> {
    let end = engine.clock.monotonic() + Duration::from_secs(arguments.wait.unwrap_or_default());
    let mut is_told = false;
    loop {
        match run(engine, PullMode::Continue) {
            Err(error) if is_passing(&error) && engine.clock.monotonic() + PAUSE <= end => {
                if !is_told {
                    anstream::eprintln!("{error:#}; trying again");
                    is_told = true;
                }
                thread::sleep(PAUSE);
            }
            other => return other,
        }
    }
}

pub(super) fn resync(engine: &Engine) -> Result<ExitStatus> {
    run(engine, PullMode::Everything)
}

/// Reports whether another attempt may succeed.
fn is_passing(error: &anyhow::Error) -> bool {
    match error.downcast_ref::<TeamServerError>() {
        Some(TeamServerError::Unreachable(_)) => true,
        Some(error) => matches!(
            error.code(),
            Some(ErrorCode::Unavailable | ErrorCode::RateLimited)
        ),
        None => false,
    }
}

fn run(engine: &Engine, mode: PullMode) -> Result<ExitStatus> {
    engine.checked_settings()?;
    identity::require_membership(engine)?;
    engine.home.create()?;
    let mut store = open_for_writing(engine)?;
    let exchange = Exchange::open(engine)?.context("this machine has not joined a server")?;
    let here = project_here(engine)?;
    print(&exchange.run_in(&mut store, mode, Some(&here))?);
    Ok(ExitStatus::Done)
}

fn print(report: &ExchangeReport) {
    println!(
        "{} sent, {} received, {} withdrawn",
        report.sent, report.received, report.deleted
    );
    if report.refused > 0 {
        println!(
            "{} refused {DIM}(`backstory team status` says why){DIM:#}",
            report.refused
        );
    }
    if report.quarantined > 0 {
        println!(
            "{} failed a check and are kept from agents {DIM}(`backstory team status` lists them){DIM:#}",
            report.quarantined
        );
    }
}
