//! Errors of requests: a code with its status, a message and a hint.
//!
//! Errors of the database become `503 unavailable` if a retry can help; any other is a defect, is logged, and reaches the
//! client as a bare `500`: its text may name tables and values.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header::RETRY_AFTER},
    response::{IntoResponse, Response},
};
use backstory_protocol::{ErrorAnswer, ErrorBody, ErrorCode};
use deadpool_postgres::PoolError;
use tokio_postgres::error::SqlState;

use crate::log::log;

/// Seconds after which a client may try again.
const RETRY_SECONDS: u32 = 5;

/// An error response.
#[derive(Debug)]
pub(crate) struct Problem {
    code: ErrorCode,
    message: String,
    hint: Option<&'static str>,
    retry_after: Option<u32>,
}

impl Problem {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: None,
            retry_after: None,
        }
    }

    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::BadRequest, message)
    }

    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Forbidden, message)
    }

    pub(crate) fn unavailable() -> Self {
        let mut problem = Self::new(ErrorCode::Unavailable, "the database cannot be reached");
        problem.retry_after = Some(RETRY_SECONDS);
        problem
    }

    pub(crate) fn rate_limited(seconds: u32) -> Self {
        let mut problem = Self::new(ErrorCode::RateLimited, "too many requests");
        problem.retry_after = Some(seconds);
        problem
    }

    /// Logs a defect of the server.
    pub(crate) fn internal(error: &dyn std::error::Error) -> Self {
        log(format_args!("error: {}", chain(error)));
        Self::new(ErrorCode::Other, "the server failed; its log has the reason")
    }

    pub(crate) fn hint(mut self, hint: &'static str) -> Self {
        self.hint = Some(hint);
        self
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let answer = ErrorAnswer {
            error: ErrorBody {
                code: self.code,
                message: self.message,
                hint: self.hint.map(ToOwned::to_owned),
            },
        };
        let mut response = (status, Json(answer)).into_response();
        if let Some(seconds) = self.retry_after {
            response
                .headers_mut()
                .insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

impl From<tokio_postgres::Error> for Problem {
    fn from(error: tokio_postgres::Error) -> Self {
        if is_temporary(&error) {
            log_outage(&error);
            Self::unavailable()
        } else {
            Self::internal(&error)
        }
    }
}

impl From<PoolError> for Problem {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Backend(error) => error.into(),
            error => {
                log_outage(&error);
                Self::unavailable()
            }
        }
    }
}

/// Logs a failure of the database, at most once per second: in an outage every request fails.
fn log_outage(error: &dyn std::error::Error) {
    static LAST: Mutex<Option<Instant>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let now = Instant::now();
    if last.is_none_or(|last| now.duration_since(last) >= Duration::from_secs(1)) {
        *last = Some(now);
        log(format_args!("database: {}", chain(error)));
    }
}

/// Reports whether the same statement may succeed later: the connection broke, the server is starting, stopping or short of
/// something, a deadline passed, or two transactions met.
pub(crate) fn is_temporary(error: &tokio_postgres::Error) -> bool {
    let Some(state) = error.code() else {
        // Not an answer of PostgreSQL: the connection failed.
        return true;
    };
    let class = &state.code()[..2];
    ["08", "40", "53", "57", "58"].contains(&class)
        || [SqlState::LOCK_NOT_AVAILABLE, SqlState::READ_ONLY_SQL_TRANSACTION].contains(state)
}

/// Joins an error and its causes.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
