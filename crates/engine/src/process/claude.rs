//! Runs the installed `claude`, and ends it with all its child processes on timeout or when the worker stops.

use std::{
    fs::{self, DirBuilder},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    process::{Child, Stdio},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use backstory_distill::{ClaudeOutput, Invocation, RunError};
use backstory_system::{OwnerOnly as _, ProcessGroup, is_program, program_names, spawn_group};

use super::command;
use crate::environment::{Environment, FOR_CLAUDE};

/// Time between two checks of the process, the timeout and the stop flag.
const POLL_INTERVAL: Duration = Duration::from_millis(25);

/// Runs `claude` in an empty folder. On timeout, or when `stop` is set, it is killed together with its child processes.
pub fn run_claude(
    environment: &Environment,
    invocation: &Invocation,
    stop: &AtomicBool,
) -> Result<ClaudeOutput, RunError> {
    let program = find(environment, "claude").ok_or(RunError::Missing)?;
    let folder = EmptyFolder::create().map_err(|error| failed(&error))?;
    let names: Vec<String> = FOR_CLAUDE.map(ToOwned::to_owned).to_vec();
    let mut command = command(&program);
    command
        .args(&invocation.arguments)
        .env_clear()
        .envs(environment.for_worker(&names))
        .envs(invocation.variables.iter().map(|(name, value)| (name, value)))
        .current_dir(&folder.0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let (child, group) = spawn_group(&mut command).map_err(|error| failed(&error))?;
    communicate(child, &group, invocation, stop)
}

/// Writes the input of a program, reads its output and waits for its end.
fn communicate(
    mut child: Child,
    group: &ProcessGroup,
    invocation: &Invocation,
    stop: &AtomicBool,
) -> Result<ClaudeOutput, RunError> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        scope.spawn(move || {
            if let Some(mut stdin) = stdin {
                // The program may end without reading all of it.
                stdin.write_all(invocation.input.as_bytes()).ok();
            }
        });
        let stdout = scope.spawn(move || read(stdout));
        let stderr = scope.spawn(move || read(stderr));
        let ended = wait(&mut child, group, invocation.timeout, stop);
        // A child process that is still running would keep the streams open.
        group.end();
        let success = ended?;
        Ok(ClaudeOutput {
            success,
            stdout: stdout.join().unwrap_or_default(),
            stderr: stderr.join().unwrap_or_default(),
        })
    })
}

/// Waits for the end of a program. Returns `true` if it succeeded.
fn wait(
    child: &mut Child,
    group: &ProcessGroup,
    timeout: Duration,
    stop: &AtomicBool,
) -> Result<bool, RunError> {
    let start = Instant::now();
    let why = loop {
        if let Some(status) = child.try_wait().map_err(|error| failed(&error))? {
            return Ok(status.success());
        }
        if stop.load(Ordering::Relaxed) {
            break RunError::Stopped;
        }
        if start.elapsed() >= timeout {
            break RunError::TimedOut;
        }
        thread::sleep(POLL_INTERVAL);
    };
    group.end();
    child.wait().map_err(|error| failed(&error))?;
    Err(why)
}

fn read(stream: Option<impl Read>) -> String {
    const MAX_BYTES: u64 = 4 << 20;
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        // After an error the text read so far is used.
        stream.take(MAX_BYTES).read_to_end(&mut bytes).ok();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Finds a program by name.
fn find(environment: &Environment, name: &str) -> Option<PathBuf> {
    environment
        .program_folders()
        .into_iter()
        .flat_map(|folder| program_names(name).map(move |name| folder.join(name)))
        .find(|path| is_program(path))
}

/// Temporary folder that is removed when the value is dropped.
struct EmptyFolder(PathBuf);

impl EmptyFolder {
    fn create() -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("backstory-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        remove(&path)?;
        DirBuilder::new().private().create(&path)?;
        Ok(Self(path))
    }
}

impl Drop for EmptyFolder {
    fn drop(&mut self) {
        // On failure the operating system removes it some day.
        remove(&self.0).ok();
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn failed(error: &io::Error) -> RunError {
    RunError::Failed(error.to_string())
}
