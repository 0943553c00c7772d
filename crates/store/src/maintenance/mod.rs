//! Backups, salvage of damaged databases, retention, forgetting and counts.

pub(crate) mod backup;
pub(crate) mod counts;
pub(crate) mod forget;
mod interior_pages;
pub(crate) mod retain;
pub(crate) mod salvage;
