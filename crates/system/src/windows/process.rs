//! This process and its child processes.

use std::{
    io,
    mem::MaybeUninit,
    os::windows::{
        io::{AsRawHandle as _, OwnedHandle},
        process::CommandExt as _,
    },
    path::PathBuf,
    process::{Child, Command, ExitStatus},
    ptr,
};

use windows_sys::Win32::{
    Foundation::{HANDLE_FLAG_INHERIT, SetHandleInformation},
    System::{
        Console::{GetStdHandle, STD_ERROR_HANDLE, STD_INPUT_HANDLE, STD_OUTPUT_HANDLE},
        JobObjects::{
            AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
            JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JobObjectExtendedLimitInformation, SetInformationJobObject,
            TerminateJobObject,
        },
        Threading::{
            BELOW_NORMAL_PRIORITY_CLASS, CREATE_NEW_PROCESS_GROUP, CREATE_NO_WINDOW, GetCurrentProcess,
            SetPriorityClass,
        },
    },
};

use super::shutdown::{check, owned};

/// Lowers the priority of this process: interactive programs come first.
pub fn lower_priority() {
    // SAFETY: the pseudo handle of this process is never closed. On failure the process keeps its priority.
    unsafe { SetPriorityClass(GetCurrentProcess(), BELOW_NORMAL_PRIORITY_CLASS) };
}

/// Does nothing: [`configure_detached`] has already detached the process.
pub fn detach_from_terminal() {}

/// Returns a folder for background processes: not on a removable disk.
pub fn detached_cwd() -> PathBuf {
    std::env::temp_dir()
}

/// Prepares to start a program in the background: without a console and without our streams, because the program that
/// started us would wait for those to be closed.
pub fn configure_detached(command: &mut Command) -> &mut Command {
    for stream in [STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, STD_ERROR_HANDLE] {
        // SAFETY: changes the inheritance of a standard handle of this process. A missing stream is not inherited anyway.
        unsafe { SetHandleInformation(GetStdHandle(stream), HANDLE_FLAG_INHERIT, 0) };
    }
    command.creation_flags(CREATE_NO_WINDOW | CREATE_NEW_PROCESS_GROUP)
}

/// Does nothing: there is no such signal here.
pub fn ignore_sigxfsz() {}

/// A program and its child processes.
#[derive(Debug)]
pub struct ProcessGroup(OwnedHandle);

/// Starts a program in a job object of its own.
pub fn spawn_group(command: &mut Command) -> io::Result<(Child, ProcessGroup)> {
    // SAFETY: a new job without name and security attributes; the handle is owned from here on.
    let job = owned(unsafe { CreateJobObjectW(ptr::null(), ptr::null()) })?;
    let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
    limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
    let size = u32::try_from(size_of_val(&limits)).map_err(io::Error::other)?;
    // SAFETY: the structure is of the named class and has the given size.
    check(unsafe {
        SetInformationJobObject(
            job.as_raw_handle(),
            JobObjectExtendedLimitInformation,
            (&raw const limits).cast(),
            size,
        )
    })?;
    let mut child = command.creation_flags(CREATE_NO_WINDOW).spawn()?;
    // SAFETY: both handles are open.
    let assigned = check(unsafe { AssignProcessToJobObject(job.as_raw_handle(), child.as_raw_handle()) });
    if let Err(error) = assigned {
        // Outside of the job it would outlive this process.
        child.kill().ok();
        return Err(error);
    }
    Ok((child, ProcessGroup(job)))
}

impl ProcessGroup {
    /// Kills all processes of the group.
    pub fn end(&self) {
        // SAFETY: the handle is open. Fails if they have exited, which is fine.
        unsafe { TerminateJobObject(self.0.as_raw_handle(), 1) };
    }
}

/// Does nothing: here each page is mapped on first access.
pub fn prefault(_part: &mut [MaybeUninit<u8>]) {}

/// Runs another program in place of this one; returns its status when it ends.
pub fn replace_process(command: &mut Command) -> io::Result<ExitStatus> {
    command.status()
}
