//! The worker's door to the outside: HTTP and the socket.

use std::{net::IpAddr, sync::Arc};

use anyhow::Result;
use backstory_serve::{Counters, ServeConfig, Serving, Stores, serve};

use crate::{backend::backend, home::Home};

/// Where the worker is to be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpAddress {
    /// The address; only this machine reaches it.
    pub bind: IpAddr,
    /// The port to try first.
    pub port: u16,
}

/// Opens the door.
pub(super) fn open(home: &Home, door: HttpAddress, counters: &Arc<Counters>) -> Result<Serving> {
    let nothing_first = Box::new(|| {});
    let config = ServeConfig {
        stores: Stores::new(home.database(), home.backups(), home.vectors(), nothing_first),
        bind: door.bind,
        port: door.port,
        socket: home.socket(),
        token: home.token(),
        version: env!("CARGO_PKG_VERSION"),
    };
    Ok(serve(config, backend(home), Arc::clone(counters))?)
}
