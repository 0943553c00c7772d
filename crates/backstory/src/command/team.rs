//! `backstory team`, `share` and `unshare`: memories that a team has in common.

mod audit;
mod conflicts;
mod enroll;
mod forget;
mod here;
mod join;
mod members;
mod opinion;
mod pack;
mod review;
mod status;
mod sync;

use anstream::println;
use anyhow::{Result, bail};
use backstory_engine::{
    engine::Engine,
    error::HintedError,
    team::share::{self, ShareOutcome, Sharer},
};
use backstory_model::Handle;
use backstory_store::Store;

use super::{ExitStatus, open_store_with};
use crate::output::DIM;

/// Share memories with your team
///
/// Shares single memories and notes: others get a signed copy, by packs in the repository (`backstory team pack`) or by the
/// team's server. Private spans are cut, home folders become `~`, and a memory with a secret in it is refused.
#[derive(clap::Args)]
pub(crate) struct Share {
    /// Handles: 123, S12, N5
    #[arg(value_name = "HANDLE", required = true)]
    handles: Vec<Handle>,
}

/// Take shared memories back
///
/// The copies of others disappear when they next import the pack or hear from the server.
#[derive(clap::Args)]
pub(crate) struct Unshare {
    /// Handles: 123, S12, N5
    #[arg(value_name = "HANDLE", required = true)]
    handles: Vec<Handle>,
}

/// Share memories with a team: enroll projects, review, exchange
///
/// Nothing is shared until you say so. Memories of others are shown with their author, and at most half of the context of a
/// session comes from them (`context.team_percent`). See docs/team.md.
#[derive(clap::Args)]
pub(crate) struct TeamArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    Join(join::Join),
    Leave(join::Leave),
    Enroll(enroll::Enroll),
    Review(review::Review),
    Status(status::Status),
    Pack(pack::PackFolder),
    Members(members::Members),
    Sync(sync::Sync),
    Resync(sync::Resync),
    Rate(opinion::Rate),
    Replace(opinion::Replace),
    Conflicts(conflicts::Conflicts),
    Forget(forget::ForgetShared),
    Audit(audit::Audit),
}

pub(crate) fn run(engine: &Engine, arguments: &TeamArgs) -> Result<ExitStatus> {
    match &arguments.action {
        Action::Join(arguments) => join::join(engine, arguments),
        Action::Leave(arguments) => join::leave(engine, arguments),
        Action::Enroll(arguments) => enroll::run(engine, arguments),
        Action::Review(arguments) => review::run(engine, arguments),
        Action::Status(arguments) => status::run(engine, arguments),
        Action::Pack(arguments) => pack::run(engine, arguments),
        Action::Members(arguments) => members::run(engine, arguments),
        Action::Sync(arguments) => sync::sync(engine, arguments),
        Action::Resync(_) => sync::resync(engine),
        Action::Rate(arguments) => opinion::rate(engine, arguments),
        Action::Replace(arguments) => opinion::replace(engine, arguments),
        Action::Conflicts(arguments) => conflicts::run(engine, arguments),
        Action::Forget(arguments) => forget::run(engine, arguments),
        Action::Audit(_) => audit::run(engine),
    }
}

pub(crate) fn share(engine: &Engine, arguments: &Share) -> Result<ExitStatus> {
    let mut store = open_store_with(engine, &arguments.handles)?;
    let sharer = Sharer::new(engine)?;
    let mut status = ExitStatus::Done;
    for &handle in &arguments.handles {
        match sharer.share(&mut store, handle)? {
            ShareOutcome::Shared => println!("Shared {handle}"),
            ShareOutcome::Unchanged => println!("{handle} was shared before"),
            ShareOutcome::Blocked(reason) => {
                anstream::eprintln!("{handle} is not shared: {reason}");
                status = ExitStatus::Failed;
            }
        }
    }
    Ok(status)
}

pub(crate) fn unshare(engine: &Engine, arguments: &Unshare) -> Result<ExitStatus> {
    let mut store = open_store_with(engine, &[])?;
    let mut status = ExitStatus::Done;
    for &handle in &arguments.handles {
        if share::unshare(&mut store, handle, engine.clock.timestamp())? {
            println!("Withdrawn {handle} {DIM}(others lose it with the next exchange){DIM:#}");
        } else {
            anstream::eprintln!("{handle} is not shared");
            status = ExitStatus::Failed;
        }
    }
    Ok(status)
}

/// Shares a note that was just saved.
pub(super) fn share_saved(engine: &Engine, store: &mut Store, handle: Handle) -> Result<()> {
    match Sharer::new(engine)?.share(store, handle)? {
        ShareOutcome::Shared | ShareOutcome::Unchanged => Ok(()),
        ShareOutcome::Blocked(reason) => bail!(
            HintedError::new(format_args!("saved as {handle}, but not shared: {reason}"))
                .hint(format_args!("`backstory share {handle}` tries again"))
        ),
    }
}
