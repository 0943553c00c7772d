//! Team memory: own memories that are shared, and memories of others.
//!
//! Knows nothing of the wire format, signatures or the network: ids are bytes, and what is written here was checked before.
//! Deletions of own records stay as rows without content until the server has confirmed them.

pub(crate) mod devices;
pub(crate) mod opinions;
pub(crate) mod projects;
pub(crate) mod received;
pub(crate) mod shares;
pub(crate) mod statements;
