//! Recall over HTTP, live events and MCP, and the line protocol on the socket.
//!
//! Owns how the memory is reached from outside, and by whom: nothing here is open to anyone but its owner. The only async
//! crate; the store is read on threads of its own. What only the program around it can do comes in as [`Outside`].

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
