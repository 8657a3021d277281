//! What was measured on a CPU since it was last known what a hypervisor had stolen from it: that is told after the
//! fact, and what was stolen is nobody's work.

use super::cold::Cold;
use super::costs::Measured;

/// As many are kept; the oldest are taken for what they seemed.
const KEPT_MAX: usize = 1 << 12;

/// What a stretch of time was taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum As {
    Work(Measured),
    /// A thread ran, by its place.
    Run(u32),
    /// An interrupt's handler, by its place among the arrivals.
    Interrupt(usize),
    /// The softirq that it left.
    Softirq(usize),
}

/// A stretch of time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
    pub(super) taken: As,
    /// How the CPU had slept before.
    pub(super) cold: Cold,
}

impl Stretch {
    /// So much of it lies there.
    pub(super) fn within_ns(&self, from_ns: u64, to_ns: u64) -> u64 {
        self.to_ns.min(to_ns).saturating_sub(self.from_ns.max(from_ns))
    }
}

/// Those of one CPU, in the order in which they ended.
#[derive(Debug, Default)]
pub(super) struct Recent {
    stretches: Vec<Stretch>,
}

impl Recent {
    /// One more. Yields the older half where there are too many.
    #[must_use]
    pub(super) fn add(&mut self, stretch: Stretch) -> Vec<Stretch> {
        if let (Some(last), As::Run(_)) = (self.stretches.last_mut(), stretch.taken)
            && last.taken == stretch.taken
            && last.to_ns == stretch.from_ns
        {
            last.to_ns = stretch.to_ns;
            return Vec::new();
        }
        self.stretches.push(stretch);
        if self.stretches.len() < KEPT_MAX {
            return Vec::new();
        }
        self.stretches.drain(..KEPT_MAX / 2).collect()
    }

    /// Keeps those that can be what they were taken for.
    pub(super) fn retain(&mut self, can_be: impl FnMut(&Stretch) -> bool) {
        self.stretches.retain(can_be);
    }

    /// What ended later than a time is not known any more.
    pub(super) fn forget(&mut self, from_ns: u64) {
        self.stretches.retain(|stretch| stretch.to_ns <= from_ns);
    }

    /// It is known up to a time: they are what remains of that.
    pub(super) fn drain(&mut self, told_ns: u64) -> Vec<Stretch> {
        self.stretches.extract_if(.., |stretch| stretch.to_ns <= told_ns).collect()
    }
}
