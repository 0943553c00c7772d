//! Tells whether agents report to this home: nothing installed, installed but not used yet, or events received.
//!
//! Imported sessions do not count: they show no working hook. The files of the agents are not parsed; `doctor` does that.

use std::fs;

use backstory_store::{HostSeen, Store, StoreError};
use serde::Deserialize;
use serde_json::Value;

use crate::engine::Engine;

/// State of the connection to the agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Connection {
    /// No hook was installed, and no event was received.
    NotConnected,
    /// Hooks are installed; no session has reported yet.
    Waiting,
    /// Hosts that have reported, the one with the latest event first.
    Connected(Vec<HostSeen>),
}

/// The part of the install receipt that names the hosts.
#[derive(Default, Deserialize)]
struct InstalledHosts {
    hosts: serde_json::Map<String, Value>,
}

impl Connection {
    /// Determines the state. `store` is `None` if nothing was ever recorded.
    pub fn read(engine: &Engine, store: Option<&Store>) -> Result<Self, StoreError> {
        let hosts = store.map(Store::live_hosts).transpose()?.unwrap_or_default();
        let is_spooled = !engine.home.spool().pending().unwrap_or_default().is_empty();
        Ok(match hosts.is_empty() {
            false => Self::Connected(hosts),
            true if is_spooled || is_installed(engine) => Self::Waiting,
            true => Self::NotConnected,
        })
    }

    /// Returns the name of the state, for programs.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::NotConnected => "not_connected",
            Self::Waiting => "waiting",
            Self::Connected(_) => "connected",
        }
    }
}

/// Returns true if `install` has set up a host, or if Claude Code's settings name us: by the plugin, or by hooks added by hand.
fn is_installed(engine: &Engine) -> bool {
    let receipt = fs::read(engine.home.receipt()).unwrap_or_default();
    let receipt: InstalledHosts = serde_json::from_slice(&receipt).unwrap_or_default();
    let folder = engine
        .environment
        .folder("CLAUDE_CONFIG_DIR")
        .or_else(|| Some(engine.environment.user_home()?.join(".claude")));
    let settings = folder.and_then(|folder| fs::read_to_string(folder.join("settings.json")).ok());
    !receipt.hosts.is_empty() || settings.is_some_and(|text| text.contains("backstory"))
}
