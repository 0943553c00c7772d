//! Memory for a process that lives for less than a millisecond.
//!
//! A hook allocates a few dozen small things, perhaps one large buffer, and ends. The system's allocator maps and unmaps
//! pages for them, and that took a quarter of a hook's time. Here a hook's small allocations come one after the other
//! out of one piece of memory, the first large one gets a piece of its own that it can grow in, and only what was taken
//! last is given back; the end of the process does the rest. Everything else, and every other command, uses an allocator
//! made to last.

#![expect(unsafe_code, reason = "an allocator cannot be written without it")]

use std::{
    alloc::{GlobalAlloc, Layout},
    cell::UnsafeCell,
    ptr, slice,
    sync::atomic::{
        AtomicBool, AtomicUsize,
        Ordering::{AcqRel, Relaxed},
    },
};

use backstory_system as system;

/// What hooks need, those that read the store included, with room to spare. It costs nothing until it is touched.
const SIZE: usize = 4 << 20;

/// Larger things are better off in pages of their own. A hook's input buffer is this large to begin with.
const MAX_BYTES: usize = 64 << 10;

/// From here on a buffer is the input of a hook that was told a lot. It gets memory that it can grow in and that is mapped
/// ahead: touching a megabyte page by page takes longer than starting a process.
const LARGE_FROM: usize = 128 << 10;

/// How far such a buffer can grow.
const LARGE_SIZE: usize = 4 << 20;

/// For everything that lasts. With musl not the system's: it gives memory back to the kernel at every turn, and an import
/// took three times as long.
#[cfg(target_env = "musl")]
static LASTING: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;
#[cfg(not(target_env = "musl"))]
static LASTING: std::alloc::System = std::alloc::System;

#[global_allocator]
static ARENA: Arena = Arena {
    memory: UnsafeCell::new([0; SIZE]),
    used: AtomicUsize::new(0),
    large: UnsafeCell::new([0; LARGE_SIZE]),
    is_large_taken: AtomicBool::new(false),
    // On from the start, for what is allocated before `main`. Spelt so that all of the arena is zero: one byte that is
    // not would put five megabytes into the file, and make every page a copy of it.
    is_off: AtomicBool::new(false),
};

/// Says that this process is no hook and may live long.
pub(crate) fn turn_off() {
    ARENA.is_off.store(true, Relaxed);
}

#[repr(align(16))]
struct Arena {
    memory: UnsafeCell<[u8; SIZE]>,
    used: AtomicUsize,
    large: UnsafeCell<[u8; LARGE_SIZE]>,
    is_large_taken: AtomicBool,
    is_off: AtomicBool,
}

// SAFETY: `memory` is handed out in parts that do not overlap: `used` grows by each of them, and falls or grows otherwise
// only by the one that ends there, by whoever owns that one, atomically. `large` is handed out once.
unsafe impl Sync for Arena {}

impl Arena {
    /// Takes the next part; `None` when it is too large or does not fit any more.
    fn take(&self, layout: Layout) -> Option<*mut u8> {
        if self.is_off.load(Relaxed) || layout.align() > 16 {
            return None;
        }
        if layout.size() > MAX_BYTES {
            let fits = (LARGE_FROM..=LARGE_SIZE).contains(&layout.size());
            let pointer = self.large.get().cast::<u8>();
            return (fits && !self.is_large_taken.swap(true, Relaxed))
                .then(|| map_ahead(pointer, 0, layout.size()));
        }
        let size = rounded(layout.size());
        let start = self.used.fetch_add(size, AcqRel);
        if start + size > SIZE {
            return None;
        }
        // SAFETY: `start + size` is within `memory`, as checked above.
        Some(unsafe { self.memory.get().cast::<u8>().add(start) })
    }

    /// Gives a part of the memory another size, in its place; possible for the one that was taken last. Most of what a hook
    /// allocates grows or is given back at once, and a page that is not touched costs nothing.
    fn resize(&self, pointer: *mut u8, from: usize, to: usize) -> bool {
        let start = pointer.addr().wrapping_sub(self.memory.get().addr());
        let (end, new_end) = (start.wrapping_add(rounded(from)), start.wrapping_add(rounded(to)));
        start < SIZE
            && to <= MAX_BYTES
            && new_end <= SIZE
            && self.used.compare_exchange(end, new_end, AcqRel, Relaxed).is_ok()
    }

    fn is_large(&self, pointer: *mut u8) -> bool {
        pointer.addr() == self.large.get().addr()
    }

    fn owns(&self, pointer: *mut u8) -> bool {
        let start = self.memory.get().addr();
        (start..start + SIZE).contains(&pointer.addr()) || self.is_large(pointer)
    }
}

/// Rounds up, so that every part starts where any of them may.
const fn rounded(size: usize) -> usize {
    (size + 15) & !15
}

/// Has the kernel map the pages from `from` to `to` of a buffer in one go.
fn map_ahead(buffer: *mut u8, from: usize, to: usize) -> *mut u8 {
    const PAGE: usize = 4096;
    let start = (buffer.addr() + from).next_multiple_of(PAGE) - buffer.addr();
    if let Some(length) = to.checked_sub(start) {
        // SAFETY: the range lies in the buffer, whose end is no further than `to`, and which nobody else knows yet.
        system::prefault(unsafe { slice::from_raw_parts_mut(buffer.add(start).cast(), length) });
    }
    buffer
}

// SAFETY: parts of the arena are aligned to 16, as large as asked, and belong to one caller each for good; all else is
// the lasting allocator's, which gets back exactly what it gave.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match self.take(layout) {
            Some(pointer) => pointer,
            // SAFETY: the caller's promise is the one that the lasting allocator asks for.
            None => unsafe { LASTING.alloc(layout) },
        }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if !self.owns(pointer) {
            // SAFETY: not ours, so it came from the lasting allocator with this layout.
            unsafe { LASTING.dealloc(pointer, layout) }
        } else {
            // When it is not the last one, it stays until the end.
            self.resize(pointer, layout.size(), 0);
        }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !self.owns(pointer) {
            // SAFETY: as in `dealloc`.
            return unsafe { LASTING.realloc(pointer, layout, size) };
        }
        if self.is_large(pointer) && size <= LARGE_SIZE {
            return map_ahead(pointer, layout.size(), size);
        }
        if self.resize(pointer, layout.size(), size) {
            return pointer;
        }
        // SAFETY: the caller promises that `size`, rounded up to the alignment, does not overflow.
        let new = unsafe { self.alloc(Layout::from_size_align_unchecked(size, layout.align())) };
        if !new.is_null() {
            // SAFETY: both are at least this long, and a new part never overlaps an old one.
            unsafe { ptr::copy_nonoverlapping(pointer, new, layout.size().min(size)) };
        }
        new
    }
}
