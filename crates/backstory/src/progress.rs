//! Progress line of long operations, on stderr.

use std::{
    io::{self, IsTerminal, Write},
    time::{Duration, Instant},
};

use crate::output;

/// Shows progress on a terminal, and nothing elsewhere.
#[derive(Debug)]
pub(crate) struct Progress {
    shown: Option<Instant>,
    is_on: bool,
    /// What the current bar counts, and since when.
    phase: Option<(&'static str, Instant)>,
}

impl Progress {
    /// Starts the display; a command that prints JSON shows none.
    pub(crate) fn new(json: bool) -> Self {
        Self {
            shown: None,
            phase: None,
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

    /// Shows a progress bar with the estimated time left.
    pub(crate) fn bar(&mut self, done: usize, all: usize, what: &'static str) {
        self.weighted_bar(done as u64, all as u64, what, &format!("{done} of {all} {what}"));
    }

    /// Shows a progress bar for steps of different weight, such as files of different size.
    pub(crate) fn weighted_bar(&mut self, done: u64, all: u64, what: &'static str, text: &str) {
        const WIDTH: usize = 24;
        let now = Instant::now();
        if self.phase.is_none_or(|(known, _)| known != what) {
            self.phase = Some((what, now));
        }
        let filled = (done * WIDTH as u64).checked_div(all).unwrap_or(u64::MAX);
        let filled = usize::try_from(filled).unwrap_or(WIDTH).min(WIDTH);
        let bar = format!("{}{}", "█".repeat(filled), "░".repeat(WIDTH - filled));
        let elapsed = self.phase.map_or(Duration::ZERO, |(_, since)| now - since);
        let left = time_left(elapsed, done, all)
            .map_or_else(String::new, |left| format!(", about {} left", output::span(left)));
        self.show(&format!("{bar} {text}{left}"));
    }

    /// Erases the line.
    pub(crate) fn end(&self) {
        if self.is_on {
            write!(io::stderr(), "\r\x1b[K").ok();
        }
    }
}

/// Estimates the time left from the time that the work so far has taken; `None` while that says little.
fn time_left(elapsed: Duration, done: u64, all: u64) -> Option<Duration> {
    let is_known = done > 0 && done < all && elapsed >= Duration::from_millis(500);
    let rest = is_known.then(|| elapsed.as_millis() * u128::from(all - done) / u128::from(done))?;
    Some(Duration::from_millis(u64::try_from(rest).unwrap_or(u64::MAX)).max(Duration::from_secs(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_proportional_to_the_work_left() {
        let second = Duration::from_secs(1);
        assert_eq!(time_left(10 * second, 25, 100), Some(30 * second));
        assert_eq!(time_left(10 * second, 99, 100), Some(second));
        assert_eq!(time_left(second / 10, 1, 100), None);
        assert_eq!(time_left(second, 0, 100), None);
        assert_eq!(time_left(second, 100, 100), None);
    }
}
