//! What is counted of the timers of one row.

use super::slack::Slacks;

/// What is counted of the timers of one row. Sums stop at the end of `u64`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Armings, moves among them.
    pub armed: u64,
    /// Armings that ended because the timer was armed again while it waited.
    pub moved: u64,
    /// Armings that ended by a cancel, and were not moved.
    pub cancelled: u64,
    /// Armings that ended by their expiry.
    pub expired: u64,
    /// Armings of which it is known whether they programmed a clock-event device: of high-resolution
    /// timers, on CPUs whose device is followed.
    pub followed: u64,
    /// Of those followed, the ones for which the device was programmed at once.
    pub programmed: u64,
    /// How often a device was programmed for these timers in all: when they were armed, moved or
    /// cancelled, and at the end of interrupts that they were the first to expire in.
    pub programmings: u64,
    /// Lateness of other threads in which these timers are the culprit, in nanoseconds.
    pub inflicted_ns: u64,
    /// With which slack they were armed.
    pub slacks: Slacks,
}

impl Counts {
    /// The share of armings that ended by a cancel, 0–1; `None` where none has ended.
    pub fn cancelled_share(&self) -> Option<f64> {
        share(self.cancelled, self.cancelled + self.moved + self.expired)
    }

    /// The share of armings for which the device was programmed at once, 0–1; `None` where none was
    /// followed.
    pub fn programmed_share(&self) -> Option<f64> {
        share(self.programmed, self.followed)
    }

    /// Adds those of another row.
    pub fn add(&mut self, other: &Self) {
        self.each(other, u64::saturating_add);
        self.slacks.merge(&other.slacks);
    }

    /// What has come since `earlier`, an older state of the same row. A cancel counts until it shows to
    /// be the first half of a move or an expiry; where that was between the two, it is left out rather
    /// than counted below zero. Slacks are those of all.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut later = self.clone();
        later.each(earlier, u64::saturating_sub);
        later
    }

    fn each(&mut self, other: &Self, change: impl Fn(u64, u64) -> u64) {
        let Self { armed, moved, cancelled, expired, followed, programmed, .. } = self;
        for (mine, theirs) in [
            (armed, other.armed),
            (moved, other.moved),
            (cancelled, other.cancelled),
            (expired, other.expired),
            (followed, other.followed),
            (programmed, other.programmed),
            (&mut self.programmings, other.programmings),
            (&mut self.inflicted_ns, other.inflicted_ns),
        ] {
            *mine = change(*mine, theirs);
        }
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        let Self { armed, moved, cancelled, expired, programmings, inflicted_ns, .. } = self;
        [armed, moved, cancelled, expired, programmings, inflicted_ns].iter().all(|n| **n == 0)
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
