//! Raises the priority of the benchmark and its children, because medians are useless when most runs wait for a compiler's
//! time slice. All compared programs run under the same conditions either way.

use std::{
    fs::OpenOptions,
    io::{self, IsTerminal, Write},
};

const NICE: i32 = -19;

/// Raises the priority as far as the system allows.
pub(crate) fn raise() {
    let raised = rustix::process::setpriority_process(None, NICE)
        .map_err(io::Error::from)
        .and_then(|()| raise_autogroup());
    if raised.is_err() {
        eprintln!("warning: could not raise the priority (needs root); other programs may affect the times");
    }
}

/// Raises the autogroup's priority: Linux schedules whole sessions, and nice values count within one session only.
fn raise_autogroup() -> io::Result<()> {
    // Stay in the terminal's session, so that Ctrl-C works.
    if io::stdin().is_terminal() {
        return Ok(());
    }
    // Fails for a session leader, which is fine.
    let leader = rustix::process::setsid().or_else(|_| rustix::process::getsid(None))?;
    if leader != rustix::process::getpid() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let mut group = OpenOptions::new().write(true).open("/proc/self/autogroup")?;
    group.write_all(NICE.to_string().as_bytes())
}
