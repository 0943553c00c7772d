//! Shared state of all routes.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError, atomic::AtomicI64},
};

use backstory_engine::{counters::Counters, engine::Engine, injection_index::InjectionIndex};
use backstory_model::{Timestamp, TurnId};
use serde_json::{Map, Value};

use crate::{
    access::{AccessGuard, Credential},
    checks::CheckReport,
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
    pub(crate) injections: Mutex<InjectionIndex>,
    /// Tokens of the evidence of turns whose memories were recalled; measuring a turn unpacks all of it.
    pub(crate) evidence_sizes: Mutex<HashMap<TurnId, u64>>,
    /// The latest findings of `backstory doctor`.
    pub(crate) checks: Mutex<Option<CheckReport>>,
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

    /// Reads the injection logs that have changed, and passes all of them on. Runs on a blocking thread.
    pub(crate) fn injections<T>(&self, read: impl FnOnce(&InjectionIndex) -> T) -> Result<T, ApiError> {
        let mut index = self.injections.lock().unwrap_or_else(PoisonError::into_inner);
        index
            .refresh(&self.engine.home)
            .map_err(|error| ApiError::unavailable(&error.into()))?;
        Ok(read(&index))
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
