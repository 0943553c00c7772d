//! Reads a turn into evidence items and its work log.
//!
//! Every statement and action of a turn becomes an item, whole within the limits of capture, and an entry of the log that
//! points to it. Nothing is concluded here: episodes, memories and hand-over read the log.
//! The result depends on the turn alone, so the same events always give the same evidence.

mod changes;
mod clean;
mod command_keys;
mod commands;
mod content;
mod edit;
mod error;
mod files;
mod git;
mod path;
mod prose;
mod publication;
mod purpose;
mod recorder;
mod run;
mod shell;
mod statement;
mod text;
mod verdict;
mod written;

pub use command_keys::{KeyedCommand, keyed_commands};
pub(crate) use command_keys::{flag_rule_key, rule_key};
pub use recorder::{LoadCall, TurnEvidence, record, record_each};
