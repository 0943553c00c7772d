//! Reads agent prose and reports: markdown into sections, sections into topics of statements.
//!
//! Knows nothing about tools or sessions. A topic holds only what was written under one heading, so that two subjects
//! of a report never end up in one memory.

mod document;
mod inline;
mod topics;

pub(crate) use document::{SectionRole, parse};
pub(crate) use inline::plain;
pub(crate) use topics::{Topic, topics};
