//! Memories: storing, changing and reading them.
//!
//! Code that stores or changes a memory calls `documents::put` in the same transaction, which keeps search and the change log
//! in step.

pub(crate) mod changes;
pub(crate) mod command_rows;
pub(crate) mod documents;
pub(crate) mod done_items;
pub(crate) mod edit;
pub(crate) mod evidence_rows;
pub(crate) mod experiment;
pub(crate) mod fields;
pub(crate) mod handover;
pub(crate) mod impact;
pub(crate) mod model_memories;
pub(crate) mod neighbors;
pub(crate) mod next_steps;
pub(crate) mod notes;
pub(crate) mod observation_rows;
pub(crate) mod pack;
pub(crate) mod recent;
pub(crate) mod record;
pub(crate) mod relation;
pub(crate) mod session_memory;
pub(crate) mod show;
pub(crate) mod stored;
pub(crate) mod summary_rows;
pub(crate) mod supersede;
pub(crate) mod turn;
pub(crate) mod user_edits;
