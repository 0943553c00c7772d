//! `backstory completions` and `backstory man`: shell completions and manual pages.
//!
//! The scripts ask this program for candidates, so that values complete too: hosts, types, settings, pages, projects and
//! sessions. [`with_values`] assigns them to the arguments by id, so that a new argument with a known id completes by itself.

use backstory_capture::host::HOSTS;
use backstory_engine::error::HintedError;
use backstory_engine::{clock::Clock, engine::Engine, environment::Environment, settings::KEYS};
use backstory_model::{MemoryKind, ObservationType};
use backstory_serve::PAGES;
use backstory_store::{BusyTimeout, ProjectCard, SessionFilter, Store};
use std::io::{self, Write};

use anyhow::{Result, bail};
use clap::{Arg, Command};
use clap_complete::{
    CompletionCandidate, Shell,
    engine::ArgValueCandidates,
    env::{CompleteEnv, Shells},
};

use super::ExitStatus;

/// Variable by which a script asks for candidates.
const VARIABLE: &str = "BACKSTORY_COMPLETE";

/// Print shell completions
///
/// bash: `source <(backstory completions bash)` in ~/.bashrc;
/// zsh: `source <(backstory completions zsh)` in ~/.zshrc, after compinit;
/// fish: `backstory completions fish | source` in ~/.config/fish/config.fish;
/// elvish and powershell: into the profile, again after an update.
#[derive(clap::Args)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

/// Print the manual page of backstory, or of one of its commands
///
/// For packagers, and for `backstory man search | man -l -`.
#[derive(clap::Args)]
pub(crate) struct Man {
    /// The command; two words for a nested command
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
}

pub(crate) fn completions(arguments: &Completions) -> Result<ExitStatus> {
    let shell = arguments.shell.to_string();
    let shells = Shells::builtins();
    let Some(completer) = shells.completer(&shell) else {
        bail!("no completions for {shell}");
    };
    let mut script = Vec::new();
    completer.write_registration(VARIABLE, "backstory", "backstory", "backstory", &mut script)?;
    io::stdout().write_all(&script)?;
    Ok(ExitStatus::Done)
}

/// Answers a completion script and exits, if one asks.
pub(crate) fn answer_shell(command: fn() -> Command) {
    CompleteEnv::with_factory(move || with_values(command()))
        .var(VARIABLE)
        .complete();
}

/// Adds the candidates of values to the arguments of a command and of its subcommands.
fn with_values(command: Command) -> Command {
    let command = command.mut_args(|arg| match candidates(&arg) {
        Some(candidates) => arg.add(candidates),
        None => arg,
    });
    command.mut_subcommands(with_values)
}

fn candidates(arg: &Arg) -> Option<ArgValueCandidates> {
    // The id of an option is a field name, which may differ from what the user types.
    let name = arg.get_long().unwrap_or(arg.get_id().as_str());
    Some(match name {
        "hosts" | "host" => ArgValueCandidates::new(|| names(HOSTS.iter().map(|host| host.name))),
        "type" => ArgValueCandidates::new(|| names(ObservationType::NAMES)),
        "kind" => ArgValueCandidates::new(|| names(MemoryKind::NAMES)),
        "page" => ArgValueCandidates::new(|| names(PAGES.into_iter().filter(|page| !page.contains('/')))),
        "key" => ArgValueCandidates::new(settings),
        "project" => ArgValueCandidates::new(projects),
        "session" => ArgValueCandidates::new(sessions),
        _ => return None,
    })
}

fn names(names: impl IntoIterator<Item = &'static str>) -> Vec<CompletionCandidate> {
    names.into_iter().map(CompletionCandidate::new).collect()
}

fn settings() -> Vec<CompletionCandidate> {
    KEYS.iter()
        .map(|key| CompletionCandidate::new(key.to_string()))
        .collect()
}

fn projects() -> Vec<CompletionCandidate> {
    let projects = store()
        .and_then(|store| store.projects().ok())
        .unwrap_or_default();
    let is_unique = |name: &str| projects.iter().filter(|card| card.project.name == name).count() == 1;
    let candidate = |card: &ProjectCard| {
        let (name, root) = (&card.project.name, &card.project.root);
        // A name that several projects have selects none of them; a path does.
        let value = if is_unique(name) { name } else { root };
        CompletionCandidate::new(value).help(Some(root.into()))
    };
    projects.iter().map(candidate).collect()
}

fn sessions() -> Vec<CompletionCandidate> {
    const LATEST: u32 = 30;
    let filter = SessionFilter {
        project: None,
        after: None,
        limit: LATEST,
    };
    let sessions = store()
        .and_then(|store| store.sessions(&filter).ok())
        .unwrap_or_default();
    sessions
        .into_iter()
        .map(|session| CompletionCandidate::new(session.session_id).help(session.title.map(Into::into)))
        .collect()
}

/// Opens the store; `None` if there is none or it cannot be read: a completion reports no errors.
fn store() -> Option<Store> {
    let engine = Engine::find(Clock::system(), Environment::process())?;
    engine.home.check().ok()?;
    Store::open_read_only(&engine.home.database(), BusyTimeout::Command).ok()
}

pub(crate) fn man(arguments: &Man, mut command: Command) -> Result<ExitStatus> {
    command.build();
    let mut found = &command;
    for word in &arguments.command {
        found = match found.find_subcommand(word) {
            Some(found) => found,
            None => bail!(
                HintedError::new(format_args!("no such command: `{word}`"))
                    .hint("`backstory --help` lists them")
            ),
        };
    }
    let page = clap_mangen::Man::new(found.clone());
    let mut text = Vec::new();
    page.render(&mut text)?;
    io::stdout().write_all(&text)?;
    Ok(ExitStatus::Done)
}
