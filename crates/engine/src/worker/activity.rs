//! Shows that the worker works: `activity.flag` while it does, and lines in `worker.log`.
//!
//! Both are best effort. A worker that is killed leaves the flag behind, so a reader has to check the process as well; the
//! next worker removes it.

use std::{
    fs::OpenOptions,
    io::{self, Write as _},
    path::Path,
    time::Duration,
};

use backstory_system::{self as system, OwnerOnly as _};
use serde_json::{Value, json};

use super::config::WorkerReport;
use crate::{engine::Engine, home::Home, time_arg::rfc3339};

/// Minimum time between two lines about work in the log.
const LOG_INTERVAL: Duration = Duration::from_mins(1);

/// Flag and log lines of one worker.
pub(super) struct Activity<'e> {
    engine: &'e Engine,
    is_flagged: bool,
    /// Work that is not in the log yet.
    unlogged: WorkerReport,
    /// Reading of the monotonic clock at the last line.
    logged: Option<Duration>,
}

impl<'e> Activity<'e> {
    pub(super) fn new(engine: &'e Engine) -> Self {
        remove_flag(&engine.home);
        Self {
            engine,
            is_flagged: false,
            unlogged: WorkerReport::default(),
            logged: None,
        }
    }

    /// Creates the flag, unless it is there.
    pub(super) fn begin(&mut self) {
        if !self.is_flagged {
            let since = rfc3339(self.engine.clock.timestamp());
            let facts = json!({"pid": std::process::id(), "since": since});
            self.is_flagged = write_facts(&self.engine.home.activity_flag(), &facts).is_ok();
        }
    }

    /// Removes the flag.
    pub(super) fn end(&mut self) {
        if self.is_flagged {
            remove_flag(&self.engine.home);
            self.is_flagged = false;
        }
    }

    /// Records the result of a cycle.
    pub(super) fn add(&mut self, done: &WorkerReport) {
        self.unlogged.add(done);
        let now = self.engine.clock.monotonic();
        if self.logged.is_none_or(|logged| now - logged >= LOG_INTERVAL) {
            self.log_work();
        }
    }

    fn log_work(&mut self) {
        let WorkerReport { taken, distilled } = std::mem::take(&mut self.unlogged);
        if taken.new > 0 || distilled > 0 {
            let line = format!("ingested {} events, distilled {distilled}", taken.new);
            self.engine.log("worker.log", &line).ok();
            self.logged = Some(self.engine.clock.monotonic());
        }
    }
}

impl Drop for Activity<'_> {
    fn drop(&mut self) {
        self.end();
        // The home folder may be deleted, and logging would create it again.
        if self.engine.home.worker_lock().exists() {
            self.log_work();
        }
    }
}

/// Writes a JSON file that other processes read at any time.
pub(super) fn write_facts(path: &Path, facts: &Value) -> io::Result<()> {
    // Renamed, so that a reader sees all of it.
    let unfinished = path.with_extension("tmp");
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .private()
        .open(&unfinished)?;
    writeln!(file, "{facts:#}")?;
    system::rename(unfinished, path)
}

fn remove_flag(home: &Home) {
    // Usually there is none.
    system::remove_file(home.activity_flag()).ok();
}
