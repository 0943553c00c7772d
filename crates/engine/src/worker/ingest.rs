//! Moves events from the spool into the database: in order, in batches, exactly once.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use anyhow::{Context, Result, bail};
use backstory_capture::{
    drop_counters::{self, DropReason},
    filter, host, project,
    spool::{Spool, SpoolError},
};
use backstory_model::Event;
use backstory_store::{IngestHooks, Store};

use crate::repair::SwapLock;

/// How many events go into one transaction.
const BATCH: usize = 500;

/// The database was deleted or replaced while it was open: what was written went nowhere.
#[derive(Debug, thiserror::Error)]
#[error("the database was deleted or replaced while it was open")]
pub(super) struct DatabaseReplaced;

/// What taking in did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Intake {
    /// Events that are new in the database.
    pub new: usize,
    /// Files that were torn and set aside.
    pub torn: usize,
    /// Files left where they are: written by a newer version, or unreadable now.
    pub left: usize,
    /// How many events each host reported.
    pub hosts: BTreeMap<String, u64>,
    /// Sessions of hosts that read what is remembered from a file.
    pub readers: BTreeSet<String>,
}

/// Takes in everything that waits at this moment.
pub fn ingest(spool: &Spool, store: &mut Store) -> Result<Intake> {
    let waiting = spool.waiting().context("could not list the spool")?;
    let mut intake = Intake::default();
    if waiting.is_empty() {
        return Ok(intake);
    }
    let _gate = SwapLock::shared(spool)?;
    for keys in waiting.chunks(BATCH) {
        take_batch(spool, store, keys, &mut intake)?;
    }
    Ok(intake)
}

/// What the store cannot know by itself.
pub fn ingest_hooks() -> IngestHooks<'static> {
    IngestHooks {
        locate: &|cwd| project::locate(Path::new(cwd)).facts,
        is_machine_made: &filter::is_machine_made,
    }
}

fn take_batch(spool: &Spool, store: &mut Store, keys: &[String], intake: &mut Intake) -> Result<()> {
    let mut events = Vec::with_capacity(keys.len());
    for key in keys {
        match spool.read(key) {
            Ok(event) => events.push(event),
            Err(SpoolError::Gone) => {}
            Err(SpoolError::Torn(_)) => {
                spool.set_aside(key).context("could not set a torn file aside")?;
                // The file itself is the evidence; the count is a convenience.
                drop_counters::add(spool, DropReason::Torn).ok();
                intake.torn += 1;
            }
            Err(SpoolError::Unreadable(_)) => {
                spool
                    .remove([key.as_str()])
                    .context("could not clear the spool")?;
                drop_counters::add(spool, DropReason::Unreadable).ok();
            }
            Err(SpoolError::Newer(_) | SpoolError::Read(..)) => intake.left += 1,
        }
    }
    for event in &events {
        *intake.hosts.entry(event.host.as_str().to_owned()).or_default() += 1;
    }
    let reads = |event: &&Event| host::find(event.host.as_str()).is_some_and(|host| host.rules.is_some());
    let readers = events.iter().filter(reads);
    intake
        .readers
        .extend(readers.map(|event| event.session_id.clone()));
    intake.new += store.ingest_batch(&events, ingest_hooks())?.new;
    if !store.is_in_place() {
        bail!(DatabaseReplaced);
    }
    // Only now: until the commit the spool is the only place that has them.
    spool
        .remove(events.iter().map(|event| event.key.as_str()))
        .context("could not clear the spool")
}
