//! Windows 10 and later.
#![expect(unsafe_code, reason = "Windows API calls are unsafe")]

pub(crate) mod dir_watcher;
pub(crate) mod files;
pub(crate) mod lock;
pub(crate) mod mapped;
pub(crate) mod process;
pub(crate) mod programs;
pub(crate) mod shutdown;
pub(crate) mod terminal;
