//! Errors of providers.

use std::time::Duration;

use super::Usage;

/// Reason for a missing answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// Something is not configured: a key, a program, a model of that name.
    #[error("not set up: {0}")]
    NotSetUp(String),
    /// The key was rejected.
    #[error("the key is not accepted: {0}")]
    BadKey(String),
    /// Too many calls in a short time.
    #[error("rate limited: {message}")]
    RateLimited {
        /// Delay that the server requests.
        retry_after: Option<Duration>,
        /// Message of the server.
        message: String,
    },
    /// The account has no quota left.
    #[error("the quota is spent: {message}")]
    QuotaSpent {
        /// Delay that the server requests.
        retry_after: Option<Duration>,
        /// Message of the server.
        message: String,
    },
    /// The provider refuses to answer this prompt.
    #[error("refused: {0}")]
    Refused(String),
    /// It cannot be reached, or is overloaded: the call was not processed.
    #[error("not reachable: {message}")]
    Unreachable {
        /// Delay that the server requests.
        retry_after: Option<Duration>,
        /// Error message.
        message: String,
    },
    /// The call was sent and has no answer: it may have been billed.
    #[error("the answer broke off: {message}")]
    BrokenOff {
        /// Token counts, if the provider reports them.
        usage: Option<Usage>,
        /// Error message.
        message: String,
    },
    /// The answer cannot be parsed.
    #[error("no answer that could be read: {0}")]
    Nonsense(String),
    /// The call was canceled by a shutdown.
    #[error("stopped before the answer came")]
    Stopped,
}

impl Trouble {
    /// Returns the name used in the database and in `--json`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::NotSetUp(_) => "not-set-up",
            Self::BadKey(_) => "bad-key",
            Self::RateLimited { .. } => "rate-limited",
            Self::QuotaSpent { .. } => "quota-spent",
            Self::Refused(_) => "refused",
            Self::Unreachable { .. } => "unreachable",
            Self::BrokenOff { .. } => "broken-off",
            Self::Nonsense(_) => "nonsense",
            Self::Stopped => "stopped",
        }
    }

    /// Returns the backoff of the provider after `failures` failures in a row; `None` if only this one prompt is
    /// affected. A delay that the server requests applies, within bounds.
    pub fn backoff(&self, failures: u32) -> Option<Duration> {
        const MINUTE: Duration = Duration::from_secs(60);
        let bounded = |asked: &Option<Duration>, usual: Duration, longest: Duration| {
            Some(asked.unwrap_or(usual).clamp(Duration::from_secs(1), longest))
        };
        let growing = (Duration::from_secs(5) * 2_u32.pow(failures.min(7))).min(10 * MINUTE);
        match self {
            Self::NotSetUp(_) => Some(10 * MINUTE),
            Self::BadKey(_) => Some(60 * MINUTE),
            Self::RateLimited { retry_after, .. } => bounded(retry_after, MINUTE / 2, 10 * MINUTE),
            Self::QuotaSpent { retry_after, .. } => bounded(retry_after, 60 * MINUTE, 24 * 60 * MINUTE),
            Self::Unreachable { retry_after, .. } => bounded(retry_after, growing, 10 * MINUTE),
            Self::BrokenOff { .. } => Some(growing),
            Self::Refused(_) | Self::Nonsense(_) | Self::Stopped => None,
        }
    }
}

/// Classifies an error by the status, the error code and the message of an HTTP API.
pub(super) fn of_status(status: u16, code: &str, message: &str, retry_after: Option<Duration>) -> Trouble {
    let message = match message.trim() {
        "" => format!("status {status}"),
        message => short(message),
    };
    let lower = message.to_lowercase();
    let is_spent = status == 402
        || [
            "insufficient_quota",
            "billing_error",
            "billing_hard_limit_reached",
        ]
        .contains(&code)
        || [
            "credit balance",
            "exceeded your current quota",
            "insufficient credits",
            "usage limit",
        ]
        .iter()
        .any(|words| lower.contains(words));
    match status {
        _ if is_spent => Trouble::QuotaSpent { retry_after, message },
        401 | 403 => Trouble::BadKey(message),
        404 => Trouble::NotSetUp(message),
        429 => Trouble::RateLimited { retry_after, message },
        503 | 529 => Trouble::Unreachable { retry_after, message },
        // With a requested delay, the call was not processed.
        408 | 409 | 500.. if retry_after.is_none() => Trouble::BrokenOff { usage: None, message },
        408 | 409 | 500.. => Trouble::Unreachable { retry_after, message },
        400..500 => Trouble::Refused(message),
        _ => Trouble::Unreachable { retry_after, message },
    }
}

/// Returns the start of a message, on one line.
pub(super) fn short(text: &str) -> String {
    const MAX: usize = 200;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let clean: String = line
        .chars()
        .filter(|letter| !letter.is_control())
        .take(MAX)
        .collect();
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_apis_are_classified() {
        let wait = Some(Duration::from_secs(7));
        for (status, code, message, name) in [
            (401, "authentication_error", "invalid x-api-key", "bad-key"),
            (403, "permission_error", "", "bad-key"),
            (404, "not_found_error", "model: x", "not-set-up"),
            (429, "rate_limit_error", "slow down", "rate-limited"),
            (
                429,
                "insufficient_quota",
                "You exceeded your current quota",
                "quota-spent",
            ),
            (
                400,
                "invalid_request_error",
                "Your credit balance is too low",
                "quota-spent",
            ),
            (402, "", "Insufficient credits", "quota-spent"),
            (400, "invalid_request_error", "prompt is too long", "refused"),
            (413, "request_too_large", "", "refused"),
            (529, "overloaded_error", "Overloaded", "unreachable"),
            (500, "", "", "unreachable"),
            (302, "", "", "unreachable"),
        ] {
            assert_eq!(
                of_status(status, code, message, wait).name(),
                name,
                "{status} {code}"
            );
        }
        for status in [408, 500, 502, 504] {
            assert_eq!(of_status(status, "", "", None).name(), "broken-off", "{status}");
        }
    }

    #[test]
    fn backoffs_follow_the_server_within_bounds_and_grow() {
        let limited = |seconds| Trouble::RateLimited {
            retry_after: seconds,
            message: String::new(),
        };
        let secs = Duration::from_secs;
        assert_eq!(limited(Some(secs(7))).backoff(0), Some(secs(7)));
        assert_eq!(limited(Some(secs(0))).backoff(0), Some(secs(1)));
        assert_eq!(limited(Some(secs(99_999))).backoff(0), Some(secs(600)));
        let away = Trouble::Unreachable {
            retry_after: None,
            message: String::new(),
        };
        let backoffs: Vec<u64> = [0, 1, 2, 99]
            .map(|failures| away.backoff(failures).unwrap().as_secs())
            .to_vec();
        assert_eq!(backoffs, [5, 10, 20, 600]);
        assert_eq!(Trouble::Refused(String::new()).backoff(0), None);
    }
}
