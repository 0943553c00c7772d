//! The error type of all routes, and its JSON form.

use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use backstory_engine::error::hints;
use backstory_store::{ProjectError, SessionError, StoreError};
use schemars::JsonSchema;
use serde::Serialize;

/// An error response: status, code, message and hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

/// Body of an error response.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ErrorAnswer {
    error: ErrorBody,
}

/// Code, message and hint of an error.
#[derive(Debug, Serialize, JsonSchema)]
struct ErrorBody {
    /// Stable code for programs.
    code: String,
    /// Message for humans.
    message: String,
    /// Suggested fix, if there is one.
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

    /// Reports an invalid request that the engine rejected.
    pub(crate) fn bad_request(error: &anyhow::Error) -> Self {
        let mut hints = hints(error).into_iter().map(ToString::to_string);
        Self {
            hint: hints.next(),
            ..Self::bad(format!("{error:#}"))
        }
    }

    /// Reports a temporary failure of the store.
    pub(crate) fn unavailable(error: &anyhow::Error) -> Self {
        Self {
            status: StatusCode::SERVICE_UNAVAILABLE,
            code: "store",
            ..Self::bad_request(error)
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
        // Details of SQLite errors are no secret: only the owner can read them.
        let mut message = error.to_string();
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            message = format!("{message}: {cause}");
            source = cause.source();
        }
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "store", message)
            .hint("run `backstory doctor` to check the store")
    }
}

impl From<ProjectError> for ApiError {
    fn from(error: ProjectError) -> Self {
        let hint = "use a project's folder name, path or id; GET /api/projects lists them";
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
            SessionError::Unknown(_) => {
                Self::missing(error.to_string()).hint("GET /api/sessions lists sessions")
            }
            SessionError::Ambiguous { .. } => Self::new(StatusCode::CONFLICT, "ambiguous", error.to_string())
                .hint("use a longer prefix of the id"),
        }
    }
}
