//! Team memory: sharing own memories and receiving those of others, by packs or by a server.
//!
//! `identity` holds the keys, `share` decides what leaves, `pack` exchanges files, `server` makes the requests, `exchange`
//! runs the protocol, `opinion` judges memories of others, and `overview` sums up what people look at. Hooks, searches and
//! context never come here: they read the local copies. `search` asks the server, when a person wants that.

mod attach;
pub mod exchange;
pub mod identity;
pub mod opinion;
mod outbox;
pub mod overview;
pub mod pack;
pub mod search;
mod server;
pub mod share;
mod tracked;

pub use outbox::ExchangeReport;
pub use server::{TeamServer, TeamServerError};
