//! The worker and everything it coordinates: ingest, distill jobs, model calls, repair, backups, import, forgetting,
//! settings and the injection log.
//!
//! Does not parse arguments and does not format output for users; the binary and `serve` do. Hooks run `record`,
//! `hook_settings` and `injection_log`, so these must stay free of regular expressions, TOML (unless a setting changed) and
//! writes to SQLite.

pub mod atomic_file;
mod backend;
pub mod backups;
pub mod clock;
pub mod environment;
pub mod error;
pub mod forgetting;
pub mod home;
pub mod hook_settings;
pub mod import;
pub mod injection_log;
pub mod jsonl;
pub mod log;
pub mod models;
pub mod process;
pub mod record;
pub mod repair;
pub mod sanitize;
pub mod settings;
pub mod stats;
pub mod time_arg;
pub mod worker;

pub use backend::backend;
