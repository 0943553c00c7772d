//! `backstory team join` and `leave`: this machine on a team's server.

use std::io::{self, IsTerminal as _};

use anstream::println;
use anyhow::{Result, bail};
use backstory_engine::{
    engine::Engine,
    error::HintedError,
    team::{
        TeamServer,
        exchange::{Exchange, drop_copies},
        identity::{self, Membership},
    },
};
use backstory_protocol::{JoinRequest, VERSION};

use super::here::is_confirmed;
use crate::{
    command::{ExitStatus, open_for_writing},
    output::{BOLD, DIM, count},
};

/// Join a team's server with an invitation
///
/// Shows who operates the server and what it may see, and asks. This device gets a credential of its own, which is stored for
/// you alone in `team/` of the home folder.
#[derive(clap::Args)]
pub(super) struct Join {
    /// Address of the server
    #[arg(value_name = "URL")]
    url: String,
    /// Code of the invitation
    #[arg(value_name = "CODE")]
    code: String,
    /// A name for this device in your own list
    #[arg(long, value_name = "NAME", default_value = std::env::consts::OS)]
    device_name: String,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

/// Leave the team's server
///
/// Deletes the copies of others' memories on this machine. What you shared stays with the team: `backstory unshare` takes it
/// back first.
#[derive(clap::Args)]
pub(super) struct Leave {
    /// Keep the copies as imported memories of your own
    #[arg(long)]
    keep: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

pub(super) fn join(engine: &Engine, arguments: &Join) -> Result<ExitStatus> {
    let settings = engine.checked_settings()?;
    let Some(name) = settings.team.name else {
        bail!(
            HintedError::new("others need a name to see beside your memories")
                .hint("`backstory config set team.name \"Your Name\"`")
        );
    };
    if identity::membership(engine)?.is_some() {
        bail!(
            HintedError::new("this machine has joined a server already").hint("`backstory team leave` first")
        );
    }
    let server = TeamServer::at(engine, &arguments.url)?;
    let info = server.info()?;
    if !info.protocols.contains(&VERSION) {
        bail!(
            HintedError::new("this server speaks another version of the protocol")
                .hint("update backstory, or ask its operator to update the server")
        );
    }
    let operator = info.operator.as_deref().unwrap_or("an unnamed operator");
    println!("{BOLD}{}{BOLD:#} is operated by {operator}", arguments.url);
    println!("It will see the memories that you share, your name ({name}), and nothing else.");
    if !arguments.yes {
        if !io::stdin().is_terminal() {
            anstream::eprintln!("Not a terminal, so nothing was changed. Pass --yes to apply.");
            return Ok(ExitStatus::Refused);
        }
        if !is_confirmed("Join? [y/N] ")? {
            println!("Nothing was changed.");
            return Ok(ExitStatus::Failed);
        }
    }
    let device = identity::device(engine)?;
    let answer = server.join(&JoinRequest {
        code: arguments.code.clone(),
        name,
        device: device.device,
        device_name: arguments.device_name.clone(),
        public_key: device.signer.public_key(),
    })?;
    identity::join(
        engine,
        &Membership {
            url: arguments.url.clone(),
            token: answer.token,
            account: Some(answer.account),
            name: answer.name,
        },
    )?;
    let teams: Vec<String> = answer.teams.into_iter().map(|team| team.team).collect();
    println!(
        "Joined {}. {DIM}`backstory team sync` receives what others share, `backstory team enroll` shares a project.{DIM:#}",
        teams.join(", ")
    );
    Ok(ExitStatus::Done)
}

pub(super) fn leave(engine: &Engine, arguments: &Leave) -> Result<ExitStatus> {
    identity::require_membership(engine)?;
    if !arguments.yes {
        if !io::stdin().is_terminal() {
            anstream::eprintln!("Not a terminal, so nothing was changed. Pass --yes to apply.");
            return Ok(ExitStatus::Refused);
        }
        if !is_confirmed("Leave the team's server? [y/N] ")? {
            println!("Nothing was changed.");
            return Ok(ExitStatus::Failed);
        }
    }
    // A server that is gone cannot keep anyone from leaving it.
    let revoked = match Exchange::open(engine)? {
        Some(exchange) => exchange.server().leave(identity::device(engine)?.device),
        None => Ok(()),
    };
    if let Err(error) = revoked {
        anstream::eprintln!("The device could not be revoked: {error}");
    }
    let mut store = open_for_writing(engine)?;
    if arguments.keep {
        let kept = store.adopt_team_memories(engine.clock.timestamp())?;
        println!(
            "Kept {} as your own",
            count(kept, "copy").replace("copys", "copies")
        );
    }
    let deleted = drop_copies(engine, &mut store)?;
    identity::leave(engine)?;
    println!(
        "Left. {} of others deleted.",
        count(deleted, "copy").replace("copys", "copies")
    );
    Ok(ExitStatus::Done)
}
