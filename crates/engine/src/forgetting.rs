//! Forgets memories in the database and in every file derived from it: vectors, injection logs, rules files, backups.

use std::io;

use anyhow::{Context as _, Result};
use backstory_model::DocumentId;
use backstory_recall::zero_vectors;
use backstory_store::{Forgotten, Selection, Store};
use backstory_system as system;

use crate::{
    backups::{self, BackupKind},
    engine::Engine,
    error::HintContext as _,
    home::Home,
    injection_log, repair, rules_file,
    settings::ContextSettings,
    worker::compose_pending,
    worker_process,
};

/// Result of forgetting.
#[derive(Debug)]
pub struct ForgetReport {
    /// Deleted memories.
    pub forgotten: Forgotten,
    /// True if the freed pages were purged too. Otherwise that happens when the processes that read the store now have ended.
    pub is_traceless: bool,
    /// Manual backups, which may still contain the memories.
    pub by_hand: Vec<backups::BackupFile>,
}

/// Forgets a selection: first in the database, then in everything that was derived from it.
pub fn forget(
    engine: &Engine,
    store: &mut Store,
    selection: Selection<'_>,
    settings: &ContextSettings,
) -> Result<ForgetReport> {
    let home = &engine.home;
    let forgotten = store.forget(selection, engine.clock.timestamp())?;
    compose_pending(store).context("could not renew the hand-overs")?;
    injection_log::forget(home, |session| Ok(store.session_db_id(session)?.is_some()))
        .context("could not remove the injection logs of forgotten sessions")?;
    remove_torn(home).context("could not remove torn events")?;
    // A running worker has done that already, or a repair is in progress.
    if !worker_process::is_running(home) {
        repair::sweep(home)?;
    }
    rules_file::refresh_all(engine, store, settings)?;
    let (is_traceless, by_hand) = erase_traces(engine, store, &forgotten.documents)?;
    Ok(ForgetReport {
        forgotten,
        is_traceless,
        by_hand,
    })
}

/// Erases deleted memories from vectors, freed pages and automatic backups. Returns whether the freed pages were purged, and
/// the manual backups, which are kept.
pub(crate) fn erase_traces(
    engine: &Engine,
    store: &Store,
    documents: &[DocumentId],
) -> Result<(bool, Vec<backups::BackupFile>)> {
    zero_vectors(&engine.home.vectors(), documents).context("could not erase the vectors")?;
    let is_traceless = store.purge_deleted_pages()?;
    Ok((is_traceless, renew_backups(engine, store)?))
}

/// Removes torn events: they cannot be read, so they may contain what was forgotten.
fn remove_torn(home: &Home) -> io::Result<()> {
    let spool = home.spool();
    for name in spool.torn()? {
        match system::remove_file(spool.root().join("torn").join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Replaces all automatic backups by a new one, so that a restore does not bring forgotten memories back. Returns the manual
/// backups, which are kept.
fn renew_backups(engine: &Engine, store: &Store) -> Result<Vec<backups::BackupFile>> {
    let home = &engine.home;
    if backups::list(home)
        .context("could not list the backups")?
        .is_empty()
    {
        return Ok(Vec::new());
    }
    let new = backups::path_for(home, BackupKind::Daily, engine.clock.timestamp());
    let made = store.back_up(&new);
    // Even if the new backup failed: forgetting takes precedence.
    let by_hand = backups::remove_all_but(home, &new).context("could not remove older backups")?;
    made.hint_context(
        "the memories are deleted, but no new backup could be made",
        "check the free disk space",
    )?;
    Ok(by_hand)
}
