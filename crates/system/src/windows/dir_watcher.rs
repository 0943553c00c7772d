//! Waits for files that are moved into a folder.

use std::{io, os::windows::ffi::OsStrExt as _, path::Path, thread, time::Duration};

use windows_sys::Win32::{
    Foundation::{FALSE, HANDLE, INVALID_HANDLE_VALUE, WAIT_FAILED, WAIT_OBJECT_0},
    Storage::FileSystem::{
        FILE_NOTIFY_CHANGE_FILE_NAME, FindCloseChangeNotification, FindFirstChangeNotificationW,
        FindNextChangeNotification,
    },
    System::Threading::WaitForMultipleObjects,
};

use super::shutdown::{check, event};

/// Wakes up when a file is created or removed in a folder.
#[derive(Debug)]
pub struct DirWatcher(HANDLE);

impl DirWatcher {
    /// Starts to watch a folder. Files that arrive from now on are not missed.
    pub fn watch(folder: &Path) -> io::Result<Self> {
        let path: Vec<u16> = folder.as_os_str().encode_wide().chain([0]).collect();
        // SAFETY: the path is null-terminated.
        match unsafe { FindFirstChangeNotificationW(path.as_ptr(), FALSE, FILE_NOTIFY_CHANGE_FILE_NAME) } {
            INVALID_HANDLE_VALUE => Err(io::Error::last_os_error()),
            handle => Ok(Self(handle)),
        }
    }

    /// Sleeps until a file arrives, at most `timeout`, and then collects further arrivals for `gather`.
    pub fn wait(&self, timeout: Duration, gather: Duration) -> io::Result<()> {
        let timeout = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX - 1);
        let end = event();
        let both = [self.0, end.unwrap_or_default()];
        let count = 1 + u32::from(end.is_some());
        // SAFETY: the array has `count` handles, which are open during the call.
        match unsafe { WaitForMultipleObjects(count, both.as_ptr(), FALSE, timeout) } {
            WAIT_FAILED => Err(io::Error::last_os_error()),
            WAIT_OBJECT_0 => {
                thread::sleep(gather);
                // SAFETY: the handle is open while `self` exists.
                check(unsafe { FindNextChangeNotification(self.0) })
            }
            // Timeout or shutdown request: the caller checks its state.
            _ => Ok(()),
        }
    }
}

impl Drop for DirWatcher {
    fn drop(&mut self) {
        // SAFETY: opened by `watch`, closed once.
        unsafe { FindCloseChangeNotification(self.0) };
    }
}
