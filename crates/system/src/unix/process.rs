//! This process, and those that it starts.

use std::{
    fs::OpenOptions,
    io::{self, Write as _},
    os::unix::process::CommandExt as _,
    path::PathBuf,
    process::{Child, Command},
    sync::Arc,
};

use rustix::process::{Pid, Resource, Signal, getrlimit};
use signal_hook::{consts::SIGXFSZ, flag};

/// Makes way for others: what people wait for matters more.
pub fn lower_priority() {
    // Not allowed, or not on this system: this process is as fast as everyone else then.
    rustix::process::nice(10).ok();
    // A session of its own has a share of its own where the kernel groups by session; that share has its own niceness.
    if let Ok(mut group) = OpenOptions::new().write(true).open("/proc/self/autogroup") {
        group.write_all(b"10").ok();
    }
}

/// Leaves the terminal and the session that this process was started in.
pub fn detach_from_terminal() {
    // Fails only for a process that leads its session already.
    rustix::process::setsid().ok();
}

/// Returns a folder in which a process may stay without being in anybody's way.
pub fn detached_cwd() -> PathBuf {
    PathBuf::from("/")
}

/// Prepares to start a program that keeps nothing of ours. It has to [`detach_from_terminal`] itself.
pub fn configure_detached(command: &mut Command) -> &mut Command {
    command
}

/// Writing past a limit on the size of files would end the process by a signal; heard, it is an error like any other.
pub fn ignore_sigxfsz() {
    if getrlimit(Resource::Fsize).current.is_some() {
        // Not to be had: then the signal does what it does.
        flag::register(SIGXFSZ, Arc::default()).ok();
    }
}

/// A program, and whatever it starts.
#[derive(Debug)]
pub struct ProcessGroup(Option<Pid>);

/// Starts a program as the first of its family.
pub fn spawn_group(command: &mut Command) -> io::Result<(Child, ProcessGroup)> {
    let child = command.process_group(0).spawn()?;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    Ok((child, ProcessGroup(group)))
}

impl ProcessGroup {
    /// Ends all of them at once.
    pub fn end(&self) {
        if let Some(group) = self.0 {
            // Gone already, as it should be.
            rustix::process::kill_process_group(group, Signal::KILL).ok();
        }
    }
}

/// Has the system map a part of a buffer in one go. What the buffer holds does not change.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "advice about memory is a call into the system")]
pub fn prefault(part: &mut [std::mem::MaybeUninit<u8>]) {
    // SAFETY: the range is lent to us alone; the advice does not change what it holds. An old kernel refuses: then each page
    // is mapped when it is touched.
    unsafe {
        rustix::mm::madvise(
            part.as_mut_ptr().cast(),
            part.len(),
            rustix::mm::Advice::LinuxPopulateWrite,
        )
    }
    .ok();
}

/// Has the system map a part of a buffer in one go; here each page is mapped when it is touched.
#[cfg(not(target_os = "linux"))]
pub fn map_ahead(_part: &mut [std::mem::MaybeUninit<u8>]) {}
