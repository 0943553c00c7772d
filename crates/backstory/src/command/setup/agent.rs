//! The agents on this machine, each with the planned changes of its files.

use anyhow::Result;
use backstory_capture::host::{HostSpec, InstallItem};
use backstory_engine::{engine::Engine, error::error_chain};

use crate::{
    command::install::{
        paths,
        plan::{self, HostFileChange, StatusLine},
    },
    output::count,
    receipt::Receipt,
};

/// An agent on this machine, and what its setup changes.
pub(super) struct Agent {
    pub(super) host: &'static HostSpec,
    /// Changes of its files, or the reason why they cannot be planned.
    pub(super) changes: Result<Vec<HostFileChange>, String>,
    pub(super) is_chosen: bool,
}

impl Agent {
    pub(super) fn is_needed(&self) -> bool {
        let changes = self.changes.as_deref().unwrap_or_default();
        changes.iter().any(HostFileChange::is_needed)
    }

    /// Describes the setup in one line.
    pub(super) fn line(&self) -> String {
        let changes = match &self.changes {
            Ok(changes) => changes,
            Err(error) => return format!("skipped: {error}"),
        };
        if !self.is_needed() {
            return "already set up".to_owned();
        }
        let files = changes.iter().filter(|change| change.is_needed()).count() as u64;
        format!("{} → {}", parts(self.host).join(", "), count(files, "file"))
    }
}

/// Names the parts of a host's setup.
fn parts(host: &HostSpec) -> Vec<String> {
    let hooks = host.hooks.len() as u64;
    let has = |is_one: fn(&InstallItem) -> bool| host.parts.iter().any(is_one);
    let mut parts = Vec::new();
    if hooks > 0 {
        parts.push(count(hooks, "hook"));
    } else if has(|part| matches!(part, InstallItem::File { .. })) {
        parts.push("plugin".to_owned());
    }
    if has(|part| matches!(part, InstallItem::Server { .. } | InstallItem::ServerToml { .. })) {
        parts.push("1 MCP server".to_owned());
    }
    if hooks > 0 && has(|part| matches!(part, InstallItem::File { text, .. } if text.starts_with("---"))) {
        parts.push("skill and commands".to_owned());
    }
    parts
}

/// Finds the agents on this machine and plans their setup. A file that cannot be parsed concerns its agent alone.
pub(super) fn find_agents(engine: &Engine) -> Result<Vec<Agent>> {
    let (program, receipt) = (paths::program()?, Receipt::read(&engine.home)?);
    let plan = |host| {
        let changes =
            plan::install(&receipt, host, &program, StatusLine::Keep).map_err(|error| error_chain(&error));
        Agent {
            host,
            is_chosen: changes.is_ok(),
            changes,
        }
    };
    Ok(paths::present().into_iter().map(plan).collect())
}
