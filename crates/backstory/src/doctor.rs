//! Looks every part over, end to end. A check is a function that returns findings; nothing is changed by looking.

mod capture;
mod copies;
mod database;
mod folder;
mod hosts;
mod machine;
mod provider;
mod round_trip;
mod running;

use serde::Serialize;

use crate::{home::Home, settings::Settings};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
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
    pub(crate) level: Level,
    /// In a sentence.
    pub(crate) message: String,
    /// What to do about it.
    pub(crate) remedy: Option<String>,
}

impl Finding {
    fn new(level: Level, check: &'static str, message: impl Into<String>) -> Self {
        Self {
            check,
            level,
            message: message.into(),
            remedy: None,
        }
    }

    fn ok(check: &'static str, message: impl Into<String>) -> Self {
        Self::new(Level::Ok, check, message)
    }

    fn note(check: &'static str, message: impl Into<String>) -> Self {
        Self::new(Level::Note, check, message)
    }

    fn warning(check: &'static str, message: impl Into<String>) -> Self {
        Self::new(Level::Warning, check, message)
    }

    fn broken(check: &'static str, message: impl Into<String>) -> Self {
        Self::new(Level::Broken, check, message)
    }

    fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }
}

/// What all checks look at.
#[derive(Debug)]
pub(crate) struct Patient<'h> {
    pub(crate) home: &'h Home,
    pub(crate) settings: Settings,
    /// What is wrong with the settings, in a line each.
    pub(crate) problems: Vec<String>,
    pub(crate) now_ms: i64,
}

/// A group of checks, as it is shown.
type Group = (&'static str, fn(&Patient<'_>) -> Vec<Finding>);

/// All groups, in the order in which they are shown.
pub(crate) const GROUPS: [Group; 9] = [
    ("home", folder::check),
    ("settings", provider::check),
    ("database", database::check),
    ("backups", copies::check),
    ("capture", capture::check),
    ("worker", running::check),
    ("hosts", hosts::check),
    ("machine", machine::check),
    ("round trip", round_trip::check),
];
