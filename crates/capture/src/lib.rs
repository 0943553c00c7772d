//! Turns the payload of a hook into an event in the spool.
//!
//! Defines which parts of a payload are kept (without private spans, secrets, bulk data and the memory's own output), which
//! project a folder belongs to, and the format of the spool. Writes only below the spool folder and does not know the
//! database. Runs in the hook process, where an agent waits for it: cost grows with the size of the payload and is dominated
//! by the scan for secrets. So no module may use regular expressions, start a program or parse TOML, and
//! `bench -- instructions` counts the cost of a change.

mod announced;
mod bulk;
pub mod drop_counters;
pub mod exclude;
pub mod filter;
pub mod hook_payload;
pub mod host;
pub mod payload;
pub mod private;
pub mod project;
pub mod sanitize;
pub mod seen_secrets;
#[cfg(test)]
mod split_secrets_tests;
pub mod spool;
pub mod strip_tags;
