//! The real server in front of the real PostgreSQL. One file per subject.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]
// The server runs on Unix only.
#![cfg(unix)]

mod access;
mod deletion;
mod failures;
mod feedback;
mod join;
mod operators;
mod person;
mod pull;
mod push;
mod search;
mod team_server;
mod transport;
