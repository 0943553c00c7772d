//! Requests and detects the shutdown and the suspension of a process.

use std::{
    io,
    sync::{Arc, atomic::AtomicBool},
};

use rustix::process::{Pid, Signal};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM, SIGTSTP},
    flag, low_level,
};

/// Sends a process the request to exit.
pub fn terminate(pid: u32) -> io::Result<()> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or(io::ErrorKind::InvalidInput)?;
    Ok(rustix::process::kill_process(pid, Signal::TERM)?)
}

/// Returns a flag that is set when this process should exit. A second signal kills it at once.
pub fn shutdown_flag() -> io::Result<Arc<AtomicBool>> {
    let asked = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        flag::register_conditional_default(signal, Arc::clone(&asked))?;
        flag::register(signal, Arc::clone(&asked))?;
    }
    Ok(asked)
}

/// Makes the loss of the terminal end this process at once: a reader of its keys would wait for input without end.
pub fn end_on_hangup() -> io::Result<()> {
    flag::register_conditional_default(SIGHUP, Arc::new(AtomicBool::new(true)))?;
    Ok(())
}

/// Returns a flag that is set when this process should suspend itself. Until it does, it runs on.
pub fn suspend_flag() -> io::Result<Arc<AtomicBool>> {
    let asked = Arc::new(AtomicBool::new(false));
    flag::register(SIGTSTP, Arc::clone(&asked))?;
    Ok(asked)
}

/// Suspends this process, as the shell does; returns when it is continued.
pub fn suspend() -> io::Result<()> {
    low_level::emulate_default_handler(SIGTSTP)
}
