//! Memory-mapped files: only accessed pages are read, and processes share them.
#![expect(unsafe_code, reason = "mmap and munmap are unsafe")]

use std::{fs::File, io, ops::Deref, ptr::NonNull, slice};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// File that is mapped read-only as a whole.
#[derive(Debug)]
pub struct MappedFile {
    start: NonNull<u8>,
    length: usize,
}

impl MappedFile {
    /// Maps a file.
    pub fn new(file: &File) -> io::Result<Self> {
        let length = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        if length == 0 {
            return Ok(Self {
                start: NonNull::dangling(),
                length,
            });
        }
        // SAFETY: a new mapping of `length` bytes at an address that the kernel chooses; no other code refers to it.
        let start = unsafe {
            mmap(
                std::ptr::null_mut(),
                length,
                ProtFlags::READ,
                MapFlags::SHARED,
                file,
                0,
            )?
        };
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, length })
    }
}

impl Deref for MappedFile {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: mapped while `self` exists. The file is never truncated, only replaced as a whole; a vector that
        // is zeroed in place changes bytes for which every value is valid.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl Drop for MappedFile {
    fn drop(&mut self) {
        if self.length > 0 {
            // SAFETY: unmaps the range that `new` mapped, once. On failure the mapping stays until the process exits.
            unsafe { munmap(self.start.as_ptr().cast(), self.length) }.ok();
        }
    }
}

// SAFETY: the memory is only read through `&self` and is not bound to a thread.
unsafe impl Send for MappedFile {}
// SAFETY: as above.
unsafe impl Sync for MappedFile {}
