//! Findings of the checks, and the input of every check.

use backstory_engine::{connection::Connection, engine::Engine, models, settings::Settings};
use backstory_model::Timestamp;
use serde::Serialize;

use crate::output::Times;

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Severity {
    /// In order.
    Ok,
    /// Information.
    Note,
    /// Works, but data was lost or will be.
    Warning,
    /// Does not work.
    Broken,
}

/// Result of a check.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Finding {
    /// Stable name of the check, for programs.
    pub(crate) check: &'static str,
    pub(crate) level: Severity,
    /// Result in one sentence.
    pub(crate) message: String,
    /// Suggested fix.
    pub(crate) remedy: Option<String>,
}

impl Finding {
    pub(super) fn new(level: Severity, check: &'static str, message: impl Into<String>) -> Self {
        Self {
            check,
            level,
            message: message.into(),
            remedy: None,
        }
    }

    pub(super) fn ok(check: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Ok, check, message)
    }

    pub(super) fn note(check: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, check, message)
    }

    pub(super) fn warning(check: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, check, message)
    }

    pub(super) fn broken(check: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Broken, check, message)
    }

    pub(super) fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }
}

/// Input of all checks.
#[derive(Debug)]
pub(crate) struct CheckContext<'h> {
    pub(crate) engine: &'h Engine,
    pub(crate) settings: Settings,
    /// Problems of the settings, one per line.
    pub(crate) problems: Vec<String>,
    pub(crate) now: Timestamp,
    /// State of the connection to the agents; `None` if the database cannot be read.
    pub(crate) connection: Option<Connection>,
}

impl CheckContext<'_> {
    /// Returns the format of moments.
    pub(super) fn times(&self) -> Times {
        Times {
            now: self.now,
            zone: models::zone(&self.settings),
        }
    }
}
