//! Windows 10 and later.
#![expect(unsafe_code, reason = "the system is reached by calls into it")]

pub(crate) mod dir_watcher;
pub(crate) mod files;
pub(crate) mod lock;
pub(crate) mod mapped;
pub(crate) mod process;
pub(crate) mod programs;
pub(crate) mod shutdown;
pub(crate) mod terminal;
