//! Finds memories by words, vectors, files and time.

mod file_history;
pub(crate) mod filter;
mod injection_queries;
pub(crate) mod lexical;
pub(crate) mod pages;
pub(crate) mod timeline;
pub(crate) mod vectors;
