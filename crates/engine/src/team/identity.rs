//! The identity of this device and its credential for a server: files that only the owner can read.

use std::{fs, io::ErrorKind, path::Path};

use anyhow::{Context as _, Result};
use backstory_protocol::{AccountId, DeviceId, decode_base64, encode_base64, signature::DeviceSigner};
use serde::{Deserialize, Serialize};

use crate::{atomic_file, engine::Engine, error::HintedError};

/// The signing identity of this device. It outlives joining and leaving a server.
#[derive(Debug)]
pub struct DeviceIdentity {
    /// The device.
    pub device: DeviceId,
    /// Signs its records.
    pub signer: DeviceSigner,
}

/// The account of this device on a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Membership {
    /// The address of the server.
    pub url: String,
    /// The credential. Never printed or logged.
    pub token: String,
    /// The account; absent for a machine that got its credential from the environment.
    #[serde(default)]
    pub account: Option<AccountId>,
    /// The account's name on the server.
    #[serde(default)]
    pub name: String,
}

#[derive(Serialize, Deserialize)]
struct StoredDevice {
    device: DeviceId,
    secret: String,
}

/// Returns the identity of this device; makes it on first use.
pub fn device(engine: &Engine) -> Result<DeviceIdentity> {
    match known_device(engine)? {
        Some(device) => Ok(device),
        None => {
            create(engine)?;
            known_device(engine)?.context("could not read the signing key that was just written")
        }
    }
}

/// Returns the identity of this device; `None` if it has none yet.
pub fn known_device(engine: &Engine) -> Result<Option<DeviceIdentity>> {
    let Some(stored) = read::<StoredDevice>(&engine.home.team().join("device.json"))? else {
        return Ok(None);
    };
    let secret: Option<[u8; 32]> = decode_base64(&stored.secret).and_then(|bytes| bytes.try_into().ok());
    let secret = secret.context("the signing key in team/device.json is damaged")?;
    Ok(Some(DeviceIdentity {
        device: stored.device,
        signer: DeviceSigner::from_secret(&secret),
    }))
}

fn create(engine: &Engine) -> Result<()> {
    let (mut device, mut secret) = ([0; 16], [0; 32]);
    for bytes in [&mut device[..], &mut secret[..]] {
        getrandom::fill(bytes)
            .map_err(|error| anyhow::anyhow!("no random numbers for a signing key: {error}"))?;
    }
    let stored = StoredDevice {
        device: DeviceId(device),
        secret: encode_base64(&secret),
    };
    write(engine, "device.json", &stored)
}

/// Returns the account on a server.
///
/// It comes from the environment for a machine without a home of its own, else from the file that joining wrote. Both
/// variables are needed, so that a project cannot send the credential to another address.
pub fn membership(engine: &Engine) -> Result<Option<Membership>> {
    let environment = &engine.environment;
    let variable = |name: &str| environment.text(name).filter(|text| !text.is_empty());
    if let (Some(url), Some(token)) = (variable("BACKSTORY_TEAM_URL"), variable("BACKSTORY_TEAM_TOKEN")) {
        return Ok(Some(Membership {
            url,
            token,
            account: None,
            name: String::new(),
        }));
    }
    read(&engine.home.team().join("server.json"))
}

/// Returns the account on a server, or an error that says how to get one.
pub fn require_membership(engine: &Engine) -> Result<Membership> {
    membership(engine)?.ok_or_else(|| {
        HintedError::new("this machine has not joined a team's server")
            .hint("`backstory team join URL CODE`, with an invitation of the server's operator")
            .into()
    })
}

/// Stores the account on a server.
pub fn join(engine: &Engine, membership: &Membership) -> Result<()> {
    write(engine, "server.json", membership)
}

/// Removes the account on a server.
pub fn leave(engine: &Engine) -> Result<()> {
    match backstory_system::remove_file(engine.home.team().join("server.json")) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).context("could not remove team/server.json")
        }
        _ => Ok(()),
    }
}

fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    match fs::read_to_string(path) {
        Ok(text) => serde_json::from_str(&text)
            .map(Some)
            .with_context(|| format!("{} is damaged", path.display())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("could not read {}", path.display())),
    }
}

fn write(engine: &Engine, name: &str, value: &impl Serialize) -> Result<()> {
    engine.home.create()?;
    let folder = engine.home.team();
    // Also creates the folder.
    let _lock =
        atomic_file::lock(&folder).with_context(|| format!("could not create {}", folder.display()))?;
    let path = folder.join(name);
    let text = serde_json::to_vec_pretty(value)?;
    atomic_file::write_atomically(&path, &text).with_context(|| format!("could not write {}", path.display()))
}
