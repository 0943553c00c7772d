//! Opens the database and brings its schema up to date.

pub(crate) mod immutable;
pub(crate) mod migrate;
pub(crate) mod open;
