//! Runs git to read a repository, within a time limit.
//!
//! A repository may come from a stranger, so no hook, pager, external diff or file system monitor runs, nothing is fetched, no
//! lock is taken, and git's own check of the folder's owner stays in force. Only commands that read objects and refs belong here.

use std::{
    io::{self, BufRead, BufReader, Read as _, Write as _},
    path::{Path, PathBuf},
    process::Stdio,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use backstory_system::spawn_group;

use super::command;
use crate::environment::Environment;

/// Time between two checks of the time limit and the stop flag.
const POLL_INTERVAL: Duration = Duration::from_millis(25);

/// The most bytes that are read from one command: patches of a large history are long.
const MAX_BYTES: u64 = 1 << 30;

/// Settings that a repository must not decide.
const OVERRIDES: [&str; 5] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "protocol.allow=never",
    "safe.bareRepository=explicit",
    "log.showSignature=false",
];

/// The installed git and a folder in a repository.
#[derive(Debug)]
pub(crate) struct Git<'g> {
    program: PathBuf,
    environment: &'g Environment,
    folder: &'g Path,
    deadline: Instant,
    stop: &'g AtomicBool,
}

impl<'g> Git<'g> {
    /// Finds git for a folder. All commands together must end within the time limit. Returns `None` if git is not installed.
    pub(crate) fn find(
        environment: &'g Environment,
        folder: &'g Path,
        limit: Duration,
        stop: &'g AtomicBool,
    ) -> Option<Self> {
        Some(Self {
            program: environment.find_program("git")?,
            environment,
            folder,
            deadline: Instant::now() + limit,
            stop,
        })
    }

    /// Runs a command; returns its output. Fails if git does.
    pub(crate) fn output(&self, arguments: &[&str], input: &str) -> io::Result<String> {
        self.stream(arguments, input, |output| {
            let mut bytes = Vec::new();
            output.read_to_end(&mut bytes)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        })
    }

    /// Runs a command and reads its output while it runs.
    pub(crate) fn stream<T>(
        &self,
        arguments: &[&str],
        input: &str,
        read: impl FnOnce(&mut dyn BufRead) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut command = command(&self.program);
        command
            .arg("--no-pager")
            .args(OVERRIDES.iter().flat_map(|setting| ["-c", setting]))
            .args(arguments)
            .env_clear()
            .envs(self.environment.for_worker(&[]))
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C")
            .current_dir(self.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let (mut child, group) = spawn_group(&mut command)?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let is_done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(move || {
                if let Some(mut stdin) = stdin {
                    // Git may end without reading all of it.
                    stdin.write_all(input.as_bytes()).ok();
                }
            });
            let guard = scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    if self.stop.load(Ordering::Relaxed) || Instant::now() >= self.deadline {
                        group.end();
                        break;
                    }
                    thread::park_timeout(POLL_INTERVAL);
                }
            });
            let result = match stdout {
                Some(stdout) => read(&mut BufReader::new(stdout.take(MAX_BYTES))),
                None => Err(io::Error::other("git has no output")),
            };
            // The reader may have stopped early.
            if result.is_err() {
                group.end();
            }
            let status = child.wait();
            is_done.store(true, Ordering::Relaxed);
            guard.thread().unpark();
            result.and_then(|result| match status?.success() {
                true => Ok(result),
                false => Err(io::Error::other(format!(
                    "git {} failed",
                    arguments.first().unwrap_or(&"")
                ))),
            })
        })
    }
}
