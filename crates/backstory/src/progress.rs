//! Progress line of long operations, on stderr.

use std::{
    io::{self, IsTerminal, Write},
    time::{Duration, Instant},
};

/// Shows progress on a terminal, and nothing elsewhere.
#[derive(Debug)]
pub(crate) struct Progress {
    shown: Option<Instant>,
    is_on: bool,
}

impl Progress {
    /// Starts the display; a command that prints JSON shows none.
    pub(crate) fn new(json: bool) -> Self {
        Self {
            shown: None,
            is_on: !json && io::stderr().is_terminal(),
        }
    }

    /// Shows the progress, at most a few times per second.
    pub(crate) fn show(&mut self, how_far: &str) {
        const INTERVAL: Duration = Duration::from_millis(100);
        if self.is_on && self.shown.is_none_or(|shown| shown.elapsed() > INTERVAL) {
            self.shown = Some(Instant::now());
            // A closed terminal is no reason to stop.
            write!(io::stderr(), "\r{how_far}\x1b[K").ok();
        }
    }

    /// Shows a progress bar.
    pub(crate) fn bar(&mut self, done: usize, all: usize, what: &str) {
        const WIDTH: usize = 24;
        let filled = (done * WIDTH).checked_div(all).unwrap_or(WIDTH).min(WIDTH);
        let bar = format!("{}{}", "█".repeat(filled), "░".repeat(WIDTH - filled));
        self.show(&format!("{bar} {done} of {all} {what}"));
    }

    /// Erases the line.
    pub(crate) fn end(&self) {
        if self.is_on {
            write!(io::stderr(), "\r\x1b[K").ok();
        }
    }
}
