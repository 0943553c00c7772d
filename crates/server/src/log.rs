//! The log: one line per event on stderr, without content, names or tokens. The service manager adds the time.

use std::fmt::Arguments;

/// Writes a line to the log.
#[expect(clippy::print_stderr, reason = "stderr is the log of a service")]
pub(crate) fn log(line: Arguments<'_>) {
    eprintln!("{line}");
}
