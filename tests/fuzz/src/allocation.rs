//! An allocator that counts, and ends the process where an input makes the engine take too much.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering};

/// The bytes that any input may cost, however short it is.
const BASE_BYTES: usize = 16 << 20;

/// What an input may cost for each of its bytes.
const BYTES_PER_BYTE: usize = 4;

/// No bound at all.
const UNBOUNDED: isize = isize::MAX;

static LIVE: AtomicIsize = AtomicIsize::new(0);
static BOUND: AtomicIsize = AtomicIsize::new(UNBOUNDED);

/// The system's allocator, counted. A target makes it the global one.
pub struct Counting;

// SAFETY: Every call is handed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: The caller's promises are the ones that are asked for here.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: The caller's promises are the ones that are asked for here.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: The caller's promises are the ones that are asked for here.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        take(size);
        LIVE.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: The caller's promises are the ones that are asked for here.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// Runs `work` on an input of that many bytes; the process ends where `work` holds more memory at
/// any moment than an input of that length may cost.
pub fn bounded<T>(input_bytes: usize, work: impl FnOnce() -> T) -> T {
    bounded_by(BASE_BYTES + BYTES_PER_BYTE * input_bytes, work)
}

/// Runs `work`, which may hold `bytes` of memory beside what is held already.
pub fn bounded_by<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let live = LIVE.load(Ordering::Relaxed);
    BOUND.store(live.saturating_add_unsigned(bytes), Ordering::Relaxed);
    let done = work();
    BOUND.store(UNBOUNDED, Ordering::Relaxed);
    done
}

fn take(size: usize) {
    let live = LIVE
        .fetch_add(size as isize, Ordering::Relaxed)
        .saturating_add_unsigned(size);
    let bound = BOUND.load(Ordering::Relaxed);
    // The backtrace of a panic reads all symbols, which is not the engine's doing.
    if live > bound && !std::thread::panicking() {
        // Telling of it must not end here again.
        BOUND.store(UNBOUNDED, Ordering::Relaxed);
        eprintln!("memory: {size} bytes more make {live}, and {bound} are allowed");
        std::process::abort();
    }
}
