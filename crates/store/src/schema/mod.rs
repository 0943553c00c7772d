//! The schema: opening, migrating and copying the database.

pub(crate) mod connect;
pub(crate) mod copy;
mod immutable;
pub(crate) mod migrate;
#[cfg(test)]
mod migration_tests;
pub(crate) mod open;
