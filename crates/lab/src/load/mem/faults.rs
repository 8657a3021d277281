//! Mapping, touching, unmapping.

use crate::load::board::Board;
use crate::load::team::Member;
use memmap2::{Advice, MmapMut};

/// What is mapped at once where no size is given: a thousand faults for one map and one unmap.
pub(super) const SIZE: u64 = 4 << 20;

/// Maps pages, writes a byte to each and unmaps them, until the team ends. Counted are pages
/// touched: each is a fault, as huge pages are declined.
pub(super) fn work(member: &Member<1>, size: usize, board: &Board) {
    let page = rustix::param::page_size();
    let mut touched = 0;
    while !member.is_over() {
        let Ok(mut pages) = MmapMut::map_anon(size) else { return };
        // Kernels without huge pages do not know the word.
        let _ = pages.advise(Advice::NoHugePage);
        for first in pages.iter_mut().step_by(page) {
            *first = 1;
        }
        touched += size.div_ceil(page) as u64;
        board.set(member.index, touched);
    }
}
