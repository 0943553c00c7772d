//! Differences between operating systems, and nothing else: `unix/` and `windows/` have the same names.
//!
//! No other crate makes system calls, except for the socket in `serve`. Where a rule differs and not a call (path syntax,
//! whether an open file can be replaced), the code that needs it checks `cfg!(windows)`.

use std::{fs::File, io, path::Path};

#[cfg(unix)]
mod unix;
#[cfg(unix)]
use unix as here;

#[cfg(windows)]
mod windows;
#[cfg(windows)]
use windows as here;

pub use here::dir_watcher::DirWatcher;
pub use here::files::{
    can_write, canonical_already, canonicalize, folder_risk, free_bytes, identity, is_open_to_others, is_own,
    is_program, open_nonblocking, open_to_lock, path_from_bytes, program_names, read_exact_at, remove_file,
    rename, shell_path, sync_folder, write_all_at, write_parts,
};
pub use here::lock::{Lock, holder};
pub use here::mapped::MappedFile;
pub use here::process::{
    ProcessGroup, configure_detached, detach_from_terminal, detached_cwd, ignore_sigxfsz, lower_priority,
    prefault, replace_process, spawn_group,
};
pub use here::programs::{
    BROWSERS, CHOWN_COMMAND, CLAUDE_MANAGED_FOLDER, HOME_VARIABLE, KILL_COMMAND, SETTINGS_FOLDER,
    UNPROTECT_COMMAND,
};
pub use here::shutdown::{end_on_hangup, shutdown_flag, suspend, suspend_flag, terminate};
pub use here::terminal::{columns, read_first_stdin_byte, read_key, read_stdin};

/// Opens a regular file for reading. A FIFO or a device in its place would block the reader or never end.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let file = open_nonblocking(path, true)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
    }
}

/// Creates files or folders that only their owner can read.
pub trait OwnerOnly {
    /// Restricts access to the owner.
    fn private(&mut self) -> &mut Self;
}

/// Process that holds a [`Lock`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Process id; `None` for a process in another container.
    pub pid: Option<u32>,
}
