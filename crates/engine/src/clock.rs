//! The one place that asks for the time.

use std::time::{Duration, SystemTime};

use backstory_model::Timestamp;

/// Returns the time.
pub fn now() -> SystemTime {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that asks for the time"
    )]
    SystemTime::now()
}

/// Returns the time since 1970; a clock that stands before that counts as 1970.
pub fn since_1970() -> Duration {
    now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

/// Returns the time as the store keeps it.
pub fn timestamp() -> Timestamp {
    now().into()
}
