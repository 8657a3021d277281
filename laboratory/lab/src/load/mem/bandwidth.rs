//! Copying over more memory than the caches hold.

use crate::load::amount::read_size;
use crate::load::crew::Duty;
use std::fs::read_to_string;
use std::hint::black_box;

/// What is copied between two looks at whether to end, and counted at once.
const CHUNK: usize = 1 << 20;

/// The last-level cache where the kernel does not tell it.
const CACHE_UNKNOWN: u64 = 16 << 20;

/// A buffer whose halves, one read and one written, are each twice as large as the last-level cache.
pub(super) fn usual_size() -> u64 {
    let indices =
        (0..8).map(|index| format!("/sys/devices/system/cpu/cpu0/cache/index{index}/size"));
    let sizes = indices.filter_map(|path| read_size(read_to_string(path).ok()?.trim()));
    4 * sizes.max().unwrap_or(CACHE_UNKNOWN).clamp(1 << 20, 1 << 30)
}

/// Copies one half of a buffer to the other until it is told to stop. Counted are bytes copied; the bus
/// moves at least twice as many.
pub(super) fn work(duty: &Duty, size: usize, count: &dyn Fn(u64)) {
    // Ones, not zeros: untouched zeros would all be one and the same page.
    let source = vec![1_u8; size / 2];
    let mut target = vec![2_u8; size / 2];
    let mut copied = 0;
    while duty.goes_on() {
        for (to, from) in target.chunks_mut(CHUNK).zip(source.chunks(CHUNK)) {
            if !duty.goes_on() {
                return;
            }
            to.copy_from_slice(black_box(from));
            black_box(&mut *to);
            copied += from.len() as u64;
            count(copied);
        }
    }
}
