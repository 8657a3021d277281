//! How far the clocks of CPUs are apart.
//!
//! A task cannot run before it is woken. Where a trace shows it (each CPU stamps its events by its own
//! clock), the clocks of the two are apart by at least that much.

use tardy_model::CpuId;

/// The largest difference seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skew {
    /// At least this much, in nanoseconds; 0 where none was seen.
    pub ns: u64,
    /// The CPU that woke, and the CPU that ran first.
    pub cpus: (CpuId, CpuId),
    /// How often a task ran before it was woken.
    pub times: u64,
}

impl Skew {
    /// A task that `waker` woke at one time had run on `target` at an earlier one.
    pub fn saw(&mut self, waker: CpuId, target: CpuId, ns: u64) {
        self.times += 1;
        if ns > self.ns {
            (self.ns, self.cpus) = (ns, (waker, target));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_difference_counts_with_its_cpus() {
        let mut skew = Skew::default();
        for (waker, ns) in [(1, 300), (2, 500), (3, 400)] {
            skew.saw(CpuId(waker), CpuId(0), ns);
        }
        assert_eq!(skew, Skew { ns: 500, cpus: (CpuId(2), CpuId(0)), times: 3 });
    }
}
