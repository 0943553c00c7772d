//! HTTP API, live events, MCP server, viewer, and the line protocol on the socket.
//!
//! Serves the owner of the home only (see `access`). The only async crate of the client: SQLite runs on blocking threads.

mod access;
mod api;
pub mod api_types;
mod browser_logins;
mod checks;
mod connection;
mod extract;
mod feed;
mod forget;
#[cfg(unix)]
mod line_protocol;
mod listen;
mod login;
mod mcp;
mod mcp_lines;
mod middleware;
mod pending_deletes;
mod problem;
mod project_scope;
mod random;
mod route;
mod server;
mod settings;
mod socket;
mod stores;
mod tools;
mod viewer;

pub use access::token;
pub use browser_logins::{BrowserLogin, BrowserLogins};
pub use listen::{ServeError, Serving, serve};
pub use mcp::serve_stdio;
pub use tools::render_memory;
pub use viewer::PAGES;
