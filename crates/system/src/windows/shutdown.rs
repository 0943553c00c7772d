//! Asking a process to end, and hearing it.
//!
//! There are no signals between processes here. A process that can be asked has an event whose name has its number; the
//! keys of its console set the same event.

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

/// What is set when this process is asked to end.
struct End {
    event: OwnedHandle,
    asked: Arc<AtomicBool>,
}

static END: OnceLock<End> = OnceLock::new();

/// Asks a process to end; fails for one that does not listen.
pub fn terminate(pid: u32) -> io::Result<()> {
    // SAFETY: the name ends with zero; what is opened is owned from here on.
    set(&owned(unsafe {
        OpenEventW(EVENT_MODIFY_STATE, FALSE, name(pid).as_ptr())
    })?)
}

/// Returns what becomes true when somebody asks this process to end. Who asks twice ends it at once, as it would anyone.
pub fn shutdown_flag() -> io::Result<Arc<AtomicBool>> {
    if let Some(end) = END.get() {
        return Ok(Arc::clone(&end.asked));
    }
    let name = name(std::process::id());
    // SAFETY: the name ends with zero; what is made is owned from here on.
    let event = owned(unsafe { CreateEventW(ptr::null(), TRUE, FALSE, name.as_ptr()) })?;
    let asked = Arc::default();
    let end = END.get_or_init(|| End { event, asked });
    thread::Builder::new().name("end".to_owned()).spawn(|| {
        // SAFETY: the event is open for as long as the process lives.
        unsafe { WaitForSingleObject(end.event.as_raw_handle(), INFINITE) };
        end.asked.store(true, Ordering::Relaxed);
    })?;
    // SAFETY: the function is there for as long as the process lives.
    check(unsafe { SetConsoleCtrlHandler(Some(on_key), TRUE) })?;
    Ok(Arc::clone(&end.asked))
}

/// Returns the event that is set when this process is asked to end, for whoever waits for something else as well.
pub(super) fn event() -> Option<HANDLE> {
    END.get().map(|end| end.event.as_raw_handle())
}

/// Called by the system on a thread of its own; `FALSE` leaves it to the system, which ends the process.
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
    // SAFETY: the handle is open as long as `event` lives.
    check(unsafe { SetEvent(event.as_raw_handle()) })
}

pub(super) fn check(result: BOOL) -> io::Result<()> {
    match result {
        FALSE => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Takes what a call has opened or made; null means that it has not.
pub(super) fn owned(handle: HANDLE) -> io::Result<OwnedHandle> {
    if handle.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: whoever calls this has just got it and gives it away.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}
