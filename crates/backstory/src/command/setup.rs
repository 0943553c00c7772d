//! `backstory setup`: connects the agents, imports their past sessions and shows what is known about the current project.
//!
//! Every step is a command of its own (`install`, `import`, `config`, `context`, `open`); nothing is implemented here a second
//! time. Running it again changes nothing.

mod agent;
mod picker;

use std::io::{self, IsTerminal as _};

use anstream::println;
use anyhow::{Context as _, Result};
use backstory_engine::{connection::Connection, engine::Engine, settings::ProviderName};
use backstory_recall::ContextEntry;
use backstory_store::{BusyTimeout, Store};
use backstory_text::one_line;
use serde_json::{Value, json};

use super::{
    ExitStatus, config, context,
    import::overview::{self, PastSessions, confirm},
    install::{
        self, apply, paths, plan,
        plan::{HostFileChange, StatusLine},
    },
    open, worker,
};
use agent::{Agent, find_agents};

use crate::{
    json_output::print_json,
    output::{self, BOLD, BUSY, DIM, GOOD, count, print_hint, thousands},
    receipt::Receipt,
};

/// Set up everything: connect agents, import past sessions
///
/// Finds the agents on this machine and connects those that you choose, imports their past sessions, and shows what is known
/// about the project in the current folder. Shows every change first. Running it again changes nothing.
#[derive(clap::Args)]
pub(crate) struct Setup {
    /// Connect all agents and import all sessions without asking; optional extras stay off
    #[arg(long, short)]
    yes: bool,
    /// Show what would be done, change nothing
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(engine: &Engine, arguments: &Setup) -> Result<ExitStatus> {
    let mut agents = find_agents(engine)?;
    let past = PastSessions::find(engine).without_imported(engine)?;
    if arguments.dry_run {
        print_plan(arguments, &agents, &past);
        return Ok(ExitStatus::Done);
    }
    if !arguments.yes && !io::stdin().is_terminal() {
        print_plan(arguments, &agents, &past);
        anstream::eprintln!("Not a terminal, so nothing was changed. Pass --yes to apply.");
        print_hint("--dry-run shows what would be done");
        return Ok(ExitStatus::Refused);
    }
    let asks = !arguments.yes;
    if asks && agents.iter().any(Agent::is_needed) {
        if !picker::pick(&mut agents)? {
            println!("Nothing was changed.");
            return Ok(ExitStatus::Failed);
        }
    } else if !arguments.json {
        print_agents(&agents);
    }
    let changes = connect(engine, &agents, arguments)?;
    let imported = import_past(engine, arguments, &past)?;
    if asks {
        offer_status_line(engine, &agents)?;
        offer_model(engine)?;
    }
    let known = known(engine)?;
    if arguments.json {
        let memories: Vec<Value> = known
            .memories
            .iter()
            .map(|entry| json!({"id": entry.handle.to_string(), "title": entry.title}))
            .collect();
        let report = json!({"files": install::as_json(&changes, false)["files"], "past_sessions": past.len(),
            "imported_sessions": imported, "project": known.project,
            "known": memories, "connection": connection(engine)?.name()});
        print_json(report);
        return Ok(ExitStatus::Done);
    }
    print_known(&known);
    print_next(engine, &agents)?;
    if asks && confirm("Open the viewer? [y/N]")? {
        return open::run(engine, &open::Open::viewer());
    }
    println!(
        "{DIM}`backstory open` shows the memory in your browser, `backstory doctor` checks the setup.{DIM:#}"
    );
    Ok(ExitStatus::Done)
}

fn print_plan(arguments: &Setup, agents: &[Agent], past: &PastSessions) {
    if arguments.json {
        let agents: Vec<Value> = agents
            .iter()
            .map(|agent| json!({"host": agent.host.name, "needed": agent.is_needed(), "setup": agent.line()}))
            .collect();
        print_json(json!({"agents": agents, "past_sessions": past.len(), "dry_run": arguments.dry_run}));
        return;
    }
    print_agents(agents);
    match past.len() {
        0 => println!("No past sessions to import."),
        _ => println!("{}", describe(past)),
    }
    if arguments.dry_run {
        println!("{DIM}Nothing was changed. `backstory install --dry-run` shows the changes in full.{DIM:#}");
    }
}

fn print_agents(agents: &[Agent]) {
    if agents.is_empty() {
        println!("No agent was found on this machine.");
    }
    for agent in agents {
        println!("{BOLD}{:<12}{BOLD:#} {}", agent.host.title, agent.line());
    }
}

/// Writes the files of the chosen agents; returns the changes.
fn connect(engine: &Engine, agents: &[Agent], arguments: &Setup) -> Result<Vec<HostFileChange>> {
    let chosen = agents.iter().filter(|agent| agent.is_chosen);
    let changes: Vec<HostFileChange> = chosen
        .filter_map(|agent| agent.changes.as_ref().ok())
        .flatten()
        .cloned()
        .collect();
    install::warn(&changes);
    if !changes.is_empty() {
        apply::install(engine, &mut Receipt::read(&engine.home)?, &changes)?;
    }
    if !arguments.json {
        // The others are listed as set up already.
        let chosen = agents.iter().filter(|agent| agent.is_chosen && agent.is_needed());
        let new = chosen.flat_map(|agent| agent.changes.as_deref().unwrap_or_default());
        install::print_done(engine, &new.cloned().collect::<Vec<_>>());
    }
    Ok(changes)
}

/// Imports the past sessions, after a confirmation unless --yes was passed. Returns their number.
fn import_past(engine: &Engine, arguments: &Setup, past: &PastSessions) -> Result<u64> {
    if past.len() == 0 {
        return Ok(0);
    }
    if !arguments.json {
        println!("{}", describe(past));
    }
    if !arguments.yes && !overview::confirm_by_default("Import them? [Y/n]")? {
        println!("{DIM}`backstory import` does it later.{DIM:#}");
        return Ok(0);
    }
    let counts = past.import(engine, arguments.json)?;
    if !arguments.json {
        println!(
            "{GOOD}{} imported.{GOOD:#} {DIM}The worker indexes them in the background.{DIM:#}",
            count(counts.sessions, "session")
        );
    }
    Ok(counts.sessions)
}

/// Describes the past sessions and the time that their import takes.
fn describe(past: &PastSessions) -> String {
    // Measured with Claude Code's transcripts: 15 MB in 3.2 s on two cores.
    const BYTES_PER_SECOND: u64 = 5_000_000;
    let hosts: Vec<&str> = past
        .by_host()
        .iter()
        .map(|found| overview::title(found.0))
        .collect();
    format!(
        "{} of {} in {}, about {} s.",
        count(past.len(), "past session"),
        enumerate(&hosts, "and"),
        count(past.folders(), "project folder"),
        past.bytes().div_ceil(BYTES_PER_SECOND)
    )
}

/// Joins names to a phrase: "A, B and C".
fn enumerate(names: &[&str], conjunction: &str) -> String {
    match names {
        [] => String::new(),
        [name] => (*name).to_owned(),
        [others @ .., last] => format!("{} {conjunction} {last}", others.join(", ")),
    }
}

/// Offers the status line of Claude Code if it shows nothing yet.
fn offer_status_line(engine: &Engine, agents: &[Agent]) -> Result<()> {
    let is_claude_code = |agent: &&Agent| agent.is_chosen && agent.host.name == "claude-code";
    let Some(agent) = agents.iter().find(is_claude_code) else {
        return Ok(());
    };
    let mut receipt = Receipt::read(&engine.home)?;
    let changes = plan::install(&receipt, agent.host, &paths::program()?, StatusLine::Add)?;
    if !changes.iter().any(HostFileChange::is_needed) {
        return Ok(());
    }
    if confirm("Show backstory in Claude Code's status line? [y/N]")? {
        apply::install(engine, &mut receipt, &changes)?;
    }
    Ok(())
}

/// Offers memories written by a model if its program is installed and none is configured.
fn offer_model(engine: &Engine) -> Result<()> {
    let settings = engine.checked_settings()?;
    let is_builtin = settings.distill.provider == ProviderName::Builtin;
    if !is_builtin || engine.environment.find_program("claude").is_none() {
        return Ok(());
    }
    println!(
        "Memories are written by built-in rules, at no cost. Claude can write them instead, with your subscription: one call of a \
         few thousand tokens per turn, at most {} tokens a day (`distill.daily_tokens`).",
        thousands(settings.distill.daily_tokens.into())
    );
    if confirm("Let Claude write memories from now on? [y/N]")? {
        let path = engine.home.config();
        config::set(
            &path,
            "distill.provider",
            "claude-cli",
            &engine.environment.settings(),
        )?;
        worker::restart_if_running(engine)?;
    }
    Ok(())
}

/// Three things that are known about a project.
struct Known {
    /// Name of the project.
    project: String,
    /// True for the project in the current folder.
    is_here: bool,
    memories: Vec<ContextEntry>,
}

/// Returns what is known about the current project; if that is nothing, about the project with the latest session.
fn known(engine: &Engine) -> Result<Known> {
    const MOST: usize = 3;
    let folder = std::env::current_dir().context("could not find the current folder")?;
    let mut here = Known {
        project: super::locate_here(engine, &folder).name,
        is_here: true,
        memories: context::first_memories(engine, None, MOST)?,
    };
    if here.memories.is_empty() {
        context::await_queue(engine)?;
        here.memories = context::first_memories(engine, None, MOST)?;
    }
    let latest = super::open_store(engine)?
        .map(|store| store.projects())
        .transpose()?;
    let latest = latest.and_then(|projects| projects.into_iter().next());
    match latest.filter(|_| here.memories.is_empty()) {
        Some(latest) => Ok(Known {
            memories: context::first_memories(engine, Some(latest.project.id), MOST)?,
            project: latest.project.name,
            is_here: false,
        }),
        None => Ok(here),
    }
}

fn print_known(known: &Known) {
    if known.memories.is_empty() {
        println!("{DIM}Nothing is known yet.{DIM:#}");
        return;
    }
    if !known.is_here {
        println!("{DIM}Nothing is known about the current folder yet.{DIM:#}");
    }
    println!("\n{BOLD}What I know about {}{BOLD:#}", known.project);
    for entry in &known.memories {
        let title = one_line(&entry.title, output::width().saturating_sub(12));
        println!("  {title} {DIM}#{}{DIM:#}", entry.handle);
    }
    println!();
}

/// Prints the state of the connection and what to do next.
fn print_next(engine: &Engine, agents: &[Agent]) -> Result<()> {
    match connection(engine)? {
        Connection::NotConnected => {
            println!("{BUSY}Not connected: no agent reports to backstory yet.{BUSY:#}");
            print_hint("`backstory install HOST` sets up an agent that was not found");
        }
        Connection::Waiting => {
            let chosen = agents.iter().filter(|agent| agent.is_chosen);
            let titles: Vec<&str> = chosen.map(|agent| agent.host.title).collect();
            let agent = match titles.is_empty() {
                true => "your agent".to_owned(),
                false => enumerate(&titles, "or"),
            };
            println!("{BUSY}Waiting for the first session: start a new one in {agent}.{BUSY:#}");
        }
        Connection::Connected(_) => println!("{GOOD}Connected.{GOOD:#}"),
    }
    Ok(())
}

fn connection(engine: &Engine) -> Result<Connection> {
    let path = engine.home.database();
    let store = match path.exists() {
        true => Some(Store::open_read_only(&path, BusyTimeout::Command)?),
        false => None,
    };
    Connection::read(engine, store.as_ref()).context("could not read the last events")
}
