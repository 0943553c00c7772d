//! Unix: Linux and macOS.

pub(crate) mod dir_watcher;
pub(crate) mod files;
pub(crate) mod lock;
pub(crate) mod mapped;
pub(crate) mod process;
pub(crate) mod programs;
pub(crate) mod shutdown;
pub(crate) mod terminal;
