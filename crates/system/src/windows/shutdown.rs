//! Requests and detects the shutdown of a process.
//!
//! There are no signals between processes here. A process that accepts requests has an event with its process id in the
//! name; Ctrl-C in its console sets the same event.

use std::{
    io,
    os::windows::io::{AsRawHandle as _, FromRawHandle as _, OwnedHandle},
    ptr,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use windows_sys::{
    Win32::{
        Foundation::{FALSE, HANDLE, TRUE},
        System::{
            Console::SetConsoleCtrlHandler,
            Threading::{
                CreateEventW, EVENT_MODIFY_STATE, INFINITE, OpenEventW, SetEvent, WaitForSingleObject,
            },
        },
    },
    core::BOOL,
};

/// Event and flag that are set when this process should exit.
struct End {
    event: OwnedHandle,
    asked: Arc<AtomicBool>,
}

static END: OnceLock<End> = OnceLock::new();

/// Sends a process the request to exit; fails if it accepts none.
pub fn terminate(pid: u32) -> io::Result<()> {
    // SAFETY: the name is null-terminated; the handle is owned from here on.
    set(&owned(unsafe {
        OpenEventW(EVENT_MODIFY_STATE, FALSE, name(pid).as_ptr())
    })?)
}

/// Returns a flag that is set when this process should exit. A second request kills it at once.
pub fn shutdown_flag() -> io::Result<Arc<AtomicBool>> {
    if let Some(end) = END.get() {
        return Ok(Arc::clone(&end.asked));
    }
    let name = name(std::process::id());
    // SAFETY: the name is null-terminated; the handle is owned from here on.
    let event = owned(unsafe { CreateEventW(ptr::null(), TRUE, FALSE, name.as_ptr()) })?;
    let asked = Arc::default();
    let end = END.get_or_init(|| End { event, asked });
    thread::Builder::new().name("end".to_owned()).spawn(|| {
        // SAFETY: the event is open until the process exits.
        unsafe { WaitForSingleObject(end.event.as_raw_handle(), INFINITE) };
        end.asked.store(true, Ordering::Relaxed);
    })?;
    // SAFETY: the function exists until the process exits.
    check(unsafe { SetConsoleCtrlHandler(Some(on_key), TRUE) })?;
    Ok(Arc::clone(&end.asked))
}

/// Returns the event that is set when this process should exit, for waits on several handles.
pub(super) fn event() -> Option<HANDLE> {
    END.get().map(|end| end.event.as_raw_handle())
}

/// Handles console keys, on a thread of the system; `FALSE` lets the system end the process.
unsafe extern "system" fn on_key(_key: u32) -> BOOL {
    match END.get() {
        Some(end) if !end.asked.swap(true, Ordering::Relaxed) && set(&end.event).is_ok() => TRUE,
        _ => FALSE,
    }
}

fn name(pid: u32) -> Vec<u16> {
    format!(r"Local\backstory-end-{pid}")
        .encode_utf16()
        .chain([0])
        .collect()
}

fn set(event: &OwnedHandle) -> io::Result<()> {
    // SAFETY: the handle is open while `event` exists.
    check(unsafe { SetEvent(event.as_raw_handle()) })
}

pub(super) fn check(result: BOOL) -> io::Result<()> {
    match result {
        FALSE => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Takes ownership of a handle; null means that the call failed.
pub(super) fn owned(handle: HANDLE) -> io::Result<OwnedHandle> {
    if handle.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the caller has just received the handle and gives up its ownership.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

/// Does nothing: the system ends a process whose console is closed.
pub fn end_on_hangup() -> io::Result<()> {
    Ok(())
}

/// Returns a flag that is never set: a console has no job control.
pub fn suspend_flag() -> io::Result<Arc<AtomicBool>> {
    Ok(Arc::new(AtomicBool::new(false)))
}

/// Does nothing: a console has no job control.
pub fn suspend() -> io::Result<()> {
    Ok(())
}
