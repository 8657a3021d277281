//! Mapping, touching, unmapping.

use crate::load::crew::Duty;
use memmap2::{Advice, MmapMut};

/// What is mapped at once where no size is given: a thousand faults for one map and one unmap.
pub(super) const SIZE: u64 = 4 << 20;

/// Maps pages, writes a byte to each and unmaps them, until it is told to stop. Counted are pages
/// touched: each is a fault, as huge pages are declined.
pub(super) fn work(duty: &Duty, size: usize, count: &dyn Fn(u64)) {
    let page = rustix::param::page_size();
    let mut touched = 0;
    while duty.goes_on() {
        let Ok(mut pages) = MmapMut::map_anon(size) else { return };
        // Kernels without huge pages do not know the word.
        let _ = pages.advise(Advice::NoHugePage);
        for first in pages.iter_mut().step_by(page) {
            *first = 1;
        }
        touched += size.div_ceil(page) as u64;
        count(touched);
    }
}
