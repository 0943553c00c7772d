//! `backstory team audit`: who did what in a shared project, without content.

use anstream::println;
use anyhow::Result;
use backstory_engine::engine::Engine;
use backstory_model::Timestamp;

use super::here::shared_project;
use crate::{
    command::{ExitStatus, open_for_writing},
    output::{DIM, Times, one_line},
};

/// Show who deleted memories or changed roles and policies (maintainers)
///
/// The server keeps these entries for a year: ids and deeds, never content, and no numbers about people.
#[derive(clap::Args)]
pub(super) struct Audit {}

pub(super) fn run(engine: &Engine) -> Result<ExitStatus> {
    let store = open_for_writing(engine)?;
    let (exchange, project) = shared_project(engine, &store)?;
    let me = exchange.server().me()?;
    let answer = exchange.server().audit(project)?;
    if answer.entries.is_empty() {
        println!("Nothing yet.");
    }
    let times = Times::new(engine)?;
    for entry in answer.entries {
        let person = match entry.account {
            Some(account) => me
                .members
                .iter()
                .find(|member| member.account == account)
                .map_or_else(|| format!("account {account}"), |member| member.name.clone()),
            None => "the operator".to_owned(),
        };
        let at = Timestamp::from_millis(entry.at.as_millisecond());
        println!(
            "{} {} {DIM}{}, {}{DIM:#}",
            one_line(&entry.action, 40),
            one_line(entry.subject.as_deref().unwrap_or_default(), 60),
            one_line(&person, 40),
            times.ago(at)
        );
    }
    Ok(ExitStatus::Done)
}
