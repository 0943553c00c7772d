//! Replaces files atomically: a crash leaves the old file or the new one.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io::{self, ErrorKind, Write as _},
    path::{Path, PathBuf},
};

use backstory_system::{self as system, OwnerOnly as _, open_to_lock, sync_folder};

/// Replaces a file, or creates it for its owner alone; a link is followed. Its folder must exist.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let target = follow_links(path)?;
    write_atomically(&target, content)
}

/// Replaces a file that is not a link; its mode is kept.
pub fn write_atomically(target: &Path, content: &[u8]) -> io::Result<()> {
    let old = fs::metadata(target).map(|old| old.permissions()).ok();
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = target.with_file_name(name);
    let result = write_new(&temporary, content, old).and_then(|()| system::rename(&temporary, target));
    match result {
        Ok(()) => sync_folder(folder_of(target)),
        Err(error) => {
            // The first error is reported; at worst a small temporary file stays.
            let _gone = system::remove_file(&temporary);
            Err(error)
        }
    }
}

fn write_new(path: &Path, content: &[u8], permissions: Option<Permissions>) -> io::Result<()> {
    // Left over from a crashed process with the same id.
    if fs::symlink_metadata(path).is_ok() {
        system::remove_file(path)?;
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .private()
        .open(path)?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions)?;
    }
    file.write_all(content)?;
    file.sync_all()
}

/// Locks a folder, which is created if it does not exist.
pub fn lock(folder: &Path) -> io::Result<File> {
    if !folder.exists() {
        DirBuilder::new().recursive(true).private().create(folder)?;
    }
    let file = open_to_lock(folder)?;
    // Some network file systems have no locks; there, the last change wins.
    let _locked = file.lock();
    Ok(file)
}

/// Opens a file that serves as a lock.
pub fn lock_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.private().open(path)
}

/// Returns the folder of a file.
pub fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Resolves the links of a path, so that a link into a folder of dotfiles survives a change.
pub fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..32 {
        match fs::symlink_metadata(&path) {
            Ok(file) if file.is_symlink() => {
                let link = fs::read_link(&path)?;
                path = path.parent().unwrap_or(Path::new("")).join(link);
            }
            Ok(_) => return Ok(path),
            // The file does not exist yet.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(path),
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("the link leads to itself"))
}
