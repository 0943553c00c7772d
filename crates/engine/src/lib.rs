//! The worker and everything it coordinates: ingest, distill jobs, model calls, repair, backups, import, forgetting,
//! settings and the injection log.
//!
//! Does not parse arguments, print or exit; the binary does. Never reads the clock or the environment on its own: the caller
//! passes an [`engine::Engine`] that holds both. Hooks run `record`, `before_command`, `hook_settings` and `injection_log`, so these must stay free
//! of regular expressions, TOML (unless a setting has changed) and writes to SQLite.

pub mod atomic_file;
pub mod backups;
pub mod before_command;
pub mod branches;
pub mod clock;
pub mod connection;
pub mod counters;
pub mod engine;
pub mod environment;
pub mod error;
pub mod experiment;
pub mod forgetting;
pub mod home;
pub mod hook_settings;
pub mod import;
pub mod ingest;
pub mod injection_index;
pub mod injection_log;
pub mod jsonl;
mod log;
pub mod models;
pub mod outcomes;
pub mod process;
pub mod project_claims;
pub mod record;
pub mod reindex;
pub mod repair;
pub mod rules_file;
pub mod settings;
pub mod stats;
mod swap_lock;
pub mod team;
pub mod time_arg;
pub mod turns;
pub mod worker;
pub mod worker_process;
