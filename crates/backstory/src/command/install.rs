//! `backstory install` and `uninstall`: adds and removes our hooks and MCP server in the settings of the agents.

pub(crate) mod apply;
mod diff;
pub(crate) mod inspect;
mod json;
mod owned_entries;
pub(crate) mod paths;
pub(crate) mod plan;
mod toml;
pub(crate) mod warnings;

use std::io::{self, IsTerminal, Write as _};

use anstream::println;
use anyhow::{Context, Result, bail};
use backstory_capture::host::{HOSTS, HostSpec, find};
use backstory_engine::engine::Engine;
use backstory_engine::error::{HintContext as _, HintedError};
use backstory_engine::rules_file;
use backstory_engine::settings::nearest;
use backstory_engine::worker_process;
use backstory_system::KILL_COMMAND;
use serde_json::{Value, json};

use super::ExitStatus;
use crate::{
    json_output::print_json,
    output::{BAD, BOLD, BUSY, DIM, GOOD, count, print_hint},
    receipt::Receipt,
};
use diff::DiffLine;
use plan::{HostFileChange, StatusLine};

/// Set up the agents on this machine
///
/// Shows the changes and asks for confirmation. Everything else in the files stays as it is, and `backstory uninstall` restores
/// them from copies that are kept until then. Running it again updates older entries.
///
/// Hosts: claude-code, codex, cursor, gemini-cli, opencode, windsurf, copilot-cli, vscode.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  backstory install                   choose among the agents found here
  backstory install codex --dry-run   the changes for one")]
pub(crate) struct Install {
    /// Agents to set up [default: those found on this machine]
    #[arg(value_name = "HOST", value_parser = host)]
    hosts: Vec<&'static HostSpec>,
    /// All agents found on this machine
    #[arg(long, conflicts_with = "hosts")]
    all: bool,
    /// Also show backstory in Claude Code's status line, unless it shows something else
    #[arg(long)]
    status_line: bool,
    #[command(flatten)]
    confirm: ConfirmArgs,
}

/// Undo `backstory install`
///
/// Restores files that are unchanged since, byte for byte. In all others only our entries are removed. Memories stay.
#[derive(clap::Args)]
pub(crate) struct Uninstall {
    /// Agents [default: all that were set up]
    #[arg(value_name = "HOST", value_parser = host)]
    hosts: Vec<&'static HostSpec>,
    #[command(flatten)]
    confirm: ConfirmArgs,
}

/// Confirmation and output options.
#[derive(clap::Args)]
struct ConfirmArgs {
    /// Skip the confirmation
    #[arg(long, short)]
    yes: bool,
    /// Show the changes, write nothing
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Parses the name of a host; suggests the one that is meant by a part of its name or a typo.
fn host(name: &str) -> Result<&'static HostSpec, String> {
    find(name).ok_or_else(|| {
        let names: Vec<&str> = HOSTS.iter().map(|host| host.name).collect();
        match nearest(&names, name) {
            Some(near) => format!("did you mean `{near}`? Known are {}", names.join(", ")),
            None => format!("expected one of {}", names.join(", ")),
        }
    })
}

pub(crate) fn install(engine: &Engine, arguments: &Install) -> Result<ExitStatus> {
    let hosts = match arguments.hosts.as_slice() {
        [] => paths::present(),
        named => named.to_vec(),
    };
    if hosts.is_empty() {
        let names: Vec<&str> = HOSTS.iter().map(|host| host.name).collect();
        let error = HintedError::new("no agent was found on this machine");
        bail!(error.hint(format_args!("name one: {}", names.join(", "))));
    }
    let program = paths::program()?;
    let mut receipt = Receipt::read(&engine.home)?;
    let status_line = if arguments.status_line {
        StatusLine::Add
    } else {
        StatusLine::Keep
    };
    let mut changes = Vec::new();
    for host in &hosts {
        changes.extend(plan::install(&receipt, host, &program, status_line)?);
    }
    let question = match arguments.hosts.is_empty() && !arguments.all && hosts.len() > 1 {
        true => "Write all of this? [y/N, or the hosts that you want]",
        false => "Write this? [y/N]",
    };
    show(&arguments.confirm, &changes);
    warn(&changes);
    let changes = match ask(&arguments.confirm, changes, question)? {
        Confirmation::Apply(changes) => changes,
        Confirmation::Exit(status) => return Ok(status),
    };
    apply::install(engine, &mut receipt, &changes)?;
    if arguments.confirm.json {
        print_json(as_json(&changes, false));
        return Ok(ExitStatus::Done);
    }
    print_done(engine, &changes);
    match blocking_settings(&changes).first() {
        None => println!("{DIM}The next session is recorded; `backstory uninstall` undoes this.{DIM:#}"),
        Some((host, _)) => println!(
            "{BUSY}Nothing of {host} is recorded before the warning above is resolved.{BUSY:#} \
             {DIM}`backstory uninstall` undoes this.{DIM:#}"
        ),
    }
    Ok(ExitStatus::Done)
}

