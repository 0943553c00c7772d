//! `backstory team review`: approve what is proposed for sharing.

use std::io::{self, IsTerminal as _, Write as _};

use anstream::println;
use anyhow::{Context, Result};
use backstory_engine::{
    engine::Engine,
    team::share::{self, ShareOutcome, Sharer},
};
use backstory_store::{Share, ShareState, Store};

use crate::{
    command::{ExitStatus, open_store_with},
    output::{BOLD, DIM, one_line, width},
};

/// Review the memories that are proposed for sharing
///
/// Asks for each: y shares it, k keeps it local for good, anything else decides later. `--all --yes` shares all of them.
#[derive(clap::Args)]
pub(super) struct Review {
    /// Share everything that is proposed; needs --yes without a terminal
    #[arg(long)]
    all: bool,
    /// Do not ask
    #[arg(long, short, requires = "all")]
    yes: bool,
}

pub(super) fn run(engine: &Engine, arguments: &Review) -> Result<ExitStatus> {
    let mut store = open_store_with(engine, &[])?;
    let sharer = Sharer::new(engine)?;
    sharer.propose_all(&mut store)?;
    let shares = store.shares(None)?;
    let (pending, blocked): (Vec<_>, Vec<_>) = shares
        .into_iter()
        .filter(|share| matches!(share.state, ShareState::Pending | ShareState::Blocked))
        .partition(|share| share.state == ShareState::Pending);
    for share in &blocked {
        let reason = share.reason.as_deref().unwrap_or_default();
        println!("#{} {} {DIM}{reason}{DIM:#}", share.handle, title(share));
    }
    if pending.is_empty() {
        println!("Nothing waits for your approval.");
        return Ok(ExitStatus::Done);
    }
    if arguments.all && arguments.yes {
        return approve_all(&mut store, &sharer, &pending);
    }
    if !io::stdin().is_terminal() {
        for share in &pending {
            println!("#{} {}", share.handle, title(share));
        }
        anstream::eprintln!("Not a terminal, so nothing was shared. Pass --all --yes to share all of them.");
        return Ok(ExitStatus::Refused);
    }
    for share in &pending {
        println!("{BOLD}#{}{BOLD:#} {}", share.handle, title(share));
        if let Some(memory) = store.memory(share.handle)? {
            let id = backstory_protocol::RecordId(share.record_id);
            if let Ok(record) = sharer.record(&store, &memory, id, share.version) {
                println!("  {DIM}{}{DIM:#}", record.to_body()?);
            }
        }
        match answer(arguments.all)?.as_str() {
            "y" | "yes" => approve(&mut store, &sharer, share)?,
            "k" => share::keep_local(&mut store, share, engine.clock.timestamp())?,
            _ => {}
        }
    }
    Ok(ExitStatus::Done)
}

fn answer(is_all: bool) -> Result<String> {
    if is_all {
        return Ok("y".to_owned());
    }
    let mut answer = String::new();
    let ask =
        write!(io::stderr(), "Share it? [y]es, [k]eep local, [l]ater ").and_then(|()| io::stderr().flush());
    ask.and_then(|()| io::stdin().read_line(&mut answer))
        .context("could not read the answer")?;
    Ok(answer.trim().to_lowercase())
}

fn approve_all(store: &mut Store, sharer: &Sharer<'_>, pending: &[Share]) -> Result<ExitStatus> {
    for share in pending {
        approve(store, sharer, share)?;
    }
    Ok(ExitStatus::Done)
}

fn approve(store: &mut Store, sharer: &Sharer<'_>, share: &Share) -> Result<()> {
    match sharer.share(store, share.handle)? {
        ShareOutcome::Blocked(reason) => println!("#{} is not shared: {reason}", share.handle),
        ShareOutcome::Shared | ShareOutcome::Unchanged => println!("Shared #{}", share.handle),
    }
    Ok(())
}

fn title(share: &Share) -> String {
    one_line(share.title.as_deref().unwrap_or_default(), width() - 24)
}
