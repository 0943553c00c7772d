//! Bump allocator for hook processes.
//!
//! A hook allocates a few dozen small blocks and at most one large buffer, and exits within a millisecond. Small blocks come
//! one after the other out of static memory, the first large one gets a region of its own that it can grow in. Only the
//! block that was allocated last can grow in place or be freed; the exit of the process frees the rest. Without the arena a
//! hook for a tool use takes about a quarter more instructions: `bench -- instructions` measures it.
//!
//! Every other command calls [`turn_off`] first and uses a general-purpose allocator: a process that lives long would fill
//! the arena and get nothing out of it. SQLite allocates with `malloc` in every process; "Memory allocation" in
//! ARCHITECTURE.md says why it must stay that way.

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

/// Size of the memory for small blocks: more than a hook that reads the store needs. Pages that are not touched cost nothing.
const SIZE: usize = 4 << 20;

/// Largest small block. The input buffer of a hook starts at this size.
const MAX_BYTES: usize = 64 << 10;

/// Smallest block that goes into the large region: the input buffer of a hook with a long payload. The region is mapped
/// ahead, because touching a megabyte page by page takes longer than starting a process.
const LARGE_FROM: usize = 128 << 10;

/// Size of the large region.
const LARGE_SIZE: usize = 4 << 20;

/// Alignment of every block. A request for more goes to the general-purpose allocator.
const ALIGN: usize = 16;

/// The general-purpose allocator. With musl it is not the system's, which returns memory to the kernel at every opportunity:
/// an import took three times as long.
#[cfg(target_env = "musl")]
static GENERAL: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;
#[cfg(not(target_env = "musl"))]
static GENERAL: std::alloc::System = std::alloc::System;

#[global_allocator]
static ARENA: Arena = Arena::new();

/// Switches this process to the general-purpose allocator. Blocks that were allocated before stay valid.
pub(crate) fn turn_off() {
    ARENA.is_off.store(true, Relaxed);
}

/// Holds the memory. `repr(C)`, because blocks are aligned only if both regions are: no other layout promises that.
#[repr(C, align(16))]
struct Arena {
    memory: UnsafeCell<[u8; SIZE]>,
    large: UnsafeCell<[u8; LARGE_SIZE]>,
    used: AtomicUsize,
    is_large_taken: AtomicBool,
    is_off: AtomicBool,
}

// SAFETY: blocks in `memory` do not overlap: `used` grows atomically by each of them, and is otherwise changed only on behalf
// of the block that ends there, by its owner, in one compare-and-exchange. `large` is handed out once.
unsafe impl Sync for Arena {}

impl Arena {
    /// Creates an arena that is on, for allocations before `main`. All of it is zero: one byte that is not would put eight
    /// megabytes into the executable, and make every page a copy of the file's.
    const fn new() -> Self {
        Self {
            memory: UnsafeCell::new([0; SIZE]),
            large: UnsafeCell::new([0; LARGE_SIZE]),
            used: AtomicUsize::new(0),
            is_large_taken: AtomicBool::new(false),
            is_off: AtomicBool::new(false),
        }
    }

    /// Allocates a block, or returns `None` if the general-purpose allocator has to.
    fn take(&self, layout: Layout) -> Option<*mut u8> {
        if cfg!(feature = "without-arena") || self.is_off.load(Relaxed) || layout.align() > ALIGN {
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

    /// Changes the size of a small block in place and returns true if it was the last one. Most blocks of a hook grow or are
    /// freed before the next one is allocated, and a page that is not touched costs nothing.
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

/// Rounds a size up to a multiple of the alignment, so that the next block is aligned too.
const fn rounded(size: usize) -> usize {
    (size + ALIGN - 1) & !(ALIGN - 1)
}

/// Has the kernel map the pages from `from` to `to` of a buffer in one call.
fn map_ahead(buffer: *mut u8, from: usize, to: usize) -> *mut u8 {
    const PAGE: usize = 4096;
    let start = (buffer.addr() + from).next_multiple_of(PAGE) - buffer.addr();
    if let Some(length) = to.checked_sub(start) {
        // SAFETY: the range is within the large region and past what its owner has written so far.
        system::prefault(unsafe { slice::from_raw_parts_mut(buffer.add(start).cast(), length) });
    }
    buffer
}

// SAFETY: blocks of the arena are aligned to `ALIGN`, as large as requested, and have one owner each; every other block
// belongs to the general-purpose allocator, which is passed the layout that it was allocated with.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match self.take(layout) {
            Some(pointer) => pointer,
            // SAFETY: both allocators have the same contract.
            None => unsafe { GENERAL.alloc(layout) },
        }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if self.owns(pointer) {
            // A block that is not the last one stays allocated until the process exits.
            self.resize(pointer, layout.size(), 0);
        } else {
            // SAFETY: not in the arena, so the general-purpose allocator allocated it with this layout.
            unsafe { GENERAL.dealloc(pointer, layout) }
        }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !self.owns(pointer) {
            // SAFETY: as in `dealloc`.
            return unsafe { GENERAL.realloc(pointer, layout, size) };
        }
        if self.is_large(pointer) && size <= LARGE_SIZE {
            return map_ahead(pointer, layout.size(), size);
        }
        if self.resize(pointer, layout.size(), size) {
            return pointer;
        }
        // SAFETY: the caller guarantees that `size`, rounded up to the alignment, does not overflow.
        let new = unsafe { self.alloc(Layout::from_size_align_unchecked(size, layout.align())) };
        if !new.is_null() {
            // SAFETY: both blocks are at least this long, and a new block never overlaps an old one.
            unsafe { ptr::copy_nonoverlapping(pointer, new, layout.size().min(size)) };
        }
        new
    }
}

