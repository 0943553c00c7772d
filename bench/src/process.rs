//! Starts programs and measures them as whole processes, as an agent does.

use std::{
    ffi::OsStr,
    io::{self, Read, Write},
    process::{Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

/// Exit status and duration of a process, from before spawn until after wait.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) took: Duration,
    pub(crate) status: ExitStatus,
}

/// Returns a command with an empty environment.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = with_inherited_environment(program);
    command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
    command
}

/// Returns a command that inherits the environment, for the compiler.
pub(crate) fn with_inherited_environment(program: impl AsRef<OsStr>) -> Command {
    #[expect(
        clippy::disallowed_methods,
        reason = "the only place in the benchmark that starts programs"
    )]
    Command::new(program)
}

/// Runs a program like an agent: input and output through pipes, until it has exited.
pub(crate) fn run(command: &mut Command, input: &[u8]) -> io::Result<Finished> {
    Ok(run_with_output(command, input)?.0)
}

/// Runs a program like [`run`], and returns its output too.
pub(crate) fn run_with_output(command: &mut Command, input: &[u8]) -> io::Result<(Finished, Vec<u8>)> {
    let start = Instant::now();
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        feed(&mut stdin, input)?;
    }
    let mut printed = Vec::new();
    if let Some(mut stdout) = child.stdout.take() {
        // An agent reads the output to the end.
        stdout.read_to_end(&mut printed)?;
    }
    let status = child.wait()?;
    let took = start.elapsed();
    Ok((Finished { took, status }, printed))
}

/// Writes the input. A program that exits before it has read everything is not an error.
pub(crate) fn feed(stdin: &mut impl Write, input: &[u8]) -> io::Result<()> {
    match stdin.write_all(input) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}
