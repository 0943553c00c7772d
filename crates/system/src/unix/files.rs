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

/// Returns true if users other than the owner may read or change a file or folder; `None` without file modes.
pub fn is_open_to_others(path: &Path) -> Option<bool> {
    Some(fs::symlink_metadata(path).is_ok_and(|file| file.permissions().mode() & 0o077 != 0))
}

/// Returns the reason for which other users could replace what is in a folder; links are followed. A folder of another user is
/// accepted from root, who often is the only user of a container.
pub fn folder_risk(folder: &Path) -> Option<&'static str> {
    let entry = fs::metadata(folder).ok()?;
    let user = rustix::process::geteuid();
    if entry.permissions().mode() & 0o002 != 0 {
        return Some("every user can write to it");
    }
    (entry.uid() != user.as_raw() && !user.is_root()).then_some("it belongs to another user")
}

/// Returns true if a file or folder belongs to the user of this process.
pub fn is_own(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|file| file.uid() == rustix::process::geteuid().as_raw())
}

/// Returns true if a file is executable.
pub fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// Returns the file names that a program may have.
pub fn program_names(name: &str) -> impl Iterator<Item = String> + use<> {
    [name.to_owned()].into_iter()
}

/// Formats a program's path so that every shell understands it; `None` if it is not valid Unicode.
pub fn shell_path(path: &Path) -> Option<String> {
    path.to_str().map(ToOwned::to_owned)
}

/// Fails if a folder cannot be listed and written.
pub fn can_write(folder: &Path) -> io::Result<()> {
    let access = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
    Ok(rustix::fs::access(folder, access)?)
}

/// Returns the free space that this user may use.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let disk = rustix::fs::statvfs(path)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Returns device and inode, which identify a file under all its names; links are followed.
pub fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let file = fs::metadata(path)?;
    Ok((file.dev(), file.ino()))
}

/// Reads from an offset.
pub fn read_exact_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    file.read_exact_at(bytes, at)
}

/// Writes to an offset.
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

/// Renames a file and replaces an existing one.
pub fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    fs::rename(from, to)
}

/// Removes a file.
pub fn remove_file(path: impl AsRef<Path>) -> io::Result<()> {
    fs::remove_file(path)
}

/// Flushes renames in a folder to disk.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Opens a folder in order to lock it.
pub fn open_to_lock(folder: &Path) -> io::Result<File> {
    File::open(folder)
}

/// Opens a file for reading without blocking; fails on a link unless `follows_links` is set.
pub fn open_nonblocking(path: &Path, follows_links: bool) -> io::Result<File> {
    // NONBLOCK: opening a FIFO must not wait for a writer. NOCTTY: a terminal must not become the controlling one.
    let mut flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    flags.set(OFlags::NOFOLLOW, !follows_links);
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

/// Converts bytes to a path, if they are valid.
pub fn path_from_bytes(bytes: &[u8]) -> Option<PathBuf> {
    Some(PathBuf::from(OsStr::from_bytes(bytes)))
}

/// Resolves links.
pub fn canonicalize(path: &Path) -> io::Result<PathBuf> {
    fs::canonicalize(path)
}

/// Returns true if a normalized absolute path is already canonical, false if it does not exist, and `None` if one system
/// call cannot tell.
///
/// `realpath` makes a call for every component; the kernel resolves the whole path, which is nearly always canonical.
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

/// Returns `None`: this system has no such call.
#[cfg(not(target_os = "linux"))]
pub fn canonical_already(_path: &Path) -> Option<bool> {
    None
}
