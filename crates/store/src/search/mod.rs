//! Finds memories by words, vectors, files and time.

pub(crate) mod file_history;
pub(crate) mod filter;
pub(crate) mod injection_queries;
pub(crate) mod lexical;
pub(crate) mod timeline;
pub(crate) mod vectors;
pub(crate) mod words;
