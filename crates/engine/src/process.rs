//! Starts programs: the worker in the background, and the installed `claude`.

mod claude;

use std::{
    io,
    path::Path,
    process::{Command, Stdio},
};

use backstory_system::{configure_detached, detached_cwd};

pub use claude::run_claude;

use crate::environment::Environment;

/// Starts this program again in the background, without waiting for it.
///
/// The new process inherits no stream and no folder, and of the environment only what the worker needs and the named variables.
pub fn start_self_detached(
    environment: &Environment,
    arguments: &[&str],
    variables: &[String],
) -> io::Result<()> {
    let mut command = this_program()?;
    command
        .args(arguments)
        .env_clear()
        .envs(environment.for_worker(variables))
        .current_dir(detached_cwd())
        // An agent waits half a second for a hook whose streams stay open.
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    configure_detached(&mut command).spawn().map(drop)
}

/// Prepares to run this program again.
pub fn this_program() -> io::Result<Command> {
    Ok(command(&std::env::current_exe()?))
}

/// Prepares to run the program at an absolute path.
fn command(program: &Path) -> Command {
    #[expect(
        clippy::disallowed_methods,
        reason = "programs of the engine are started here, by absolute path"
    )]
    Command::new(program)
}
