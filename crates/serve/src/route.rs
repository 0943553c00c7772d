//! HTTP routes of the API, and their request extractors.

pub(crate) mod change;
mod context;
mod events;
mod health;
pub(crate) mod list;
pub(crate) mod record;
pub(crate) mod search;
mod settings;

use std::{sync::Arc, time::Duration};

use axum::{
    Json, Router,
    body::{Body, Bytes, HttpBody, to_bytes},
    extract::{FromRequest, FromRequestParts, Request, State},
    http::{StatusCode, header::CONTENT_TYPE, request::Parts},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{access::wants_page, api::Api, login, problem::ApiError, server::Server, viewer::problem_page};

pub(crate) use health::status;

/// Maximum size of a request body.
const MAX_BODY_BYTES: usize = 8 << 20;

/// Time for a request body to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// Returns all routes and the OpenAPI document of the API.
pub(crate) fn routes(version: &str) -> (Router<Arc<Server>>, Value) {
    let api = Api::new();
    let api = search::describe(health::describe(context::describe(api)));
    let api = settings::describe(events::describe(change::describe(list::describe(
        record::describe(api),
    ))));
    let api = api.route(
        "POST",
        "/api/login-link",
        |about| {
            about
                .summary("Create a single-use login link")
                .body::<login::LoginLinkRequest>()
                .json::<login::Link>();
        },
        post(login::link),
    );
    let (router, description) = api.finish(version);
    let router = router
        .route("/login", get(login::login))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed);
    (router, description)
}

async fn not_found(State(server): State<Arc<Server>>, request: Request) -> Response {
    let problem = ApiError::missing("no such route");
    let (parts, _) = request.into_parts();
    match wants_page(&parts) {
        true => problem_page(&server, &parts, &problem).await,
        false => problem
            .hint("GET /api/openapi.json lists all routes")
            .into_response(),
    }
}

async fn method_not_allowed() -> ApiError {
    ApiError::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        "method not allowed",
    )
    .hint("GET /api/openapi.json lists all routes")
}

/// Extracts a JSON body.
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        // A form on another site can send text, but not this content type.
        let is_json = request.headers().get(CONTENT_TYPE).is_some_and(|kind| {
            let kind = kind.to_str().unwrap_or_default();
            kind.split(';')
                .next()
                .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
        });
        if !is_json {
            return Err(ApiError::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unsupported_media_type",
                "the body must be JSON",
            )
            .hint("send `Content-Type: application/json`"));
        }
        let bytes = body(request.into_body()).await?;
        // Serde would read an array as the fields in order.
        if bytes.trim_ascii_start().first() != Some(&b'{') {
            return Err(ApiError::bad("the body must be a JSON object"));
        }
        serde_json::from_slice(&bytes)
            .map(Self)
            .map_err(|error| ApiError::bad(format!("invalid body: {error}")))
    }
}

/// Reads a body within the size and time limits.
pub(crate) async fn body(body: Body) -> Result<Bytes, ApiError> {
    let too_large = || {
        ApiError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            "the body is longer than 8 MB or incomplete",
        )
    };
    if body.size_hint().lower() > MAX_BODY_BYTES as u64 {
        return Err(too_large());
    }
    match tokio::time::timeout(BODY_TIMEOUT, to_bytes(body, MAX_BODY_BYTES)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(_)) => Err(too_large()),
        Err(_) => Err(ApiError::new(
            StatusCode::REQUEST_TIMEOUT,
            "too_slow",
            "the body did not arrive within 10 seconds",
        )),
    }
}

/// Extracts query parameters.
pub(crate) struct QueryParams<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for QueryParams<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        axum::extract::Query::try_from_uri(&parts.uri)
            .map(|axum::extract::Query(query)| Self(query))
            .map_err(|error| ApiError::bad(error.body_text()))
    }
}

/// Result of a JSON route.
type JsonResult<T> = Result<Json<T>, ApiError>;
