//! Writes what was planned: copies first, the receipt next, then the files; all of them or none.

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

use super::{paths, plan::FileChange};
use crate::receipt::{self, InstalledFile, Receipt};

/// Writes the files of an installation.
pub(crate) fn install(engine: &Engine, receipt: &mut Receipt, changes: &[FileChange]) -> Result<()> {
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
    // Before the files: however this ends, what was there is known.
    receipt.write(&engine.home)?;
    write_all(changes)
}

/// Puts the files back, and forgets that they were written.
pub(crate) fn uninstall(engine: &Engine, receipt: &mut Receipt, changes: &[FileChange]) -> Result<()> {
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
            // Somebody has put something there: it stays.
            fs::remove_dir(folder).ok();
        }
    }
    for change in changes {
        receipt.hosts.remove(change.host.name);
    }
    receipt.write(&engine.home)
}

/// A file that changed since it was shown would lose what came in between.
fn check_unchanged(changes: &[FileChange]) -> Result<()> {
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

/// Writes all files; when one cannot be written, those before it get back what they had.
fn write_all(changes: &[FileChange]) -> Result<()> {
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
            back.with_context(|| format!("could not put {} back", done.path.display()))?;
        }
        let shown = paths::shown(&change.path);
        return Err(error).hint_context(format_args!("could not write {shown}"), "nothing was changed");
    }
    Ok(())
}

/// A link stays what it is: the file that it leads to is written or removed.
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

/// Returns the folders that have to be made for a file, the outermost first.
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
