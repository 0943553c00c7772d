//! Shared state of all routes.

use std::{
    net::SocketAddr,
    sync::{Arc, atomic::AtomicI64},
};

use backstory_engine::{counters::Counters, engine::Engine};
use backstory_model::Timestamp;
use serde_json::{Map, Value};

use crate::{
    access::{AccessGuard, Credential},
    feed::Feed,
    login::LoginCodes,
    pending_deletes::PendingDeletes,
    problem::ApiError,
    settings,
    stores::{Stores, run_blocking},
};

/// State shared by all routes.
pub(crate) struct Server {
    pub(crate) stores: Arc<Stores>,
    pub(crate) engine: Arc<Engine>,
    pub(crate) access: AccessGuard,
    pub(crate) feed: Feed,
    pub(crate) login_codes: LoginCodes,
    pub(crate) pending_deletes: PendingDeletes,
    pub(crate) counters: Arc<Counters>,
    pub(crate) description: Value,
    pub(crate) address: SocketAddr,
    pub(crate) version: &'static str,
    pub(crate) started_at: Timestamp,
    pub(crate) last_request_ms: AtomicI64,
}

impl Server {
    pub(crate) fn now(&self) -> Timestamp {
        self.engine.clock.timestamp()
    }

    /// Returns all settings. Reads the file on a blocking thread.
    pub(crate) async fn settings(self: &Arc<Self>) -> Result<Value, ApiError> {
        let server = Arc::clone(self);
        run_blocking(move || Ok(settings::all(&server.engine))).await
    }

    /// Changes settings, all or none.
    pub(crate) async fn change_settings(
        self: &Arc<Self>,
        new: Map<String, Value>,
        credential: Option<Credential>,
    ) -> Result<(), ApiError> {
        let server = Arc::clone(self);
        run_blocking(move || settings::change(&server.engine, &new, credential.as_ref())).await
    }
}
