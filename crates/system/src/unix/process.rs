//! This process and its child processes.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::process::CommandExt as _,
    path::PathBuf,
    process::{Child, Command, ExitStatus},
    sync::Arc,
};

use rustix::process::{Pid, Resource, Signal, getrlimit};
use signal_hook::{consts::SIGXFSZ, flag};

/// Lowers the priority of this process: interactive programs come first.
pub fn lower_priority() {
    // Without permission or support, the process keeps its priority.
    rustix::process::nice(10).ok();
    // Kernels with autogroup schedule by session: the group has a nice value of its own. The session of a terminal is left
    // alone: everything that runs in it would slow down, and stay slow.
    if !leads_session() {
        return;
    }
    if let Ok(mut group) = OpenOptions::new().write(true).open("/proc/self/autogroup") {
        group.write_all(b"10").ok();
    }
}

/// Tells whether this process leads its session, as Linux states it: `pid (name) state parent group session …`.
///
/// `getsid` is no way to ask: it returns 0 if the leader is outside the PID namespace, as in a container, and `rustix` takes
/// 0 for impossible.
fn leads_session() -> bool {
    let Ok(stat) = fs::read_to_string("/proc/self/stat") else {
        return false;
    };
    // The name of the program may contain blanks and parentheses.
    stat.rsplit_once(") ")
        .and_then(|(_, fields)| fields.split(' ').nth(3))
        .is_some_and(|session| session == std::process::id().to_string())
}

/// Detaches from the terminal and the session in which this process was started.
pub fn detach_from_terminal() {
    // Fails only for a process that is a session leader already.
    rustix::process::setsid().ok();
}

/// Returns a folder for background processes, in which they block no unmount or deletion.
pub fn detached_cwd() -> PathBuf {
    PathBuf::from("/")
}

/// Prepares to start a program in the background. The program calls [`detach_from_terminal`] itself.
pub fn configure_detached(command: &mut Command) -> &mut Command {
    command
}

/// Makes writes beyond the file size limit fail with an error instead of killing the process by SIGXFSZ.
pub fn ignore_sigxfsz() {
    if getrlimit(Resource::Fsize).current.is_some() {
        // On failure the signal keeps its default action.
        flag::register(SIGXFSZ, Arc::default()).ok();
    }
}

/// A program and its child processes.
#[derive(Debug)]
pub struct ProcessGroup(Option<Pid>);

/// Starts a program as the leader of a new process group.
pub fn spawn_group(command: &mut Command) -> io::Result<(Child, ProcessGroup)> {
    let child = command.process_group(0).spawn()?;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    Ok((child, ProcessGroup(group)))
}

impl ProcessGroup {
    /// Kills all processes of the group.
    pub fn end(&self) {
        if let Some(group) = self.0 {
            // Fails if they have exited, which is fine.
            rustix::process::kill_process_group(group, Signal::KILL).ok();
        }
    }
}

/// Maps the pages of a buffer in one call. Its content does not change.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "madvise is unsafe")]
pub fn prefault(part: &mut [std::mem::MaybeUninit<u8>]) {
    // SAFETY: the range is exclusively borrowed, and the advice does not change its content. An old kernel refuses: then each
    // page is mapped on first access.
    unsafe {
        rustix::mm::madvise(
            part.as_mut_ptr().cast(),
            part.len(),
            rustix::mm::Advice::LinuxPopulateWrite,
        )
    }
    .ok();
}

/// Does nothing: here each page is mapped on first access.
#[cfg(not(target_os = "linux"))]
pub fn prefault(_part: &mut [std::mem::MaybeUninit<u8>]) {}

/// Becomes another program. Returns only if it cannot be started.
pub fn replace_process(command: &mut Command) -> io::Result<ExitStatus> {
    Err(command.exec())
}