/// Prints which hosts are set up, and the steps that are left to the user.
pub(crate) fn print_done(engine: &Engine, changes: &[HostFileChange]) {
    for host in of_changes(changes) {
        let is_new = changes
            .iter()
            .any(|change| change.host.name == host.name && change.is_needed());
        let done = if is_new { "set up" } else { "already set up" };
        println!("{GOOD}{} is {done}.{GOOD:#}", host.title);
        if let Some(afterwards) = host.post_install_note {
            println!("  {afterwards}");
        }
    }
    if engine.environment.has_other_home() {
        anstream::eprintln!(
            "{BUSY}BACKSTORY_HOME is set here: agents must be started with it too, or they use ~/.backstory.{BUSY:#}"
        );
    }
}

pub(crate) fn uninstall(engine: &Engine, arguments: &Uninstall) -> Result<ExitStatus> {
    let mut receipt = Receipt::read(&engine.home)?;
    let hosts: Vec<&'static HostSpec> = match arguments.hosts.as_slice() {
        [] => receipt.hosts.keys().filter_map(|name| find(name)).collect(),
        named => named.to_vec(),
    };
    let mut changes = Vec::new();
    for host in &hosts {
        changes.extend(plan::uninstall(&receipt, host)?);
    }
    if !changes.iter().any(HostFileChange::is_needed) {
        if !arguments.confirm.dry_run {
            // The files may be gone although the receipt still lists them.
            for host in &hosts {
                receipt.hosts.remove(host.name);
            }
            receipt.write(&engine.home)?;
        }
        match arguments.confirm.json {
            true => print_json(as_json(&changes, arguments.confirm.dry_run)),
            false => println!("Nothing is installed."),
        }
        return Ok(ExitStatus::Done);
    }
    show(&arguments.confirm, &changes);
    let changes = match ask(&arguments.confirm, changes, "Restore these files? [y/N]")? {
        Confirmation::Apply(changes) => changes,
        Confirmation::Exit(status) => return Ok(status),
    };
    apply::uninstall(engine, &mut receipt, &changes)?;
    let mut rules_files = 0;
    for rules in of_changes(&changes).iter().filter_map(|host| host.rules) {
        rules_files += rules_file::remove_all(&engine.home, rules)?;
    }
    // No host reports to it anymore.
    let has_stopped = receipt.hosts.is_empty()
        && worker_process::stop(&engine.home).hint_context(
            "everything is restored, but the worker did not exit",
            format_args!("it may hang; `{KILL_COMMAND}` loses nothing"),
        )?;
    if arguments.confirm.json {
        print_json(as_json(&changes, false));
        return Ok(ExitStatus::Done);
    }
    for change in changes.iter().filter(|change| change.is_needed()) {
        let shown = paths::shown(&change.path);
        match (&change.new, change.is_exact) {
            (None, _) => println!("{shown} was removed."),
            (Some(_), true) => println!("{shown} was restored."),
            (Some(_), false) => println!("{shown}: only our entries were removed."),
        }
    }
    if rules_files > 0 {
        println!(
            "{} in your projects removed.",
            count(rules_files as u64, "rules file")
        );
    }
    if has_stopped {
        println!("The worker was stopped.");
    }
    println!(
        "{DIM}Your memories are still in {}{DIM:#}",
        paths::shown(engine.home.root())
    );
    Ok(ExitStatus::Done)
}

/// Decision of the user.
enum Confirmation {
    /// Apply these changes.
    Apply(Vec<HostFileChange>),
    /// Apply nothing and exit with this status.
    Exit(ExitStatus),
}

/// Shows the changes, in full if they are to be confirmed.
fn show(confirm: &ConfirmArgs, changes: &[HostFileChange]) {
    if !confirm.json {
        for change in changes {
            print(change, !confirm.yes);
        }
    }
}

/// Asks for confirmation, unless --yes was passed.
fn ask(confirm: &ConfirmArgs, changes: Vec<HostFileChange>, question: &str) -> Result<Confirmation> {
    if confirm.dry_run {
        match confirm.json {
            true => print_json(as_json(&changes, true)),
            false => println!("{DIM}Nothing was changed.{DIM:#}"),
        }
        return Ok(Confirmation::Exit(ExitStatus::Done));
    }
    if confirm.yes || !changes.iter().any(HostFileChange::is_needed) {
        return Ok(Confirmation::Apply(changes));
    }
    if !io::stdin().is_terminal() {
        anstream::eprintln!("Not a terminal, so nothing was changed. Pass --yes to apply.");
        print_hint("--dry-run shows the changes");
        return Ok(Confirmation::Exit(ExitStatus::Refused));
    }
    let hosts: Vec<&str> = of_changes(&changes).iter().map(|host| host.name).collect();
    let chosen = loop {
        let mut answer = String::new();
        let asked = write!(io::stderr(), "{question} ").and_then(|()| io::stderr().flush());
        asked
            .and_then(|()| io::stdin().read_line(&mut answer))
            .context("could not read the answer")?;
        match parse_answer(&answer, &hosts) {
            Ok(chosen) => break chosen,
            Err(unknown) => {
                anstream::eprintln!(
                    "Not understood: `{}`. Answer y, n, or some of: {}.",
                    visible(&unknown),
                    hosts.join(", ")
                );
            }
        }
    };
    if chosen.is_empty() {
        println!("Nothing was changed.");
        return Ok(Confirmation::Exit(ExitStatus::Failed));
    }
    let is_chosen = |change: &HostFileChange| chosen.contains(&change.host.name);
    Ok(Confirmation::Apply(
        changes.into_iter().filter(is_chosen).collect(),
    ))
}

