//! Runs this program in another home folder, and opens the browser.

use std::{
    io::{self, Write},
    path::Path,
    process::{Command, Output, Stdio},
};

use anyhow::{Context, Result};
use backstory_engine::{environment::Environment, process::this_program};
use backstory_system::BROWSERS;

/// Runs this program with another home folder and waits for it. No worker is started there.
pub(crate) fn run_self(arguments: &[&str], home: &Path, input: &[u8]) -> Result<Output> {
    let mut command = this_program().context("could not find this program's own file")?;
    command
        .args(arguments)
        .env_clear()
        .envs(Environment::process().for_worker(&[]))
        .env("BACKSTORY_HOME", home)
        .env("BACKSTORY_NO_WORKER", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().context("could not start this program again")?;
    if let Some(mut stdin) = child.stdin.take() {
        match stdin.write_all(input) {
            // The program does not need the rest.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            other => other.context("could not write to this program's input")?,
        }
    }
    child
        .wait_with_output()
        .context("could not wait for this program")
}

/// Opens a page in the browser. Returns `false` if there is none.
pub(crate) fn open_in_browser(page: &Path) -> bool {
    BROWSERS.iter().any(|(program, arguments)| {
        #[expect(
            clippy::disallowed_methods,
            reason = "the program is found on the search path"
        )]
        let mut command = Command::new(program);
        command
            .args(*arguments)
            .arg(page)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    })
}
