//! Memory for SQLite, where the system's allocator is slow.
//!
//! Musl maps and unmaps pages at every turn: that was a tenth of what the start of a session takes. The binary has an
//! allocator made to last instead, and SQLite gets its memory there too.

#![expect(unsafe_code, reason = "an allocator cannot be written without it")]

use std::{
    alloc::{GlobalAlloc, Layout},
    ffi::{c_int, c_void},
    ptr,
    sync::Once,
};

use dlmalloc::GlobalDlmalloc;
use rusqlite::ffi::{SQLITE_CONFIG_MALLOC, SQLITE_OK, sqlite3_config, sqlite3_mem_methods};

/// Room in front of each piece for its size, which SQLite asks for. All that SQLite stores is content with its alignment.
const HEAD: usize = 16;

/// Has SQLite take its memory from here; to be called before anything else of SQLite.
pub(crate) fn prepare() {
    static PREPARED: Once = Once::new();
    PREPARED.call_once(|| {
        let methods = sqlite3_mem_methods {
            xMalloc: Some(allocate),
            xFree: Some(free),
            xRealloc: Some(reallocate),
            xSize: Some(size),
            xRoundup: Some(round_up),
            xInit: Some(begin),
            xShutdown: Some(end),
            pAppData: ptr::null_mut(),
        };
        // SAFETY: SQLite copies the table, and its functions are there for good. Once SQLite is in use it refuses: then it
        // keeps the system's allocator.
        unsafe { sqlite3_config(SQLITE_CONFIG_MALLOC, &raw const methods) };
    });
}

fn layout(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(bytes.checked_add(HEAD)?, HEAD).ok()
}

unsafe extern "C" fn allocate(bytes: c_int) -> *mut c_void {
    // SAFETY: nothing is a piece as well.
    unsafe { reallocate(ptr::null_mut(), bytes) }
}

unsafe extern "C" fn reallocate(piece: *mut c_void, bytes: c_int) -> *mut c_void {
    let Some((layout, bytes)) = usize::try_from(bytes)
        .ok()
        .and_then(|bytes| Some((layout(bytes)?, bytes)))
    else {
        return ptr::null_mut();
    };
    // SAFETY: a piece that SQLite hands in came from here, with its head in front and of the size that the head says; a new
    // one has room for the head, and 16 bytes are aligned to hold a number.
    unsafe {
        let start = match old(piece) {
            Some((start, old)) => GlobalDlmalloc.realloc(start, old, layout.size()),
            None => GlobalDlmalloc.alloc(layout),
        };
        if start.is_null() {
            return ptr::null_mut();
        }
        start.cast::<usize>().write(bytes);
        start.add(HEAD).cast()
    }
}

unsafe extern "C" fn free(piece: *mut c_void) {
    // SAFETY: as in `reallocate`; SQLite does not use it any more.
    unsafe {
        if let Some((start, layout)) = old(piece) {
            GlobalDlmalloc.dealloc(start, layout);
        }
    }
}

unsafe extern "C" fn size(piece: *mut c_void) -> c_int {
    // SAFETY: as in `reallocate`.
    let size = unsafe { old(piece) }.map_or(0, |(_, layout)| layout.size() - HEAD);
    c_int::try_from(size).unwrap_or(c_int::MAX)
}

/// Where a piece really starts, and how it was asked for.
///
/// # Safety
/// The piece is null or came from `reallocate`.
unsafe fn old(piece: *mut c_void) -> Option<(*mut u8, Layout)> {
    if piece.is_null() {
        return None;
    }
    // SAFETY: the caller's promise: there is a head in front of it.
    unsafe {
        let start = piece.cast::<u8>().sub(HEAD);
        Some((start, layout(start.cast::<usize>().read())?))
    }
}

unsafe extern "C" fn round_up(bytes: c_int) -> c_int {
    bytes.saturating_add(7) & !7
}

unsafe extern "C" fn begin(_: *mut c_void) -> c_int {
    SQLITE_OK
}

unsafe extern "C" fn end(_: *mut c_void) {}
