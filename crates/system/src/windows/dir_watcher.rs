//! Wakes a process when something arrives in a folder.

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

/// Rings when a file comes into a folder, or goes.
#[derive(Debug)]
pub struct DirWatcher(HANDLE);

impl DirWatcher {
    /// Watches a folder. What arrives from now on is not missed.
    pub fn watch(folder: &Path) -> io::Result<Self> {
        let path: Vec<u16> = folder.as_os_str().encode_wide().chain([0]).collect();
        // SAFETY: the path ends with zero.
        match unsafe { FindFirstChangeNotificationW(path.as_ptr(), FALSE, FILE_NOTIFY_CHANGE_FILE_NAME) } {
            INVALID_HANDLE_VALUE => Err(io::Error::last_os_error()),
            handle => Ok(Self(handle)),
        }
    }

    /// Sleeps until something arrived, at most so long. One answer for all that arrived until then.
    pub fn wait(&self, most: Duration, gather: Duration) -> io::Result<()> {
        let most = u32::try_from(most.as_millis()).unwrap_or(u32::MAX - 1);
        let end = event();
        let both = [self.0, end.unwrap_or_default()];
        let count = 1 + u32::from(end.is_some());
        // SAFETY: `count` handles are there, and open for as long as this runs.
        match unsafe { WaitForMultipleObjects(count, both.as_ptr(), FALSE, most) } {
            WAIT_FAILED => Err(io::Error::last_os_error()),
            WAIT_OBJECT_0 => {
                thread::sleep(gather);
                // SAFETY: the handle is open as long as `self` lives.
                check(unsafe { FindNextChangeNotification(self.0) })
            }
            // Time is up, or this process is asked to end: the caller looks around.
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
