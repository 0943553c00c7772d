//! Memory for a process that lives for less than a millisecond.
//!
//! A hook allocates a few dozen small things, perhaps one large buffer, and ends. The system's allocator maps and unmaps
//! pages for them, and that took a quarter of a hook's time. Here a hook's small allocations come one after the other
//! out of one piece of memory, the first large one gets a piece of its own that it can grow in, and nothing is given
//! back; the end of the process does that. Everything else, and every other command, uses the system's allocator.

#![expect(unsafe_code, reason = "an allocator cannot be written without it")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::UnsafeCell,
    ptr,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
};

/// What hooks need, with room to spare. It costs nothing until it is touched.
const SIZE: usize = 512 << 10;

/// Larger things are better off in pages of their own. A hook's input buffer is this large to begin with.
const LARGEST: usize = 64 << 10;

/// From here on a buffer is the input of a hook that was told a lot. It gets memory that the processor maps in one
/// piece: touching a megabyte page by page takes longer than starting a process.
const HUGE_FROM: usize = 128 << 10;

/// The size of such a piece.
const HUGE_PAGE: usize = 2 << 20;

/// Room for two of them, wherever the first one begins.
const HUGE_SIZE: usize = 3 * HUGE_PAGE;

#[global_allocator]
static ARENA: Arena = Arena {
    memory: UnsafeCell::new([0; SIZE]),
    used: AtomicUsize::new(0),
    huge: UnsafeCell::new([0; HUGE_SIZE]),
    is_huge_taken: AtomicBool::new(false),
    // On from the start, for what is allocated before `main`.
    is_on: AtomicBool::new(true),
};

/// Says that this process is no hook and may live long.
pub(crate) fn turn_off() {
    ARENA.is_on.store(false, Relaxed);
}

#[repr(align(16))]
struct Arena {
    memory: UnsafeCell<[u8; SIZE]>,
    used: AtomicUsize,
    huge: UnsafeCell<[u8; HUGE_SIZE]>,
    is_huge_taken: AtomicBool,
    is_on: AtomicBool,
}

// SAFETY: `memory` is handed out in parts that do not overlap, because `used` only grows and does so atomically; `huge`
// is handed out once.
unsafe impl Sync for Arena {}

impl Arena {
    /// Takes the next part; `None` when it is too large or does not fit any more.
    fn take(&self, layout: Layout) -> Option<*mut u8> {
        if !self.is_on.load(Relaxed) || layout.align() > 16 {
            return None;
        }
        if layout.size() > LARGEST {
            let fits = (HUGE_FROM..=2 * HUGE_PAGE).contains(&layout.size());
            return (fits && !self.is_huge_taken.swap(true, Relaxed)).then(|| self.huge_pages());
        }
        // Rounded up, so that every part starts where any of them may.
        let size = (layout.size() + 15) & !15;
        let start = self.used.fetch_add(size, Relaxed);
        if start + size > SIZE {
            return None;
        }
        // SAFETY: `start + size` is within `memory`, as checked above.
        Some(unsafe { self.memory.get().cast::<u8>().add(start) })
    }

    /// Returns where the two huge pages begin, and asks for them to be mapped as such.
    fn huge_pages(&self) -> *mut u8 {
        let start = self.huge.get().cast::<u8>();
        let padding = start.addr().next_multiple_of(HUGE_PAGE) - start.addr();
        // SAFETY: less than a page is skipped, so that two whole ones are left of the three.
        let pages = unsafe { start.add(padding) };
        // Refused by a system without them: they are ordinary pages then.
        // SAFETY: the range is ours, and the advice does not change what it holds.
        unsafe { rustix::mm::madvise(pages.cast(), 2 * HUGE_PAGE, rustix::mm::Advice::LinuxHugepage) }.ok();
        pages
    }

    fn owns(&self, pointer: *mut u8) -> bool {
        let (small, huge) = (self.memory.get().addr(), self.huge.get().addr());
        (small..small + SIZE).contains(&pointer.addr()) || (huge..huge + HUGE_SIZE).contains(&pointer.addr())
    }
}

// SAFETY: parts of the arena are aligned to 16, as large as asked, and belong to one caller each for good; all else is
// the system allocator's, which gets back exactly what it gave.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match self.take(layout) {
            Some(pointer) => pointer,
            // SAFETY: the caller's promise is the one that the system allocator asks for.
            None => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if !self.owns(pointer) {
            // SAFETY: not ours, so it came from the system allocator with this layout.
            unsafe { System.dealloc(pointer, layout) }
        }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !self.owns(pointer) {
            // SAFETY: as in `dealloc`.
            return unsafe { System.realloc(pointer, layout, size) };
        }
        let is_huge =
            pointer.addr() >= self.huge.get().addr() && pointer.addr() < self.huge.get().addr() + HUGE_SIZE;
        if is_huge && size <= 2 * HUGE_PAGE {
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
