//! Errors of the HTTP API.

use serde::{Deserialize, Serialize};

/// The body of every answer that is an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorAnswer {
    /// The error.
    pub error: ErrorBody,
}

/// Code, message and hint of an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorBody {
    /// A code for programs.
    pub code: ErrorCode,
    /// A message for people.
    pub message: String,
    /// A suggestion, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// The codes of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The request cannot be read.
    BadRequest,
    /// The invitation does not exist, has expired or was used.
    InvalidInvitation,
    /// The token is missing, unknown or revoked, or belongs to another device.
    TokenRevoked,
    /// The role does not permit it.
    Forbidden,
    /// The account left the team: a client deletes its copies.
    Removed,
    /// There is no such thing, or the account may not know of it.
    NotFound,
    /// The server was restored: a client starts over and sends its own records again.
    EpochChanged,
    /// Tombstones after the cursor are gone: a client starts over and drops what the server no longer has.
    CursorExpired,
    /// The request is larger than the limits.
    TooLarge,
    /// The server no longer speaks the client's protocol.
    UpgradeRequired,
    /// Too many requests.
    RateLimited,
    /// The database cannot be reached.
    Unavailable,
    /// A code that this version does not know.
    #[serde(other)]
    Other,
}

impl ErrorCode {
    /// Returns the HTTP status.
    pub const fn status(self) -> u16 {
        match self {
            Self::BadRequest => 400,
            Self::TokenRevoked => 401,
            Self::InvalidInvitation | Self::Forbidden | Self::Removed => 403,
            Self::NotFound => 404,
            Self::EpochChanged => 409,
            Self::CursorExpired => 410,
            Self::TooLarge => 413,
            Self::UpgradeRequired => 426,
            Self::RateLimited => 429,
            Self::Unavailable => 503,
            Self::Other => 500,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_the_shape_of_the_local_api() {
        let answer = ErrorAnswer {
            error: ErrorBody {
                code: ErrorCode::EpochChanged,
                message: "the server was restored".to_owned(),
                hint: None,
            },
        };
        let text = r#"{"error":{"code":"epoch_changed","message":"the server was restored"}}"#;
        assert_eq!(serde_json::to_string(&answer).unwrap(), text);
        assert_eq!(serde_json::from_str::<ErrorAnswer>(text).unwrap(), answer);
        let later = serde_json::from_str::<ErrorCode>("\"teapot\"").unwrap();
        assert_eq!(later, ErrorCode::Other);
    }
}
