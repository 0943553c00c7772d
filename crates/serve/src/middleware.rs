//! Middleware around the routes: access control on TCP, security headers, and request counting.

use std::sync::{Arc, atomic::Ordering};

use axum::{
    Router,
    extract::{Request, State},
    http::StatusCode,
    middleware::{self, Next},
    response::{IntoResponse, Response},
};

use crate::{
    access::{wants_page, with_headers},
    login::login_required_page,
    server::Server,
};

/// Checks a request before it reaches the routes, and adds security headers to every response.
pub(crate) async fn guard(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let response = match server.access.check(&parts, server.now()) {
        Ok(credential) => {
            if let Some(credential) = credential {
                parts.extensions.insert(credential);
            }
            next.run(Request::from_parts(parts, body)).await
        }
        Err(problem) if problem.status == StatusCode::UNAUTHORIZED && wants_page(&parts) => {
            login_required_page(&problem)
        }
        Err(problem) => problem.into_response(),
    };
    with_headers(response)
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
