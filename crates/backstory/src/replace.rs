//! Files that are replaced in one step, so that a crash leaves the old one or the new one.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io::{self, ErrorKind, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

/// Replaces a file, or makes it for its owner alone; a link is followed. Its folder must be there.
pub(crate) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let target = follow_links(path)?;
    let folder = File::open(folder_of(&target))?;
    write_atomically(&target, content, &folder)
}

/// Replaces a file in a folder that is open; its mode is kept.
pub(crate) fn write_atomically(target: &Path, content: &[u8], folder: &File) -> io::Result<()> {
    let mode = fs::metadata(target).map_or(0o600, |old| old.permissions().mode() & 0o7777);
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = target.with_file_name(name);
    let result = write_new(&temporary, content, mode).and_then(|()| fs::rename(&temporary, target));
    match result {
        Ok(()) => folder.sync_all(),
        Err(error) => {
            // The first error is the one to tell; the rest of it is a stray file of a few bytes.
            let _gone = fs::remove_file(&temporary);
            Err(error)
        }
    }
}

fn write_new(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    // Left behind by a crashed process that had our number.
    if fs::symlink_metadata(path).is_ok() {
        fs::remove_file(path)?;
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.set_permissions(Permissions::from_mode(mode))?;
    file.write_all(content)?;
    file.sync_all()
}

/// Opens and locks a folder, making it when it is not there.
pub(crate) fn lock(folder: &Path) -> io::Result<File> {
    if !folder.exists() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let file = File::open(folder)?;
    // Some network file systems have no locks; there, the last change wins.
    let _locked = file.lock();
    Ok(file)
}

/// Opens a file that is there only to be locked.
pub(crate) fn lock_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.mode(0o600).open(path)
}

/// Returns the folder of a file.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Returns where a file really is, so that a link into a folder of dotfiles survives a change.
pub(crate) fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..32 {
        match fs::read_link(&path) {
            Ok(link) => path = path.parent().unwrap_or(Path::new("")).join(link),
            // Not a link, or nothing there yet.
            Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::NotFound) => {
                return Ok(path);
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("it leads to itself"))
}
