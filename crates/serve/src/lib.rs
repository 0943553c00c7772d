//! HTTP API, live events, MCP server, viewer, and the line protocol on the socket.
//!
//! Serves the owner of the home only (see `access`). The only async crate: SQLite runs on blocking threads. Operations of the
//! binary come in as [`Backend`].

mod access;
mod api;
pub mod api_types;
mod backend;
mod counters;
mod feed;
#[cfg(unix)]
mod line_protocol;
mod listen;
mod login;
mod mcp;
mod problem;
mod project_scope;
mod route;
mod server;
mod socket;
mod stores;
mod tools;
mod viewer;

pub use access::token;
pub use backend::{Backend, BackendError, RecordOutcome};
pub use counters::Counters;
pub use listen::{ServeConfig, ServeError, Serving, serve};
pub use mcp::serve_stdio;
pub use stores::Stores;
pub use viewer::PAGES;
