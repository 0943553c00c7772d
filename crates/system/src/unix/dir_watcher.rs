//! Waits for files that are moved into a folder.

use std::{io, path::Path, thread, time::Duration};

#[cfg(target_os = "linux")]
pub use inotify_watcher::DirWatcher;

#[cfg(not(target_os = "linux"))]
pub use polling::DirWatcher;

/// Time between two looks at a folder whose changes the system does not report.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

#[cfg(target_os = "linux")]
mod inotify_watcher {
    use std::os::fd::OwnedFd;

    use rustix::{
        event::{PollFd, PollFlags, Timespec, poll},
        fs::inotify::{self, CreateFlags, WatchFlags},
        io::Errno,
    };

    use super::{Duration, POLL_INTERVAL, Path, io, thread};

    /// Wakes up when a file is renamed into a folder; polls if the system reports no changes.
    #[derive(Debug)]
    pub struct DirWatcher(Option<OwnedFd>);

    impl DirWatcher {
        /// Starts to watch a folder. Files that arrive from now on are not missed.
        pub fn watch(folder: &Path) -> io::Result<Self> {
            match watch(folder) {
                Ok(watch) => Ok(Self(Some(watch))),
                // Editors and file synchronizers often use up the instances that one user may have (128 by default).
                Err(Errno::MFILE | Errno::NFILE | Errno::NOSPC | Errno::NOMEM | Errno::NOSYS) => {
                    Ok(Self(None))
                }
                Err(error) => Err(error.into()),
            }
        }

        /// Sleeps until a file arrives, at most `timeout`, and then collects further arrivals for `gather`.
        pub fn wait(&self, timeout: Duration, gather: Duration) -> io::Result<()> {
            let Some(watch) = &self.0 else {
                thread::sleep(timeout.min(POLL_INTERVAL));
                return Ok(());
            };
            let timeout = Timespec {
                tv_sec: timeout.as_secs().cast_signed(),
                tv_nsec: timeout.subsec_nanos().into(),
            };
            match poll(&mut [PollFd::new(watch, PollFlags::IN)], Some(&timeout)) {
                // Timeout or signal: the caller checks its state.
                Ok(0) | Err(Errno::INTR) => return Ok(()),
                Ok(_) => {}
                Err(error) => return Err(error.into()),
            }
            thread::sleep(gather);
            let mut events = [0; 4096];
            loop {
                match rustix::io::read(watch, &mut events) {
                    Ok(_) => {}
                    Err(Errno::AGAIN) => return Ok(()),
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }

    fn watch(folder: &Path) -> Result<OwnedFd, Errno> {
        let watch = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        inotify::add_watch(&watch, folder, WatchFlags::MOVED_TO | WatchFlags::DELETE_SELF)?;
        Ok(watch)
    }
}

#[cfg(not(target_os = "linux"))]
mod polling {
    use super::{Duration, POLL_INTERVAL, Path, io, thread};

    /// Polls: the caller checks the folder after every wait.
    #[derive(Debug)]
    pub struct DirWatcher;

    impl DirWatcher {
        /// Accepts a folder; there is nothing to set up.
        pub fn watch(_folder: &Path) -> io::Result<Self> {
            Ok(Self)
        }

        /// Sleeps for the polling interval, at most `timeout`.
        pub fn wait(&self, timeout: Duration, _gather: Duration) -> io::Result<()> {
            thread::sleep(timeout.min(POLL_INTERVAL));
            Ok(())
        }
    }
}
