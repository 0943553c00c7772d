//! Files and folders.

use std::{
    ffi::OsStr,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, IoSlice, Write as _},
    os::unix::{
        ffi::OsStrExt as _,
        fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _},
    },
    path::{Path, PathBuf},
};

use rustix::fs::{Access, Mode, OFlags};

use crate::OwnerOnly;

impl OwnerOnly for OpenOptions {
    fn private(&mut self) -> &mut Self {
        self.mode(0o600)
    }
}

impl OwnerOnly for DirBuilder {
    fn private(&mut self) -> &mut Self {
        self.mode(0o700)
    }
}

/// Says whether others than its owner may read or change a file or folder; `None` where modes do not tell.
pub fn is_open_to_others(path: &Path) -> Option<bool> {
    Some(fs::symlink_metadata(path).is_ok_and(|file| file.permissions().mode() & 0o077 != 0))
}

/// Says whether a file can be run.
pub fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// Returns the names that a program's file may have.
pub fn program_names(name: &str) -> impl Iterator<Item = String> + use<> {
    [name.to_owned()].into_iter()
}

/// Spells a program's path so that every shell understands it; `None` when it is no text.
pub fn shell_path(path: &Path) -> Option<String> {
    path.to_str().map(ToOwned::to_owned)
}

/// Fails when a folder cannot be listed and written.
pub fn can_write(folder: &Path) -> io::Result<()> {
    let access = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
    Ok(rustix::fs::access(folder, access)?)
}

/// Returns how much room a disk has for us.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let disk = rustix::fs::statvfs(path)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Returns what tells a file from every other, however it is called; links are followed.
pub fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let file = fs::metadata(path)?;
    Ok((file.dev(), file.ino()))
}

/// Reads from a place in a file.
pub fn read_exact_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    file.read_exact_at(bytes, at)
}

/// Writes to a place in a file.
pub fn write_all_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    file.write_all_at(bytes, at)
}

/// Writes the parts of a file in one call, without copying them together.
pub fn write_parts(file: &mut File, parts: &[IoSlice<'_>]) -> io::Result<()> {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    match file.write_vectored(parts)? {
        written if written == length => Ok(()),
        // A short count means that the disk is full.
        _ => Err(io::ErrorKind::StorageFull.into()),
    }
}

/// Renames a file, in the place of another if there is one.
pub fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    fs::rename(from, to)
}

/// Removes a file.
pub fn remove_file(path: impl AsRef<Path>) -> io::Result<()> {
    fs::remove_file(path)
}

/// Has the disk keep what was renamed in a folder.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Opens a folder to lock it.
pub fn open_to_lock(folder: &Path) -> io::Result<File> {
    File::open(folder)
}

/// Opens a file to read it, and never waits for it; fails on a link that is not to be followed.
pub fn open_nonblocking(path: &Path, follows_links: bool) -> io::Result<File> {
    // NONBLOCK: opening a FIFO must not wait for a writer. NOCTTY: a terminal must not become ours.
    let mut flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    flags.set(OFlags::NOFOLLOW, !follows_links);
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

/// Takes bytes as a path, if they can be one.
pub fn path_from_bytes(bytes: &[u8]) -> Option<PathBuf> {
    Some(PathBuf::from(OsStr::from_bytes(bytes)))
}

/// Resolves links.
pub fn canonicalize(path: &Path) -> io::Result<PathBuf> {
    fs::canonicalize(path)
}

/// Says whether a tidy absolute path is canonical already (`true`), or leads nowhere (`false`), as far as one system call
/// can tell.
///
/// `realpath` asks for every component; the kernel can answer for the whole path, which is nearly always canonical.
#[cfg(target_os = "linux")]
pub fn canonical_already(path: &Path) -> Option<bool> {
    use rustix::fs::{CWD, ResolveFlags, openat2};
    use rustix::io::Errno;

    let flags = OFlags::PATH | OFlags::CLOEXEC;
    match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Ok(_folder) => Some(true),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG) => Some(false),
        // A symlink on the way, or a kernel or sandbox without the call.
        Err(_) => None,
    }
}

/// Says whether a tidy absolute path is canonical already; here nothing tells at once.
#[cfg(not(target_os = "linux"))]
pub fn canonical_already(_path: &Path) -> Option<bool> {
    None
}
