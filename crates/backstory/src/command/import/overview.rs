//! `backstory import` without a source: lists the past sessions of all agents, and imports them after a confirmation.

use std::{
    collections::BTreeSet,
    io::{self, IsTerminal as _, Write as _},
    time::Instant,
};

use anstream::println;
use anyhow::{Context as _, Result};
use backstory_capture::host::find;
use backstory_engine::{engine::Engine, import};
use backstory_store::{BusyTimeout, Store};
use backstory_transcript::TranscriptHost;
use serde_json::{Value, json};

use super::sessions::{self, FoundSession, SessionArguments, SessionImportCounts};
use crate::{
    command::ExitStatus,
    json_output::print_json,
    output::{DIM, count, print_hint},
};

#[derive(clap::Args)]
pub(super) struct OverviewArguments {
    /// Import without a confirmation
    #[arg(long, short)]
    yes: bool,
    /// List the sessions, change nothing
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The past sessions of all agents on this machine.
pub(crate) struct PastSessions {
    /// Sessions, oldest first.
    sessions: Vec<FoundSession>,
}

impl PastSessions {
    /// Finds the sessions of all agents. Folders that cannot be read are reported and skipped.
    pub(crate) fn find(engine: &Engine) -> Self {
        let mut sessions = Vec::new();
        for host in TranscriptHost::ALL {
            let folders = import::default_folders(host, &engine.environment);
            for folder in folders.iter().filter(|folder| folder.exists()) {
                match import::find_sessions(host, folder) {
                    Ok(found) => sessions.extend(found.transcripts.into_iter().map(sessions::with_origin)),
                    Err(error) => anstream::eprintln!("could not read {}: {error:#}", folder.display()),
                }
            }
        }
        sessions::sort(&mut sessions);
        Self { sessions }
    }

    /// Keeps the sessions that were not imported in their present state.
    pub(crate) fn without_imported(mut self, engine: &Engine) -> Result<Self> {
        let mut are_new = self.are_new(engine)?.into_iter();
        self.sessions.retain(|_| are_new.next() == Some(true));
        Ok(self)
    }

    /// Returns for each session whether it was not imported in its present state.
    fn are_new(&self, engine: &Engine) -> Result<Vec<bool>> {
        if !engine.home.database().exists() {
            return Ok(vec![true; self.sessions.len()]);
        }
        let store = Store::open_read_only(&engine.home.database(), BusyTimeout::Command)?;
        let is_new = |(session, _): &FoundSession| Ok(!sessions::is_imported(&store, session)?);
        self.sessions.iter().map(is_new).collect()
    }

    /// Returns the number of sessions.
    pub(crate) fn len(&self) -> u64 {
        self.sessions.len() as u64
    }

    /// Returns the number of folders in which they ran.
    pub(crate) fn folders(&self) -> u64 {
        let folders = self
            .sessions
            .iter()
            .filter_map(|(_, origin)| origin.cwd.as_deref());
        folders.collect::<BTreeSet<_>>().len() as u64
    }

    /// Returns the size of their files in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.sessions.iter().map(|(session, _)| session.size).sum()
    }

    /// Returns the number of sessions and of folders of each agent that has any.
    pub(crate) fn by_host(&self) -> Vec<(TranscriptHost, u64, u64)> {
        let hosts = TranscriptHost::ALL.into_iter().map(|host| {
            let own = || {
                self.sessions
                    .iter()
                    .filter(move |(session, _)| session.host == host)
            };
            let folders: BTreeSet<_> = own().filter_map(|(_, origin)| origin.cwd.as_deref()).collect();
            (host, own().count() as u64, folders.len() as u64)
        });
        hosts.filter(|(_, sessions, _)| *sessions > 0).collect()
    }

    /// Imports all of them, with a progress display unless JSON is printed.
    pub(crate) fn import(&self, engine: &Engine, json: bool) -> Result<SessionImportCounts> {
        sessions::import(engine, &SessionArguments::quiet(json), &self.sessions)
    }
}

/// Returns the display name of a host.
pub(crate) fn title(host: TranscriptHost) -> &'static str {
    find(host.name()).map_or(host.name(), |spec| spec.title)
}

pub(super) fn run(engine: &Engine, arguments: &OverviewArguments) -> Result<ExitStatus> {
    let past = PastSessions::find(engine);
    let found = past.by_host();
    if !arguments.json {
        for (host, sessions, folders) in &found {
            println!(
                "{:<12} {} {DIM}in {}{DIM:#}",
                title(*host),
                count(*sessions, "session"),
                count(*folders, "folder")
            );
        }
    }
    if found.is_empty() || arguments.dry_run {
        let found: Vec<Value> = found
            .iter()
            .map(|(host, sessions, folders)| json!({"host": host.name(), "sessions": sessions, "folders": folders}))
            .collect();
        match (arguments.json, found.is_empty()) {
            (true, _) => print_json(json!({"found": found, "dry_run": arguments.dry_run})),
            (false, true) => println!("No past sessions found on this machine."),
            (false, false) => println!("{DIM}Nothing was changed.{DIM:#}"),
        }
        return Ok(ExitStatus::Done);
    }
    if !arguments.yes {
        let new = past.are_new(engine)?.into_iter().filter(|is_new| *is_new).count();
        if new == 0 {
            println!("{DIM}Nothing new: all of them were imported before.{DIM:#}");
            return Ok(ExitStatus::Done);
        }
        if !io::stdin().is_terminal() {
            anstream::eprintln!("Not a terminal, so nothing was changed. Pass --yes to import.");
            print_hint("`backstory import codex` imports the sessions of one agent");
            return Ok(ExitStatus::Refused);
        }
        if !confirm(&format!("Import {}? [y/N]", count(new as u64, "new session")))? {
            println!("Nothing was changed.");
            return Ok(ExitStatus::Failed);
        }
    }
    let start = Instant::now();
    let counts = past.import(engine, arguments.json)?;
    sessions::report(&SessionArguments::quiet(arguments.json), &counts, start);
    Ok(ExitStatus::Done)
}

/// Asks a question until the answer is yes or no. An empty answer means no.
pub(crate) fn confirm(question: &str) -> Result<bool> {
    answer(question, false)
}

/// Asks a question until the answer is yes or no. An empty answer means yes.
pub(crate) fn confirm_by_default(question: &str) -> Result<bool> {
    answer(question, true)
}

fn answer(question: &str, default: bool) -> Result<bool> {
    loop {
        let mut answer = String::new();
        let asked = write!(io::stderr(), "{question} ").and_then(|()| io::stderr().flush());
        let length = asked
            .and_then(|()| io::stdin().read_line(&mut answer))
            .context("could not read the answer")?;
        if length == 0 {
            return Ok(false);
        }
        match answer.trim().to_lowercase().as_str() {
            "y" | "yes" => return Ok(true),
            "" => return Ok(default),
            "n" | "no" => return Ok(false),
            _ => anstream::eprintln!("Answer y or n."),
        }
    }
}
