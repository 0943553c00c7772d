//! What several actions need: the project of the current folder, people by name, and a confirmation.

use std::io::{self, Write as _};

use anyhow::{Context, Result, bail};
use backstory_engine::{
    engine::Engine,
    error::HintedError,
    team::{exchange::Exchange, identity},
};
use backstory_model::ProjectIdentity;
use backstory_protocol::{AccountId, SharedProjectId};
use backstory_store::Store;

use crate::command::locate_here;

/// Returns the project of the current folder.
pub(super) fn project_here(engine: &Engine) -> Result<ProjectIdentity> {
    let folder = std::env::current_dir().context("could not find the current folder")?;
    Ok(locate_here(engine, &folder))
}

/// Asks a question on the terminal.
pub(super) fn is_confirmed(question: &str) -> Result<bool> {
    let mut answer = String::new();
    let ask = write!(io::stderr(), "{question}").and_then(|()| io::stderr().flush());
    ask.and_then(|()| io::stdin().read_line(&mut answer))
        .context("could not read the answer")?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Returns the team's server and the project of the current folder on it.
pub(super) fn shared_project<'e>(
    engine: &'e Engine,
    store: &Store,
) -> Result<(Exchange<'e>, SharedProjectId)> {
    identity::require_membership(engine)?;
    let exchange = Exchange::open(engine)?.context("this machine has not joined a server")?;
    let project = store
        .team_project(&project_here(engine)?.key)?
        .and_then(|project| project.remote_id)
        .ok_or_else(|| {
            HintedError::new("this project is not on the team's server").hint("`backstory team sync` first")
        })?;
    Ok((exchange, SharedProjectId(project)))
}

/// Returns the account of the person with this name.
pub(super) fn account_named(store: &Store, name: &str) -> Result<AccountId> {
    let devices = store.team_devices()?;
    let mut accounts: Vec<i64> = devices
        .iter()
        .filter(|device| device.name == name)
        .filter_map(|device| device.account_id)
        .collect();
    accounts.sort_unstable();
    accounts.dedup();
    match accounts[..] {
        [account] => Ok(AccountId(account)),
        [] => bail!(
            HintedError::new(format_args!("nobody is called `{name}`"))
                .hint("`backstory team members` lists them")
        ),
        _ => bail!("several people are called `{name}`: name the memories by their handles"),
    }
}
