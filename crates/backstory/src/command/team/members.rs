//! `backstory team members`: people and their devices.

use anstream::println;
use anyhow::{Result, bail};
use backstory_engine::{engine::Engine, error::HintedError};
use backstory_text::hex;

use crate::{
    command::{ExitStatus, open_store, open_store_with},
    output::{DIM, count, one_line},
};

/// List the people whose memories you receive, and their devices
///
/// The first device of a person is trusted on first use. Memories of a further device are kept from agents until you confirm
/// it with --trust: ask the person whether the device is theirs.
#[derive(clap::Args)]
pub(super) struct Members {
    /// Trust all devices of this person
    #[arg(long, value_name = "NAME")]
    trust: Option<String>,
}

pub(super) fn run(engine: &Engine, arguments: &Members) -> Result<ExitStatus> {
    if let Some(name) = &arguments.trust {
        let mut store = open_store_with(engine, &[])?;
        let trusted = store.trust_team_devices(name)?;
        if trusted == 0 {
            bail!(
                HintedError::new(format_args!("no device of `{name}` waits for your confirmation"))
                    .hint("`backstory team members` lists them")
            );
        }
        println!(
            "Trusted {} of {name}. {DIM}Quarantined memories follow with the next exchange.{DIM:#}",
            count(trusted as u64, "device")
        );
        return Ok(ExitStatus::Done);
    }
    let store = open_store(engine)?;
    let devices = store
        .map(|store| store.team_devices())
        .transpose()?
        .unwrap_or_default();
    if devices.is_empty() {
        println!("Nobody yet. `backstory import pack DIR` or a team's server brings memories of others.");
    }
    for device in devices {
        let trust = if device.is_trusted {
            ""
        } else {
            ", not confirmed: its memories are in quarantine"
        };
        println!(
            "{} {DIM}device {}, key {}{DIM:#}{trust}",
            one_line(&device.name, 40),
            &hex(&device.device_id)[..8],
            &hex(&device.public_key)[..16]
        );
    }
    Ok(ExitStatus::Done)
}