#[cfg(test)]
#[cfg(not(feature = "without-arena"))]
mod tests {
    use std::{sync::mpsc, thread};

    use super::*;

    /// A block that is filled with one byte, and says so if that byte was overwritten.
    struct Block {
        arena: &'static Arena,
        pointer: *mut u8,
        layout: Layout,
        fill: u8,
    }

    // SAFETY: it owns its memory.
    unsafe impl Send for Block {}

    impl Block {
        fn new(arena: &'static Arena, size: usize, fill: u8) -> Self {
            let layout = Layout::from_size_align(size, ALIGN).unwrap();
            // SAFETY: no test allocates zero bytes.
            let pointer = unsafe { arena.alloc(layout) };
            assert_eq!(pointer.addr() % ALIGN, 0);
            let block = Self {
                arena,
                pointer,
                layout,
                fill,
            };
            block.write();
            block
        }

        fn write(&self) {
            // SAFETY: the block is this large.
            unsafe { self.pointer.write_bytes(self.fill, self.layout.size()) }
        }

        fn check(&self, size: usize) {
            // SAFETY: the block is at least this large and was written before.
            let bytes = unsafe { slice::from_raw_parts(self.pointer, size) };
            assert!(bytes.iter().all(|byte| *byte == self.fill), "blocks overlap");
        }

        fn resize(&mut self, size: usize) {
            self.check(self.layout.size());
            // SAFETY: allocated by this arena with this layout.
            self.pointer = unsafe { self.arena.realloc(self.pointer, self.layout, size) };
            self.check(size.min(self.layout.size()));
            self.layout = Layout::from_size_align(size, ALIGN).unwrap();
            self.write();
        }

        fn free(self) {
            self.check(self.layout.size());
            // SAFETY: allocated by this arena with this layout; not used again.
            unsafe { self.arena.dealloc(self.pointer, self.layout) }
        }
    }

    #[test]
    fn only_the_last_block_is_resized_in_place_and_freed() {
        static ARENA: Arena = Arena::new();
        let used = || ARENA.used.load(Relaxed);
        let mut first = Block::new(&ARENA, 10, 1);
        first.resize(100);
        assert_eq!(used(), 112, "grown in place");
        let second = Block::new(&ARENA, 16, 2);
        first.resize(120);
        assert_eq!(used(), 112 + 16 + 128, "copied behind the second");
        second.free();
        assert_eq!(used(), 112 + 16 + 128, "not the last one");
        first.free();
        assert_eq!(used(), 112 + 16);
    }

    #[test]
    fn blocks_that_do_not_fit_come_from_the_general_purpose_allocator() {
        static ARENA: Arena = Arena::new();
        let mut large = Block::new(&ARENA, LARGE_FROM, 1);
        assert!(ARENA.is_large(large.pointer));
        let other = Block::new(&ARENA, LARGE_FROM, 2);
        assert!(!ARENA.owns(other.pointer), "the large region is taken");
        large.resize(LARGE_SIZE);
        assert!(ARENA.is_large(large.pointer));
        large.resize(LARGE_SIZE + 1);
        assert!(!ARENA.owns(large.pointer));
        let small: Vec<Block> = (0..=SIZE / MAX_BYTES)
            .map(|_| Block::new(&ARENA, MAX_BYTES, 3))
            .collect();
        let (last, fitting) = small.split_last().unwrap();
        assert!(!ARENA.owns(last.pointer), "the arena is full");
        assert!(fitting.iter().all(|block| ARENA.owns(block.pointer)));
        small.into_iter().chain([large, other]).for_each(Block::free);
    }

    #[test]
    fn blocks_of_several_threads_never_overlap() {
        static ARENA: Arena = Arena::new();
        for round in 0..100 {
            let (sender, receiver) = mpsc::channel();
            thread::scope(|scope| {
                for fill in 1..=4 {
                    let sender = sender.clone();
                    scope.spawn(move || {
                        let mut random = Random(round * 4 + u64::from(fill));
                        let mut blocks = Vec::new();
                        for _ in 0..300 {
                            let size = 1 + random.below(700);
                            match random.below(6) {
                                0..3 => blocks.push(Block::new(&ARENA, size, fill)),
                                3 => blocks
                                    .last_mut()
                                    .into_iter()
                                    .for_each(|last: &mut Block| last.resize(size)),
                                4 => blocks.pop().into_iter().for_each(Block::free),
                                _ => blocks
                                    .pop()
                                    .into_iter()
                                    .for_each(|last| sender.send(last).unwrap()),
                            }
                        }
                        blocks.into_iter().for_each(Block::free);
                    });
                }
                drop(sender);
                receiver.into_iter().for_each(Block::free);
            });
            assert!(ARENA.used.load(Relaxed) < SIZE, "a round fits into the arena");
            ARENA.used.store(0, Relaxed);
        }
    }

    struct Random(u64);

    impl Random {
        fn below(&mut self, limit: usize) -> usize {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(self.0 >> 33).unwrap() % limit
        }
    }
}
