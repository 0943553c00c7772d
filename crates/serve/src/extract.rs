//! Extractors of requests: JSON bodies, query parameters, handles and limits. Each one rejects with an [`ApiError`].

use std::time::Duration;

use axum::{
    Json,
    body::{Body, Bytes, HttpBody, to_bytes},
    extract::{FromRequest, FromRequestParts, Request},
    http::{StatusCode, header::CONTENT_TYPE, request::Parts},
};
use backstory_model::Handle;
use serde::de::DeserializeOwned;

use crate::problem::ApiError;

/// Maximum size of a request body.
const MAX_BODY_BYTES: usize = 8 << 20;

/// Time for a request body to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

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
pub(crate) type JsonResult<T> = Result<Json<T>, ApiError>;

/// Checks the limit of a list; default 20.
pub(crate) fn limit(requested: Option<u32>) -> Result<usize, ApiError> {
    match requested.unwrap_or(20) {
        limit @ 1..=100 => Ok(limit as usize),
        _ => Err(ApiError::bad("limit must be from 1 to 100")),
    }
}

/// Parses a handle.
pub(crate) fn handle(text: &str) -> Result<Handle, ApiError> {
    text.parse()
        .map_err(|error: backstory_model::ParseHandleError| ApiError::bad(error.to_string()))
}
