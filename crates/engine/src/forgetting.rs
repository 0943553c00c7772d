//! Forgets, and leaves nothing behind in the files around the database.

use std::io;

use anyhow::{Context as _, Result};
use backstory_recall::zero_vectors;
use backstory_store::{Forgotten, Selection, Store};
use backstory_system as system;

use crate::{
    backups::{self, BackupKind},
    clock,
    home::Home,
    injection_log, repair,
    settings::ContextSettings,
    worker::{self, rules_file},
};

/// What became of it.
#[derive(Debug)]
pub struct ForgetReport {
    /// What went.
    pub forgotten: Forgotten,
    /// Whether the last traces are gone too; else they go when whoever reads the store now has ended.
    pub is_traceless: bool,
    /// Backups that were taken by hand, and may still hold it.
    pub by_hand: Vec<backups::BackupFile>,
}

/// Forgets: in the database first, then in everything that was made from it.
pub fn forget(
    home: &Home,
    store: &mut Store,
    selection: Selection<'_>,
    settings: &ContextSettings,
) -> Result<ForgetReport> {
    let forgotten = store.forget(selection, clock::timestamp())?;
    zero_vectors(&home.vectors(), &forgotten.documents).context("could not blank the vectors")?;
    injection_log::forget(home, |session| Ok(store.session_db_id(session)?.is_some()))
        .context("could not remove what forgotten sessions were given")?;
    remove_torn(home).context("could not remove torn events")?;
    // Else the worker has done so, or a repair is under way.
    if !worker::is_running(home) {
        repair::sweep(home)?;
    }
    rules_file::refresh_all(home, store, settings)?;
    let is_traceless = store.purge_deleted_pages()?;
    let by_hand = renew_backups(home, store)?;
    Ok(ForgetReport {
        forgotten,
        is_traceless,
        by_hand,
    })
}

/// Removes events that nobody could read: nobody can say that they do not hold it.
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

/// Puts one new backup in the place of all that were made by themselves: what was forgotten must not come back when one is
/// needed. Returns those that were taken by hand.
fn renew_backups(home: &Home, store: &Store) -> Result<Vec<backups::BackupFile>> {
    if backups::list(home)
        .context("could not list the backups")?
        .is_empty()
    {
        return Ok(Vec::new());
    }
    let new = backups::path_for(home, BackupKind::Daily, clock::timestamp());
    let made = store.back_up(&new);
    // Without a new one too: forgetting comes first.
    let by_hand = backups::remove_all_but(home, &new).context("could not remove older backups")?;
    made.context("everything is forgotten, but no new backup could be made\nhint: is the disk full?")?;
    Ok(by_hand)
}
