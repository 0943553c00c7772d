//! Why a request is not answered as it wished: one shape for all of them.

use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use backstory_store::{ProjectError, SessionError, StoreError};
use schemars::JsonSchema;
use serde::Serialize;

use crate::BackendError;

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

/// A request that failed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ErrorAnswer {
    error: ErrorBody,
}

/// Why it failed and what to do.
#[derive(Debug, Serialize, JsonSchema)]
struct ErrorBody {
    /// A word for programs.
    code: String,
    /// A sentence for people.
    message: String,
    /// What to do, where something can be done.
    hint: Option<String>,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            hint: None,
        }
    }

    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", message)
    }

    pub(crate) fn missing(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    /// Something around the store did not do what was asked.
    pub(crate) fn outside(refusal: BackendError) -> Self {
        Self {
            status: StatusCode::SERVICE_UNAVAILABLE,
            code: "store",
            ..refusal.into()
        }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let body = ErrorAnswer {
            error: ErrorBody {
                code: self.code.to_owned(),
                message: self.message,
                hint: self.hint,
            },
        };
        (self.status, Json(body)).into_response()
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        // What SQLite said is for the log of whoever asks, not a secret: paths are the owner's own.
        let mut message = error.to_string();
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            message = format!("{message}: {cause}");
            source = cause.source();
        }
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "store", message)
            .hint("`backstory doctor` says what is wrong with the store")
    }
}

impl From<ProjectError> for ApiError {
    fn from(error: ProjectError) -> Self {
        let hint = "a project goes by its folder name, its path or its id; GET /api/projects lists them";
        match error {
            ProjectError::Store(error) => error.into(),
            ProjectError::Unknown(_) => Self::missing(error.to_string()).hint(hint),
            ProjectError::Ambiguous { .. } => {
                Self::new(StatusCode::CONFLICT, "ambiguous", error.to_string()).hint(hint)
            }
        }
    }
}

impl From<SessionError> for ApiError {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Store(error) => error.into(),
            SessionError::Unknown(_) => Self::missing(error.to_string()).hint("GET /api/sessions lists them"),
            SessionError::Ambiguous { .. } => {
                Self::new(StatusCode::CONFLICT, "ambiguous", error.to_string()).hint("give more of the id")
            }
        }
    }
}

impl From<BackendError> for ApiError {
    fn from(refusal: BackendError) -> Self {
        Self {
            hint: refusal.hint,
            ..Self::bad(refusal.message)
        }
    }
}