/// Reports settings that keep our entries from being used.
pub(crate) fn warn(changes: &[HostFileChange]) {
    for (_, warning) in blocking_settings(changes) {
        anstream::eprintln!("{BUSY}{warning}{BUSY:#}");
    }
}

/// Returns the settings that keep our entries from being used: the name of the host, and what is wrong.
fn blocking_settings(changes: &[HostFileChange]) -> Vec<(&'static str, String)> {
    let of_files = changes
        .iter()
        .filter_map(|change| Some((change.host.title, warnings::of_file(change)?)));
    let managed = of_changes(changes).into_iter().flat_map(|host| {
        let found = warnings::of_managed_settings(host).into_iter();
        found.map(move |warning| (host.title, warning))
    });
    of_files.chain(managed).collect()
}

/// Parses the answer to a question: yes, no, or names of hosts. Returns the chosen hosts; fails with a word that is neither.
fn parse_answer<'h>(answer: &str, hosts: &[&'h str]) -> Result<Vec<&'h str>, String> {
    let answer = answer.to_lowercase();
    let words = answer.split([' ', ',', '\t', '\r', '\n']);
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    match words.as_slice() {
        ["y" | "yes"] => Ok(hosts.to_vec()),
        [] | ["n" | "no"] => Ok(Vec::new()),
        names => {
            let known = |name: &&str| {
                let found = hosts.iter().find(|host| *host == name);
                found.copied().ok_or_else(|| (*name).to_owned())
            };
            names.iter().map(known).collect()
        }
    }
}

fn of_changes(changes: &[HostFileChange]) -> Vec<&'static HostSpec> {
    let mut hosts: Vec<&'static HostSpec> = Vec::new();
    for change in changes {
        if !hosts.iter().any(|host| host.name == change.host.name) {
            hosts.push(change.host);
        }
    }
    hosts
}

/// Prints the state of a file after the change and, for a decision, its diff.
pub(crate) fn print(change: &HostFileChange, in_full: bool) {
    let what = match (&change.current, &change.new) {
        _ if !change.is_needed() => "unchanged",
        (None, _) => "will be created",
        (Some(_), None) => "will be removed",
        (Some(_), Some(_)) => "will be changed",
    };
    println!(
        "{BOLD}{}{BOLD:#} {DIM}({}) {what}{DIM:#}",
        paths::shown(&change.path),
        change.host.title
    );
    if !in_full || !change.is_needed() {
        return;
    }
    let text = |content: &Option<Vec<u8>>| {
        String::from_utf8_lossy(content.as_deref().unwrap_or_default()).into_owned()
    };
    let (old, new) = (text(&change.current), text(&change.new));
    for line in diff::diff(&old, &new) {
        match line {
            DiffLine::Same(line) => println!("    {DIM}{}{DIM:#}", visible(line)),
            DiffLine::Old(line) => println!("  {BAD}- {}{BAD:#}", visible(line)),
            DiffLine::New(line) => println!("  {GOOD}+ {}{GOOD:#}", visible(line)),
            DiffLine::Gap => println!("    {DIM}…{DIM:#}"),
        }
    }
    println!();
}

/// Escapes and truncates a line of a foreign file, which may contain control sequences.
fn visible(line: &str) -> String {
    const MAX_WIDTH: usize = 160;
    line.chars()
        .filter(|c| *c == '\t' || !c.is_control())
        .take(MAX_WIDTH)
        .collect()
}

pub(crate) fn as_json(changes: &[HostFileChange], is_dry: bool) -> Value {
    let file = |change: &HostFileChange| {
        let action = match (&change.current, &change.new) {
            _ if !change.is_needed() => "none",
            (None, _) => "create",
            (Some(_), None) => "remove",
            (Some(_), Some(_)) => "change",
        };
        json!({"host": change.host.name, "path": change.path, "action": action, "exact": change.is_exact})
    };
    let files: Vec<Value> = changes.iter().map(file).collect();
    json!({"files": files, "dry_run": is_dry})
}
