//! Subcommands, one file each with arguments, help text and implementation, and what several of them share.

pub(crate) mod backup;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod context;
pub(crate) mod demo;
pub(crate) mod distill;
pub(crate) mod doctor;
pub(crate) mod done;
pub(crate) mod edit;
pub(crate) mod experiment;
pub(crate) mod export;
pub(crate) mod forget;
pub(crate) mod import;
pub(crate) mod index;
pub(crate) mod install;
pub(crate) mod logins;
pub(crate) mod mcp;
pub(crate) mod off;
pub(crate) mod open;
pub(crate) mod pin;
pub(crate) mod project;
pub(crate) mod projects;
pub(crate) mod queue;
pub(crate) mod reindex;
pub(crate) mod remember;
pub(crate) mod restore;
pub(crate) mod resume;
pub(crate) mod scope;
pub(crate) mod search;
pub(crate) mod session;
pub(crate) mod sessions;
pub(crate) mod setup;
pub(crate) mod show;
pub(crate) mod stats;
pub(crate) mod status;
pub(crate) mod team;
pub(crate) mod timeline;
pub(crate) mod why;
pub(crate) mod worker;

use std::{path::Path, process::ExitCode, time::Duration};

use anyhow::{Context, Result};
use backstory_engine::error::{HintedError, with_hint};
use backstory_engine::ingest::ingest;
use backstory_engine::{
    engine::Engine,
    project_claims::{self, ClaimState},
    repair::{self, LockOwner},
    worker_process,
};
use backstory_model::{Handle, ObservationType, ProjectIdentity, Timestamp};
use backstory_store::{BusyTimeout, Project, Store};
use backstory_system::can_write;

/// Result of a command, as the shell sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// The command succeeded.
    Done,
    /// The command failed, or found nothing.
    Failed,
    /// An argument or a confirmation is missing; nothing was done.
    Refused,
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        match status {
            ExitStatus::Done => Self::SUCCESS,
            ExitStatus::Failed => Self::FAILURE,
            ExitStatus::Refused => Self::from(2),
        }
    }
}

/// Opens the store for writing, and reports a database that had to be rebuilt.
pub(crate) fn open_for_writing(engine: &Engine) -> Result<Store> {
    let opened = repair::open(engine, LockOwner::Command)?;
    if let Some(rebuilt) = opened.rebuilt {
        anstream::eprintln!("{rebuilt}");
    }
    Ok(opened.store)
}

/// Opens the store for a command that reads. Spooled events are ingested first: by the worker if it is running, else here.
/// Returns `None` when nothing was ever recorded.
pub(crate) fn open_store(engine: &Engine) -> Result<Option<Store>> {
    const TIMEOUT: Duration = Duration::from_millis(500);
    const POLL_INTERVAL: Duration = Duration::from_millis(10);
    // Every command reports problems of the settings, not only commands that need one of them.
    engine.checked_settings()?;
    let spool = engine.home.spool();
    let pending = spool.pending().context("could not list the spool")?;
    if pending.is_empty() && !engine.home.database().exists() {
        return Ok(None);
    }
    if let Err(error) = can_write(engine.home.root()) {
        if !pending.is_empty() {
            anstream::eprintln!("{} events are still in the spool: {error}", pending.len());
        }
        let store = Store::open_read_only(&engine.home.database(), BusyTimeout::Command);
        return store.map(Some).map_err(with_hint);
    }
    if !pending.is_empty() && worker_process::is_running(&engine.home) {
        // A worker that hangs must not block the command: after the timeout the command ingests the events itself.
        let last = pending.last();
        for _ in 0..TIMEOUT.as_millis() / POLL_INTERVAL.as_millis() {
            if !spool.pending()?.iter().any(|key| Some(key) <= last) {
                break;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }
    let mut store = open_for_writing(engine)?;
    match ingest(engine, &mut store) {
        Ok(ingested) if ingested.left > 0 => {
            anstream::eprintln!(
                "{} events in the spool are from a newer version, or cannot be read",
                ingested.left
            );
        }
        Ok(_) => {}
        // Existing memories can still be shown, and the events are safe in the spool.
        Err(error) => anstream::eprintln!("{} events are still in the spool: {error:#}", pending.len()),
    }
    // Without a worker no other process marks interrupted sessions. If the store is busy, the next command does it.
    store
        .mark_interrupted(engine.clock.timestamp(), Timestamp::EPOCH)
        .ok();
    Ok(Some(store))
}

/// Opens the store for a command that changes memories. Fails if one of them does not exist.
pub(crate) fn open_store_with(engine: &Engine, handles: &[Handle]) -> Result<Store> {
    let store = open_store(engine)?;
    for &handle in handles {
        let is_there = match &store {
            Some(store) => store.exists(handle)?,
            None => false,
        };
        if !is_there {
            return Err(unknown(handle));
        }
    }
    store.context("no memories yet")
}

/// Returns the error for a handle that no memory has.
pub(crate) fn unknown(handle: Handle) -> anyhow::Error {
    let hint = "`backstory search` finds memories, `backstory session` lists those of a session";
    HintedError::new(format_args!("no {} with id {handle}", handle.kind.name()))
        .hint(hint)
        .into()
}

/// Parses the type of an observation.
pub(crate) fn observation_type(name: &str) -> Result<ObservationType, String> {
    ObservationType::from_name(&name.to_lowercase()).ok_or_else(|| {
        let known: Vec<&str> = ObservationType::ALL.iter().map(|one| one.name()).collect();
        format!("expected one of {}", known.join(", "))
    })
}

/// Finds the project that the user names: an id, a display name, or any path inside it.
pub(crate) fn project(engine: &Engine, store: &Store, named: &str) -> Result<Project> {
    let as_path = Path::new(named);
    if as_path.exists() {
        let path = std::path::absolute(as_path)?;
        let key = project_claims::locate(engine, &path).facts.key;
        if let Some(project) = store.project_with_id(&key)? {
            return Ok(project);
        }
    }
    store.project(named).map_err(|error| {
        let hint = "name a project by its folder name, its path or its id; `backstory projects` lists them";
        HintedError::new(error).hint(hint).into()
    })
}

/// Finds the project of the current folder; `None` if it has no memories.
pub(crate) fn current_project(engine: &Engine, store: &Store) -> Result<Option<Project>> {
    let folder = std::env::current_dir().context("could not find the current folder")?;
    let facts = locate_here(engine, &folder);
    Ok(store.project_with_id(&facts.key)?)
}

/// Finds the project of a folder. Reports on stderr if the folder only claims to belong to a known project.
pub(crate) fn locate_here(engine: &Engine, folder: &Path) -> ProjectIdentity {
    let claimed = backstory_capture::project::locate(folder).facts;
    let decision = project_claims::claim(engine, &claimed);
    if decision == ClaimState::Pending {
        anstream::eprintln!("{}", project_claims::notice(engine, &claimed));
    }
    decision.apply(claimed)
}
