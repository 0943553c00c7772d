//! `backstory logins`: lists the browsers that are logged in to the viewer, and logs them out.

use anstream::println;
use anyhow::{Context, Result, bail};
use backstory_engine::{engine::Engine, error::HintedError};
use backstory_serve::{BrowserLogins, api_types::rfc3339};
use serde_json::{Value, json};

use super::ExitStatus;
use crate::{
    json_output::print_json,
    output::{DIM, Times, count, one_line},
};

/// List the browsers that are logged in to the viewer, or log them out
///
/// A login ends after 30 days, or with `--logout`.
#[derive(clap::Args)]
pub(crate) struct Logins {
    /// Log out these browsers, by id
    #[arg(long, value_name = "ID", num_args = 1.., conflicts_with = "logout_all")]
    logout: Vec<String>,
    /// Log out all browsers
    #[arg(long)]
    logout_all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(engine: &Engine, arguments: &Logins) -> Result<ExitStatus> {
    let logins = BrowserLogins::at(engine.home.logins());
    let now = engine.clock.timestamp();
    if arguments.logout_all || !arguments.logout.is_empty() {
        let known = logins.list(now);
        let unknown = |id: &&String| !known.iter().any(|login| login.id == **id);
        if let Some(id) = arguments.logout.iter().find(unknown) {
            let error = HintedError::new(format_args!("no login with id {id}"));
            bail!(error.hint("`backstory logins` lists them"));
        }
        let ended = logins
            .end(|login| arguments.logout_all || arguments.logout.contains(&login.id))
            .context("could not change the list of logins")?;
        println!("Logged out {}.", count(ended as u64, "browser"));
        return Ok(ExitStatus::Done);
    }
    let logins = logins.list(now);
    if arguments.json {
        let entries: Vec<Value> = logins
            .iter()
            .map(|login| {
                json!({"id": login.id, "browser": login.browser, "created_at": rfc3339(login.created_at()),
                    "expires_at": rfc3339(login.expires_at())})
            })
            .collect();
        print_json(Value::from(entries));
        return Ok(ExitStatus::Done);
    }
    if logins.is_empty() {
        println!("No browser is logged in.");
    }
    let times = Times::new(engine)?;
    for login in &logins {
        let (since, until) = (times.ago(login.created_at()), times.day(login.expires_at()));
        println!("{}  {}", login.id, one_line(&login.browser, 80));
        println!("          {DIM}logged in {since}, until {until}{DIM:#}");
    }
    Ok(ExitStatus::Done)
}
