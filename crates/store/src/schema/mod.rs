//! The schema: opening, migrating and copying the database.

pub(crate) mod connect;
pub(crate) mod copy;
mod immutable;
pub(crate) mod migrate;
pub(crate) mod open;
