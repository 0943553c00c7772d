//! Moves events from the spool into the database: in order, in batches, exactly once.
//!
//! A spooled file is removed only after the transaction that stores its event was committed to the database at its path.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    path::Path,
};

use anyhow::{Context, Result, bail};
use backstory_capture::{
    drop_counters::{self, DropReason},
    hook_payload::HookPayload,
    host, project,
    spool::SpoolError,
};
use backstory_model::{Event, ProjectIdentity};
use backstory_store::{IngestCounts, SessionProjects, Store, StoreError};

use crate::{engine::Engine, project_claims, swap_lock::SwapLock};

/// Number of events per transaction.
const BATCH: usize = 500;

/// The database was deleted or replaced while it was open, so that what was written to it is lost.
#[derive(Debug, thiserror::Error)]
#[error("the database was deleted or replaced while it was open")]
pub struct DatabaseReplaced;

/// Result of an ingest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IngestReport {
    /// Events that were not in the database before.
    pub new: usize,
    /// Torn files, moved to `spool/torn`.
    pub torn: usize,
    /// Files that stay in the spool: written by a newer version, or not readable now.
    pub left: usize,
    /// Number of events by host.
    pub hosts: BTreeMap<String, u64>,
    /// Sessions of hosts that read memories from a rules file.
    pub readers: BTreeSet<String>,
}

/// Ingests all events that are in the spool now.
pub fn ingest(engine: &Engine, store: &mut Store) -> Result<IngestReport> {
    let spool = &engine.home.spool();
    let pending = spool.pending().context("could not list the spool")?;
    let mut report = IngestReport::default();
    if pending.is_empty() {
        return Ok(report);
    }
    let _lock = SwapLock::shared(spool)?;
    for keys in pending.chunks(BATCH) {
        ingest_batch(engine, store, keys, &mut report)?;
    }
    Ok(report)
}

/// Stores events in one transaction. The project of a new session is decided here: its first event may lack one, or name one
/// that its folder only claims.
pub fn store_events(
    engine: &Engine,
    store: &mut Store,
    events: &[Event],
) -> Result<IngestCounts, StoreError> {
    let mut projects = SessionProjects::new();
    let mut seen = HashSet::new();
    for event in events {
        if seen.insert(event.session_id.as_str()) && store.session_db_id(&event.session_id)?.is_none() {
            let own = event.project.clone().or_else(|| located(event));
            // A host that names no folder at the start may do so with the next event.
            let identity = own.or_else(|| {
                let mut later = events.iter().filter(|other| other.session_id == event.session_id);
                later.find_map(|other| other.project.clone())
            });
            let identity = identity.unwrap_or_else(ProjectIdentity::unknown);
            let identity = project_claims::record(engine, store, identity)?;
            projects.insert(event.session_id.clone(), identity);
        }
    }
    store.ingest_batch(events, &projects)
}

/// Locates the project of the folder that the payload of an event names.
fn located(event: &Event) -> Option<ProjectIdentity> {
    let payload = HookPayload::read(&event.payload).ok()?;
    // A relative folder would be located in the folder of the worker.
    let cwd = payload.cwd().filter(|cwd| Path::new(&**cwd).has_root())?;
    Some(project::locate(Path::new(&*cwd)).facts)
}

fn ingest_batch(
    engine: &Engine,
    store: &mut Store,
    keys: &[String],
    report: &mut IngestReport,
) -> Result<()> {
    let spool = &engine.home.spool();
    let mut events = Vec::with_capacity(keys.len());
    for key in keys {
        match spool.read(key) {
            Ok(event) => events.push(event),
            Err(SpoolError::Gone) => {}
            Err(SpoolError::Torn(_)) => {
                spool.set_aside(key).context("could not set a torn file aside")?;
                // Best effort: the file itself shows the loss.
                drop_counters::add(spool, DropReason::Torn).ok();
                report.torn += 1;
            }
            Err(SpoolError::Unreadable(_)) => {
                spool
                    .remove([key.as_str()])
                    .context("could not clear the spool")?;
                drop_counters::add(spool, DropReason::Unreadable).ok();
            }
            Err(SpoolError::Newer(_) | SpoolError::Read(..)) => report.left += 1,
        }
    }
    for event in &events {
        *report.hosts.entry(event.host.as_str().to_owned()).or_default() += 1;
    }
    let reads = |event: &&Event| host::find(event.host.as_str()).is_some_and(|host| host.rules.is_some());
    let readers = events.iter().filter(reads);
    report
        .readers
        .extend(readers.map(|event| event.session_id.clone()));
    report.new += store_events(engine, store, &events)?.new;
    if !store.is_in_place() {
        bail!(DatabaseReplaced);
    }
    // After the commit: until then the spool has the only copy.
    spool
        .remove(events.iter().map(|event| event.key.as_str()))
        .context("could not clear the spool")
}
