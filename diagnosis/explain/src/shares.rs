//! What of one lateness each cause took: told of every wakeup, whether anybody looks at its segments or not.

use crate::bits::bits;
use crate::cause::UNEXPLAINED_AT;

/// What each cause took of one lateness, by its place in the registry.
#[derive(Debug, Default)]
pub(crate) struct Shares {
    ns: [u64; UNEXPLAINED_AT + 1],
    /// Those that took some, a bit each.
    pub(crate) has: u32,
}

impl Shares {
    pub(crate) fn clear(&mut self) {
        bits(self.has).for_each(|at| self.ns[at] = 0);
        self.has = 0;
    }

    #[inline]
    pub(crate) fn add(&mut self, at: u8, ns: u64) {
        self.ns[usize::from(at)] += ns;
        self.has |= 1 << at;
    }

    /// What they took together.
    pub(crate) fn sum_ns(&self) -> u64 {
        self.each().map(|(_, ns)| ns).sum()
    }

    /// The causes that took some, and how much.
    #[inline]
    pub(crate) fn each(&self) -> impl Iterator<Item = (usize, u64)> {
        bits(self.has).map(|at| (at, self.ns[at]))
    }
}
