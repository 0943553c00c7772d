//! Unix: Linux and macOS.

pub(crate) mod bell;
pub(crate) mod ending;
pub(crate) mod files;
pub(crate) mod lock;
pub(crate) mod mapped;
pub(crate) mod process;
pub(crate) mod programs;
pub(crate) mod terminal;
