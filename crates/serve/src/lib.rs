//! Recall over HTTP, live events and MCP, and the line protocol on the socket.
//!
//! Owns how the memory is reached from outside, and by whom: nothing here is open to anyone but its owner. The only async
//! crate; the store is read on threads of its own. What only the program around it can do comes in as [`Outside`].

mod access;
pub mod answer;
mod api;
mod counters;
mod feed;
#[cfg(unix)]
mod lines;
mod listen;
mod login;
mod mcp;
mod outside;
mod place;
mod problem;
mod route;
mod server;
mod socket;
mod stores;
mod tools;
mod viewer;

pub use access::token;
pub use counters::Counters;
pub use listen::{Config, ServeError, Serving, serve};
pub use mcp::serve_stdio;
pub use outside::{Outside, Recorded, Refusal};
pub use stores::Stores;
pub use viewer::PAGES;
