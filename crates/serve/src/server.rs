//! Shared state of all routes, and the middleware around them.

use std::net::SocketAddr;
use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use axum::{
    Router,
    extract::{Request, State},
    middleware::{self, Next},
    response::Response,
};
use backstory_engine::counters::Counters;
use backstory_engine::engine::Engine;
use backstory_model::Timestamp;
use serde_json::{Map, Value};

use crate::{
    access::AccessGuard,
    feed::Feed,
    login::Logins,
    problem::ApiError,
    settings,
    stores::{Stores, run_blocking},
    viewer::PendingDeletes,
};

/// State shared by all routes.
pub(crate) struct Server {
    pub(crate) stores: Arc<Stores>,
    pub(crate) engine: Arc<Engine>,
    pub(crate) access: AccessGuard,
    pub(crate) feed: Feed,
    pub(crate) logins: Logins,
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
    pub(crate) async fn change_settings(self: &Arc<Self>, new: Map<String, Value>) -> Result<(), ApiError> {
        let server = Arc::clone(self);
        run_blocking(move || {
            settings::change(&server.engine, &new).map_err(|error| ApiError::bad_request(&error))
        })
        .await
    }
}

/// Counts a request and records its time, which keeps the worker from idling out.
async fn count(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    server.counters.requested();
    server
        .last_request_ms
        .store(server.now().as_millis(), Ordering::Relaxed);
    next.run(request).await
}

/// Adds the common middleware and the state to the routes.
pub(crate) fn with_middleware(routes: Router<Arc<Server>>, server: &Arc<Server>) -> Router {
    routes
        .layer(middleware::from_fn_with_state(Arc::clone(server), count))
        .with_state(Arc::clone(server))
}
