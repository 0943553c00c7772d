//! The one place that starts programs.

mod claude;

use std::{
    io::{self, Write},
    path::Path,
    process::{Command, Output, Stdio},
};

use anyhow::{Context, Result};
use backstory_system::{BROWSERS, configure_detached, detached_cwd};

pub use claude::run_claude;

use crate::environment;

/// Starts this program again, detached: it keeps none of our streams and folders, of our variables only those that it needs
/// and those that are named, and nobody waits for it.
pub fn start_self_detached(arguments: &[&str], variables: &[String]) -> io::Result<()> {
    let mut command = this_program()?;
    command
        .args(arguments)
        .env_clear()
        .envs(environment::for_worker(variables))
        .current_dir(detached_cwd())
        // An agent waits half a second for a hook whose streams stay open.
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    configure_detached(&mut command).spawn().map(drop)
}

/// Runs this program with another home and waits for it. No worker is started there.
pub fn run_self(arguments: &[&str], home: &Path, input: &[u8]) -> Result<Output> {
    let mut command = this_program().context("could not find this program's own file")?;
    command
        .args(arguments)
        .env_clear()
        .envs(
            environment::for_worker(&[])
                .into_iter()
                .filter(|(name, _)| !name.to_string_lossy().starts_with("BACKSTORY_")),
        )
        .env("BACKSTORY_HOME", home)
        .env("BACKSTORY_NO_WORKER", "1")
        // Another home may have the usual port.
        .env("BACKSTORY_HTTP_PORT", "0")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().context("could not start this program again")?;
    if let Some(mut stdin) = child.stdin.take() {
        match stdin.write_all(input) {
            // It has what it wants.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            other => other.context("could not write to this program's input")?,
        }
    }
    child
        .wait_with_output()
        .context("could not wait for this program")
}

/// Opens an address in the person's browser; says whether there is one that took it.
pub fn open_in_browser(url: &str) -> bool {
    BROWSERS.iter().any(|(program, arguments)| {
        #[expect(
            clippy::disallowed_methods,
            reason = "this is the one place that starts programs"
        )]
        let mut command = Command::new(program);
        command
            .args(*arguments)
            .arg(url)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    })
}

fn this_program() -> io::Result<Command> {
    Ok(command(&std::env::current_exe()?))
}

/// Prepares to start a program, which is named by its absolute path.
fn command(program: &Path) -> Command {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that starts programs"
    )]
    Command::new(program)
}
