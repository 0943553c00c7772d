//! Looks every part over, end to end. A check is a function that returns findings; nothing is changed by looking.

mod backups;
mod capture;
mod database;
mod home;
mod hosts;
mod machine;
mod provider;
mod round_trip;
mod worker;

use backstory_engine::{engine::Engine, settings::Settings};
use backstory_model::Timestamp;
use serde::Serialize;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Severity {
    /// As it should be.
    Ok,
    /// Worth knowing.
    Note,
    /// Works, but something was lost or will be.
    Warning,
    /// Does not work.
    Broken,
}

/// What a check found.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Finding {
    /// Names what was looked at; stable, for programs.
    pub(crate) check: &'static str,
    pub(crate) level: Severity,
    /// In a sentence.
    pub(crate) message: String,
    /// What to do about it.
    pub(crate) remedy: Option<String>,
}

impl Finding {
    fn new(level: Severity, check: &'static str, message: impl Into<String>) -> Self {
        Self {
            check,
            level,
            message: message.into(),
            remedy: None,
        }
    }

    fn ok(check: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Ok, check, message)
    }

    fn note(check: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, check, message)
    }

    fn warning(check: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, check, message)
    }

    fn broken(check: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Broken, check, message)
    }

    fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }
}

/// What all checks look at.
#[derive(Debug)]
pub(crate) struct CheckContext<'h> {
    pub(crate) engine: &'h Engine,
    pub(crate) settings: Settings,
    /// What is wrong with the settings, in a line each.
    pub(crate) problems: Vec<String>,
    pub(crate) now: Timestamp,
}

/// A group of checks, as it is shown.
type Group = (&'static str, fn(&CheckContext<'_>) -> Vec<Finding>);

/// All groups, in the order in which they are shown.
pub(crate) const GROUPS: [Group; 9] = [
    ("home", home::check),
    ("settings", provider::check),
    ("database", database::check),
    ("backups", backups::check),
    ("capture", capture::check),
    ("worker", worker::check),
    ("hosts", hosts::check),
    ("machine", machine::check),
    ("round trip", round_trip::check),
];
