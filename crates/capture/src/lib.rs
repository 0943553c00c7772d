//! Capture: from what an agent's hook was given to an event in the spool.
//!
//! Runs inside the hook process, so everything here is counted in microseconds. Owns what is kept and what is not
//! (private spans, secrets, bulk, the memory's own echo), which project a folder belongs to, and the spool. Writes to
//! the spool only; knows nothing of the database.

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
pub mod spool;
pub mod strip_tags;
