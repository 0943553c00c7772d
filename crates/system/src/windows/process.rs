//! This process, and those that it starts.

use std::{
    io,
    mem::MaybeUninit,
    os::windows::{
        io::{AsRawHandle as _, OwnedHandle},
        process::CommandExt as _,
    },
    path::PathBuf,
    process::{Child, Command},
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

/// Makes way for others: what people wait for matters more.
pub fn lower_priority() {
    // SAFETY: the handle stands for this process and is never closed. Not allowed: then it is as fast as everyone else.
    unsafe { SetPriorityClass(GetCurrentProcess(), BELOW_NORMAL_PRIORITY_CLASS) };
}

/// Leaves the terminal that this process was started in; here [`configure_detached`] has done it.
pub fn detach_from_terminal() {}

/// Returns a folder in which a process may stay without being in anybody's way: not on a disk that may be taken out.
pub fn detached_cwd() -> PathBuf {
    std::env::temp_dir()
}

/// Prepares to start a program that keeps nothing of ours: no console, and none of our streams. Whoever started us would
/// wait for those to be closed.
pub fn configure_detached(command: &mut Command) -> &mut Command {
    for stream in [STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, STD_ERROR_HANDLE] {
        // SAFETY: asks for a handle of ours and changes who inherits it. A stream that is not there is none to inherit.
        unsafe { SetHandleInformation(GetStdHandle(stream), HANDLE_FLAG_INHERIT, 0) };
    }
    command.creation_flags(CREATE_NO_WINDOW | CREATE_NEW_PROCESS_GROUP)
}

/// Writing past a limit on the size of files is an error like any other here.
pub fn ignore_sigxfsz() {}

/// A program, and whatever it starts.
#[derive(Debug)]
pub struct ProcessGroup(OwnedHandle);

/// Starts a program as the first of its family.
pub fn spawn_group(command: &mut Command) -> io::Result<(Child, ProcessGroup)> {
    // SAFETY: without a name and with nobody inheriting it; what is made is owned from here on.
    let job = owned(unsafe { CreateJobObjectW(ptr::null(), ptr::null()) })?;
    let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
    limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
    let size = u32::try_from(size_of_val(&limits)).map_err(io::Error::other)?;
    // SAFETY: the limits are of the kind that is named, and as long as is said.
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
        // It would outlive us.
        child.kill().ok();
        return Err(error);
    }
    Ok((child, ProcessGroup(job)))
}

impl ProcessGroup {
    /// Ends all of them at once.
    pub fn end(&self) {
        // SAFETY: the handle is open. Gone already, as it should be.
        unsafe { TerminateJobObject(self.0.as_raw_handle(), 1) };
    }
}

/// Has the system map a part of a buffer in one go; here each page is mapped when it is touched.
pub fn prefault(_part: &mut [MaybeUninit<u8>]) {}
