//! Runs the installed `claude` to its end, or ends it with everything that it started.

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
use crate::environment;

/// How often a call looks whether it is still wanted.
const POLL_INTERVAL: Duration = Duration::from_millis(25);

/// Runs `claude` in an empty folder of its own. When time is up or `stop` becomes true, it is killed, and with it whatever it
/// started.
pub fn run_claude(invocation: &Invocation, stop: &AtomicBool) -> Result<ClaudeOutput, RunError> {
    let program = find("claude").ok_or(RunError::Missing)?;
    let folder = EmptyFolder::create().map_err(|error| failed(&error))?;
    let names: Vec<String> = environment::FOR_CLAUDE.map(ToOwned::to_owned).to_vec();
    let mut command = command(&program);
    command
        .args(&invocation.arguments)
        .env_clear()
        .envs(environment::for_worker(&names))
        .envs(invocation.variables.iter().map(|(name, value)| (name, value)))
        .current_dir(&folder.0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let (child, family) = spawn_group(&mut command).map_err(|error| failed(&error))?;
    talk(child, &family, invocation, stop)
}

/// Gives a program its input, takes its output, and waits for its end.
fn talk(
    mut child: Child,
    family: &ProcessGroup,
    invocation: &Invocation,
    stop: &AtomicBool,
) -> Result<ClaudeOutput, RunError> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        scope.spawn(move || {
            if let Some(mut stdin) = stdin {
                // One that does not read all of it has what it wants.
                stdin.write_all(invocation.input.as_bytes()).ok();
            }
        });
        let stdout = scope.spawn(move || read(stdout));
        let stderr = scope.spawn(move || read(stderr));
        let ended = wait(&mut child, family, invocation.timeout, stop);
        // Whatever it left running would keep the streams open, and us waiting for them.
        family.end();
        let success = ended?;
        Ok(ClaudeOutput {
            success,
            stdout: stdout.join().unwrap_or_default(),
            stderr: stderr.join().unwrap_or_default(),
        })
    })
}

/// Waits for the end of a program; says whether it went well.
fn wait(
    child: &mut Child,
    family: &ProcessGroup,
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
    family.end();
    child.wait().map_err(|error| failed(&error))?;
    Err(why)
}

fn read(stream: Option<impl Read>) -> String {
    const MAX_BYTES: u64 = 4 << 20;
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        // What came before it broke is what there is.
        stream.take(MAX_BYTES).read_to_end(&mut bytes).ok();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Finds a program by its name.
fn find(name: &str) -> Option<PathBuf> {
    environment::program_folders()
        .into_iter()
        .flat_map(|folder| program_names(name).map(move |name| folder.join(name)))
        .find(|path| is_program(path))
}

/// A folder that is there as long as somebody works in it.
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
        // The system clears what is left behind there.
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
