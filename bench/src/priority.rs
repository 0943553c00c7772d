//! Puts the benchmark, and all that it starts, before what else the machine does: medians are of little use when most
//! runs wait for a compiler's time slice. What is compared runs under the same conditions either way.

use std::{
    fs::OpenOptions,
    io::{self, IsTerminal, Write},
};

const FIRST: i32 = -19;

/// Comes first as far as the system allows.
pub(crate) fn come_first() {
    let raised = rustix::process::setpriority_process(None, FIRST)
        .map_err(io::Error::from)
        .and_then(|()| take_group());
    if raised.is_err() {
        eprintln!("other programs on this machine may disturb the times: only root may come before them");
    }
}

/// Linux weighs whole sessions against each other: a priority counts among the processes of one only.
fn take_group() -> io::Result<()> {
    // From a terminal we stay in its session: Ctrl-C must reach us.
    if io::stdin().is_terminal() {
        return Ok(());
    }
    // Refused to one that leads a session already, which is as good.
    let leads = rustix::process::setsid().or_else(|_| rustix::process::getsid(None))?;
    if leads != rustix::process::getpid() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let mut group = OpenOptions::new().write(true).open("/proc/self/autogroup")?;
    group.write_all(FIRST.to_string().as_bytes())
}
