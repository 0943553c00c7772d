//! Home folder, clock and environment: the three things that almost every function of this crate needs.
//!
//! Holds no open file and no connection, so creating and cloning one is cheap enough for hooks.

use std::io;

use anyhow::Result;
use backstory_capture::sanitize::TextSanitizer;
use backstory_model::Timestamp;
use backstory_system::HOME_VARIABLE;
use jiff::tz::TimeZone;

use crate::{
    clock::Clock,
    environment::Environment,
    error::HintedError,
    home::Home,
    log, models,
    settings::{self, Settings},
    time_arg::parse_time_arg,
};

/// One installation of backstory, as seen by one process.
#[derive(Clone, Debug)]
pub struct Engine {
    /// Folder that holds all data.
    pub home: Home,
    /// Source of the current time.
    pub clock: Clock,
    /// Source of environment variables.
    pub environment: Environment,
}

impl Engine {
    /// Finds the home folder that the environment names. Returns `None` if it names none.
    pub fn find(clock: Clock, environment: Environment) -> Option<Self> {
        let home = Home::at(&environment.backstory_home()?);
        Some(Self {
            home,
            clock,
            environment,
        })
    }

    /// Finds the home folder that the environment names.
    pub fn require(clock: Clock, environment: Environment) -> Result<Self> {
        let hint = format_args!("set {HOME_VARIABLE}, or BACKSTORY_HOME to a folder of your choice");
        let error = || HintedError::new("could not find your home folder").hint(hint);
        Ok(Self::find(clock, environment).ok_or_else(error)?)
    }

    /// Reads the current settings. An invalid setting has its default value; commands report it.
    pub fn settings(&self) -> Settings {
        let path = self.home.config();
        let text = settings::read(&path).ok().flatten();
        settings::load(&path, text.as_deref(), &self.environment.settings()).0
    }

    /// Reads the current settings. Fails if one of them is invalid, because a command must not run with guessed settings.
    pub fn checked_settings(&self) -> Result<Settings> {
        let path = self.home.config();
        let text = settings::read(&path)?;
        let (settings, problems) = settings::load(&path, text.as_deref(), &self.environment.settings());
        if problems.is_empty() {
            return Ok(settings);
        }
        let list: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let hint = "`backstory config list` shows all keys and their values";
        Err(HintedError::new(list.join("\n")).hint(hint).into())
    }

    /// Returns the part of a text that may be stored: private spans are removed and, unless switched off, secrets redacted.
    /// Returns `None` if nothing is left.
    pub fn sanitize(&self, text: &str) -> Option<String> {
        TextSanitizer::new(self.settings().capture.redact).text(text)
    }

    /// Parses an earliest time as users type it.
    pub fn parse_since(&self, text: &str) -> Option<Timestamp> {
        let time = parse_time_arg(text).ok()?;
        time.timestamp(self.clock.timestamp(), &self.zone()).ok()
    }

    /// Parses a latest time as users type it.
    pub fn parse_until(&self, text: &str) -> Option<Timestamp> {
        let time = parse_time_arg(text).ok()?;
        time.end(self.clock.timestamp(), &self.zone()).ok()
    }

    /// Returns the time zone of the user.
    pub fn zone(&self) -> TimeZone {
        models::zone(&self.settings())
    }

    /// Returns the number of events in the spool.
    pub fn spooled(&self) -> u64 {
        self.home.spool().pending().map_or(0, |keys| keys.len() as u64)
    }

    /// Appends a line to a log file of the home folder.
    pub fn log(&self, name: &str, line: &str) -> io::Result<()> {
        log::append(&self.home, name, self.clock.timestamp(), line)
    }
}
