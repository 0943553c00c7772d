//! Standard input and output.

use std::{
    io::{self, IsTerminal as _},
    time::Duration,
};

use rustix::{
    buffer::spare_capacity,
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    termios::{LocalModes, OptionalActions},
};

/// Returns the width of the terminal on standard output.
pub fn columns() -> Option<usize> {
    let stdout = io::stdout();
    let size = rustix::termios::tcgetwinsize(&stdout).ok()?;
    (stdout.is_terminal() && size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// Reads one byte from the terminal on standard input as it is typed, without showing it. Ctrl-C is a byte, too. Returns `None`
/// at the end of the input.
pub fn read_key() -> io::Result<Option<u8>> {
    let stdin = io::stdin();
    let before = rustix::termios::tcgetattr(&stdin)?;
    let mut raw = before.clone();
    raw.local_modes
        .remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG);
    rustix::termios::tcsetattr(&stdin, OptionalActions::Now, &raw)?;
    let mut key = [0];
    let read = rustix::io::retry_on_intr(|| rustix::io::read(&stdin, &mut key));
    rustix::termios::tcsetattr(&stdin, OptionalActions::Now, &before)?;
    Ok((read? == 1).then_some(key[0]))
}

/// Reads the first byte that a program sends to standard input; does not wait for a terminal, nor longer than the timeout.
pub fn read_first_stdin_byte(timeout: Duration) -> Option<u8> {
    let stdin = io::stdin();
    let timeout = Timespec {
        tv_sec: timeout.as_secs().cast_signed(),
        tv_nsec: timeout.subsec_nanos().into(),
    };
    if stdin.is_terminal() || poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&timeout)) != Ok(1) {
        return None;
    }
    let mut first = [0];
    (rustix::io::read(&stdin, &mut first) == Ok(1)).then_some(first[0])
}

/// Reads standard input, up to a little more than `most` bytes; nothing from a terminal.
pub fn read_stdin(most: usize) -> io::Result<Vec<u8>> {
    const PIPE: usize = 64 << 10;
    // Large payloads are read in steps: growing is free with the hook allocator, unused memory is not.
    const STEP: usize = 256 << 10;
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return Ok(Vec::new());
    }
    let mut input = Vec::with_capacity(PIPE);
    loop {
        match rustix::io::read(&stdin, spare_capacity(&mut input)) {
            Ok(0) => return Ok(input),
            Ok(_) if input.len() >= most => return Ok(input),
            Ok(_) if input.len() == input.capacity() => {
                if input.len() == PIPE {
                    make_pipe_larger(&stdin);
                }
                input.reserve_exact(if input.len() == PIPE { PIPE } else { STEP });
            }
            Ok(_) => {}
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Enlarges the pipe for a large payload: fewer context switches. Fails harmlessly if stdin is not a pipe.
#[cfg(target_os = "linux")]
fn make_pipe_larger(stdin: &io::Stdin) {
    rustix::pipe::fcntl_setpipe_size(stdin, 1 << 20).ok();
}

#[cfg(not(target_os = "linux"))]
fn make_pipe_larger(_stdin: &io::Stdin) {}
