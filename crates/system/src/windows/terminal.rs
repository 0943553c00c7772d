//! Standard input and output.

use std::{
    io::{self, IsTerminal as _, Read as _},
    ptr, thread,
    time::{Duration, Instant},
};

use windows_sys::Win32::System::{
    Console::{
        CONSOLE_SCREEN_BUFFER_INFO, GetConsoleScreenBufferInfo, GetStdHandle, STD_INPUT_HANDLE,
        STD_OUTPUT_HANDLE,
    },
    Pipes::PeekNamedPipe,
};

/// Returns the width of the terminal on standard output.
pub fn columns() -> Option<usize> {
    let mut screen = CONSOLE_SCREEN_BUFFER_INFO::default();
    // SAFETY: the standard handle belongs to this process, and the result is a local variable.
    if unsafe { GetConsoleScreenBufferInfo(GetStdHandle(STD_OUTPUT_HANDLE), &raw mut screen) } == 0 {
        return None;
    }
    usize::try_from(i32::from(screen.srWindow.Right) - i32::from(screen.srWindow.Left) + 1).ok()
}

/// Reads a line from standard input and returns its first byte, a line break if the line is empty. Returns `None` at the end of
/// the input.
pub fn read_key() -> io::Result<Option<u8>> {
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    let first = line.trim_end_matches(['\r', '\n']).bytes().next();
    Ok(if line.is_empty() {
        None
    } else {
        first.or(Some(b'\n'))
    })
}

/// Reads the first byte that a program sends to standard input; does not wait for a terminal, nor longer than the timeout.
pub fn read_first_stdin_byte(timeout: Duration) -> Option<u8> {
    const POLL_INTERVAL: Duration = Duration::from_millis(5);
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return None;
    }
    let start = Instant::now();
    while is_empty_pipe() {
        if start.elapsed() >= timeout {
            return None;
        }
        thread::sleep(POLL_INTERVAL);
    }
    let mut first = [0];
    (stdin.lock().read(&mut first).ok()? == 1).then_some(first[0])
}

/// Returns true if standard input is an open and empty pipe; a file never gets more content.
fn is_empty_pipe() -> bool {
    let mut waiting = 0;
    // SAFETY: the standard handle belongs to this process; the number is a local variable, and unused results may be null.
    let is_open_pipe = unsafe {
        PeekNamedPipe(
            GetStdHandle(STD_INPUT_HANDLE),
            ptr::null_mut(),
            0,
            ptr::null_mut(),
            &raw mut waiting,
            ptr::null_mut(),
        )
    };
    is_open_pipe != 0 && waiting == 0
}

/// Reads standard input, up to `most` bytes; nothing from a terminal.
pub fn read_stdin(most: usize) -> io::Result<Vec<u8>> {
    let stdin = io::stdin();
    let mut input = Vec::new();
    if !stdin.is_terminal() {
        stdin.lock().take(most as u64).read_to_end(&mut input)?;
    }
    Ok(input)
}
