//! A line on the terminal that says how far long work is.

use std::{
    io::{self, IsTerminal, Write},
    time::{Duration, Instant},
};

/// Says how far it is, on a terminal; says nothing elsewhere.
#[derive(Debug)]
pub(crate) struct Progress {
    shown: Option<Instant>,
    is_on: bool,
}

impl Progress {
    /// Begins; a command that prints JSON is not watched.
    pub(crate) fn new(json: bool) -> Self {
        Self {
            shown: None,
            is_on: !json && io::stderr().is_terminal(),
        }
    }

    /// Says how far it is, if that was not said a moment ago.
    pub(crate) fn show(&mut self, how_far: &str) {
        const INTERVAL: Duration = Duration::from_millis(100);
        if self.is_on && self.shown.is_none_or(|shown| shown.elapsed() > INTERVAL) {
            self.shown = Some(Instant::now());
            // A terminal that went away is no reason to stop.
            write!(io::stderr(), "\r{how_far}\x1b[K").ok();
        }
    }

    /// Says how far it is, with a bar.
    pub(crate) fn bar(&mut self, done: usize, all: usize, what: &str) {
        const WIDTH: usize = 24;
        let filled = (done * WIDTH).checked_div(all).unwrap_or(WIDTH).min(WIDTH);
        let bar = format!("{}{}", "█".repeat(filled), "░".repeat(WIDTH - filled));
        self.show(&format!("{bar} {done} of {all} {what}"));
    }

    /// Takes the line away.
    pub(crate) fn end(&self) {
        if self.is_on {
            write!(io::stderr(), "\r\x1b[K").ok();
        }
    }
}
