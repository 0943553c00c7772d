//! Starts programs and measures them from outside, as an agent sees them.

use std::{
    ffi::OsStr,
    io::{self, Read, Write},
    process::{Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

/// A process from before it was started until it had been waited for.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) took: Duration,
    pub(crate) status: ExitStatus,
}

/// Prepares a program with an empty environment.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = with_our_environment(program);
    command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
    command
}

/// Prepares a program that needs what we were given: the compiler.
pub(crate) fn with_our_environment(program: impl AsRef<OsStr>) -> Command {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place of the benchmark that starts programs"
    )]
    Command::new(program)
}

/// Runs a program the way an agent does: input through a pipe, output through a pipe, until it has ended.
pub(crate) fn run(command: &mut Command, input: &[u8]) -> io::Result<Finished> {
    Ok(answer(command, input)?.0)
}

/// Does the same, and returns what it printed.
pub(crate) fn answer(command: &mut Command, input: &[u8]) -> io::Result<(Finished, Vec<u8>)> {
    let start = Instant::now();
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        feed(&mut stdin, input)?;
    }
    let mut printed = Vec::new();
    if let Some(mut stdout) = child.stdout.take() {
        // An agent reads until the end, whatever comes.
        stdout.read_to_end(&mut printed)?;
    }
    let status = child.wait()?;
    let took = start.elapsed();
    Ok((Finished { took, status }, printed))
}

/// Writes all of the input; a program that ended before it had read all is no error.
pub(crate) fn feed(stdin: &mut impl Write, input: &[u8]) -> io::Result<()> {
    match stdin.write_all(input) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}
