//! A file as memory: only the parts that are looked at are read, and processes share them.
#![expect(unsafe_code, reason = "mapping a file is a call into the system")]

use std::{fs::File, io, ops::Deref, ptr::NonNull, slice};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// A whole file, mapped to be read.
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
        // SAFETY: a new mapping of `length` bytes at a place that the system chooses; nothing else knows of it.
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
        // SAFETY: mapped for as long as `self` lives. The file is never cut short, only replaced as a whole; a vector that
        // is blanked in place changes bytes whose every value is valid.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl Drop for MappedFile {
    fn drop(&mut self) {
        if self.length > 0 {
            // SAFETY: what `new` mapped, once. Failing leaves the mapping until the process ends.
            unsafe { munmap(self.start.as_ptr().cast(), self.length) }.ok();
        }
    }
}

// SAFETY: the memory is only read through `&self`, and belongs to no thread.
unsafe impl Send for MappedFile {}
// SAFETY: as above.
unsafe impl Sync for MappedFile {}
