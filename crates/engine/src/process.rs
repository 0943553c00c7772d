//! Starts programs: the worker in the background, the installed `claude`, and `git`.

mod claude;
mod git;

use std::{
    io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use backstory_system::{configure_detached, detached_cwd, identity};

pub use claude::run_claude;
pub(crate) use git::Git;

use crate::environment::Environment;

/// Starts a version of this program in the background, without waiting for it.
///
/// The new process inherits no stream and no folder, and of the environment only what the worker needs and the named variables.
pub fn start_detached(
    mut program: Command,
    environment: &Environment,
    arguments: &[&str],
    variables: &[String],
) -> io::Result<()> {
    program
        .args(arguments)
        .env_clear()
        .envs(environment.for_worker(variables))
        .current_dir(detached_cwd())
        // An agent waits half a second for a hook whose streams stay open.
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    configure_detached(&mut program).spawn().map(drop)
}

/// Prepares to run this program again.
pub fn this_program() -> io::Result<Command> {
    Ok(command(&std::env::current_exe()?))
}

/// File that this process runs.
#[derive(Debug)]
pub struct ProgramFile {
    path: PathBuf,
    identity: (u64, u64),
}

impl ProgramFile {
    /// Returns the file of this process; `None` if it is already gone.
    pub fn of_this_process() -> Option<Self> {
        let path = std::env::current_exe().ok()?;
        let identity = identity(&path).ok()?;
        Some(Self { path, identity })
    }

    /// Returns true unless the file was replaced or removed. The system does not reuse the number of a file that runs.
    pub fn is_in_place(&self) -> bool {
        identity(&self.path).is_ok_and(|now| now == self.identity)
    }

    /// Prepares to run the file that is now at the path.
    pub fn command(&self) -> Command {
        command(&self.path)
    }
}

/// Prepares to run the program at an absolute path.
fn command(program: &Path) -> Command {
    #[expect(
        clippy::disallowed_methods,
        reason = "programs of the engine are started here, by absolute path"
    )]
    Command::new(program)
}
