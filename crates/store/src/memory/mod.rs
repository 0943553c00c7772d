//! Memories: storing them, changing them, and reading them by handle, session or project.

pub(crate) mod cards;
pub(crate) mod changes;
pub(crate) mod distilled;
pub(crate) mod documents;
pub(crate) mod edit;
pub(crate) mod memories;
pub(crate) mod next_steps;
pub(crate) mod notes;
pub(crate) mod pack;
pub(crate) mod pages;
pub(crate) mod relation;
pub(crate) mod replace;
pub(crate) mod session_memory;
pub(crate) mod show;
pub(crate) mod supersede;
pub(crate) mod user_edits;
