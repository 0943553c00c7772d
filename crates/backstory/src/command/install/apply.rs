//! Applies a plan: backups first, then the receipt, then the files; all files or none.

use std::{
    fs::{self, DirBuilder},
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use backstory_engine::error::{HintContext as _, HintedError};
use backstory_engine::{atomic_file, engine::Engine};
use backstory_system::{self as system, OwnerOnly as _};
use backstory_text::sha256_hex;

use super::{paths, plan::HostFileChange};
use crate::receipt::{self, InstalledFile, Receipt};

/// Writes the files of an installation.
pub(crate) fn install(engine: &Engine, receipt: &mut Receipt, changes: &[HostFileChange]) -> Result<()> {
    check_unchanged(changes)?;
    for change in changes {
        let Some(new) = &change.new else { continue };
        if let Some(current) = &change.current {
            receipt::save(&engine.home, change.host.name, &change.path, current)?;
        }
        let before = match &change.base {
            Some(base) => Some(receipt::save(&engine.home, change.host.name, &change.path, base)?),
            None => None,
        };
        let earlier = receipt.written(change.host.name, &change.path);
        let folders = match earlier {
            Some(earlier) => earlier.folders.clone(),
            None => missing_folders(&change.path)?,
        };
        let written = InstalledFile {
            path: change.path.clone(),
            before,
            is_exact: change.is_exact,
            after: sha256_hex(new),
            folders,
        };
        let files = receipt.hosts.entry(change.host.name.to_owned()).or_default();
        files.retain(|known| known.path != written.path);
        files.push(written);
    }
    // Before the files: after any failure the earlier contents are known.
    receipt.write(&engine.home)?;
    write_all(changes)?;
    receipt::prune_backups(&engine.home, receipt)
}

/// Restores the files and removes them from the receipt.
pub(crate) fn uninstall(engine: &Engine, receipt: &mut Receipt, changes: &[HostFileChange]) -> Result<()> {
    check_unchanged(changes)?;
    for change in changes {
        if let Some(current) = change.current.as_deref().filter(|_| change.is_needed()) {
            receipt::save(&engine.home, change.host.name, &change.path, current)?;
        }
    }
    write_all(changes)?;
    for change in changes {
        let folders = receipt.written(change.host.name, &change.path);
        for folder in folders
            .into_iter()
            .flat_map(|written| written.folders.iter().rev())
        {
            // Not empty: another program uses the folder, so it stays.
            fs::remove_dir(folder).ok();
        }
    }
    for change in changes {
        receipt.hosts.remove(change.host.name);
    }
    receipt.write(&engine.home)?;
    receipt::prune_backups(&engine.home, receipt)
}

/// Checks that no file has changed since the plan was shown: those changes would be lost.
fn check_unchanged(changes: &[HostFileChange]) -> Result<()> {
    for change in changes {
        let now = match fs::read(&change.path) {
            Ok(content) => Some(content),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => {
                return Err(error).with_context(|| format!("could not read {}", change.path.display()));
            }
        };
        if now != change.current {
            let shown = paths::shown(&change.path);
            bail!(
                HintedError::new(format_args!("{shown} was modified by another program"))
                    .hint("try again; nothing was changed")
            );
        }
    }
    Ok(())
}

/// Writes all files; when one fails, restores those before it.
fn write_all(changes: &[HostFileChange]) -> Result<()> {
    for (at, change) in changes
        .iter()
        .enumerate()
        .filter(|(_, change)| change.is_needed())
    {
        let Err(error) = put(&change.path, change.new.as_deref()) else {
            continue;
        };
        for done in changes[..at].iter().filter(|change| change.is_needed()) {
            let back = put(&done.path, done.current.as_deref());
            back.with_context(|| format!("could not restore {}", done.path.display()))?;
        }
        let shown = paths::shown(&change.path);
        return Err(error).hint_context(format_args!("could not write {shown}"), "nothing was changed");
    }
    Ok(())
}

/// Writes or removes a file. A symbolic link stays; its target is written or removed.
fn put(path: &Path, content: Option<&[u8]>) -> io::Result<()> {
    let target = atomic_file::follow_links(path)?;
    match content {
        Some(content) => {
            DirBuilder::new()
                .recursive(true)
                .private()
                .create(atomic_file::folder_of(&target))?;
            atomic_file::write(&target, content)
        }
        None => match system::remove_file(target) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        },
    }
}

/// Returns the folders that have to be created for a file, the outermost first.
fn missing_folders(path: &Path) -> Result<Vec<PathBuf>> {
    let target = atomic_file::follow_links(path)
        .with_context(|| format!("could not follow {}", paths::shown(path)))?;
    let mut missing: Vec<PathBuf> = target
        .ancestors()
        .skip(1)
        .take_while(|folder| !folder.exists())
        .map(Path::to_owned)
        .collect();
    missing.reverse();
    Ok(missing)
}
