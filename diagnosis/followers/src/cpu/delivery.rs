//! How long the timer's interrupt takes to come although nobody keeps it off.
//!
//! The clock-event device has a resolution and a way to the CPU, and in a guest the hypervisor is on that way:
//! 1 µs or 8 µs of each lateness are nobody's who happens to run then. How much that is shows in what all
//! interrupts of the timer have in common that find the CPU awake.

/// Interrupts that must have been seen before anything is said: a quarter of fewer is chance.
const SEEN_MIN: u32 = 64;

/// One in so many interrupts comes as soon as that. Less than most, so that a task that really keeps interrupts
/// off, for up to three quarters of the time, does not pass for the device.
const ONE_IN: u32 = 4;

/// Each power of two is divided into `1 << FRACTION_BITS` bins: figures are at most 1/16 too low.
const FRACTION_BITS: u32 = 4;
const BINS: usize = (64 - FRACTION_BITS as usize + 1) << FRACTION_BITS;

/// What was seen of one CPU.
#[derive(Debug, Default)]
pub(super) struct Deliveries {
    /// Interrupts by how long after their timer's expiry they came; empty until the first.
    bins: Vec<u32>,
    seen: u32,
    /// The bin in which the quarter lies, and how many lie below it.
    at: usize,
    below: u32,
}

impl Deliveries {
    /// An interrupt came so long after the timer's expiry for which it was programmed.
    pub(super) fn saw(&mut self, ns: u64) {
        if self.bins.is_empty() {
            self.bins.resize(BINS, 0);
        }
        let bin = bin_of(ns);
        let (Some(seen), Some(count)) = (self.seen.checked_add(1), self.bins.get_mut(bin)) else {
            return;
        };
        (self.seen, *count) = (seen, *count + 1);
        self.below += u32::from(bin < self.at);
        let wanted = seen / ONE_IN;
        while self.below > wanted {
            self.at -= 1;
            self.below -= self.bins[self.at];
        }
        while self.below + self.bins[self.at] <= wanted {
            self.below += self.bins[self.at];
            self.at += 1;
        }
    }

    /// How long one takes at least to come, in nanoseconds; 0 while that is not known.
    pub(super) fn floor_ns(&self) -> u64 {
        if self.seen < SEEN_MIN { 0 } else { least_of(self.at) }
    }
}

/// The bin of a duration.
fn bin_of(ns: u64) -> usize {
    let shift = (u64::BITS - ns.leading_zeros()).saturating_sub(FRACTION_BITS + 1);
    ((shift as usize) << FRACTION_BITS) + (ns >> shift) as usize
}

/// The least duration of a bin.
fn least_of(bin: usize) -> u64 {
    let shift = (bin >> FRACTION_BITS).saturating_sub(1);
    ((bin - (shift << FRACTION_BITS)) as u64) << shift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_lies_in_its_bin() {
        let each = (0..10_000).chain((0..64).map(|bit| 1 << bit)).chain([u64::MAX]);
        for ns in each {
            let least = least_of(bin_of(ns));
            assert!(least <= ns && ns - least <= ns / 16, "{ns}: {least}");
            assert_eq!(bin_of(least), bin_of(ns));
        }
        assert!(bin_of(u64::MAX) < BINS);
    }

    #[test]
    fn what_a_quarter_comes_within_is_the_floor() {
        let mut deliveries = Deliveries::default();
        let mut all = Vec::new();
        // A device of 6.4 to 8.9 µs, and a task that keeps interrupts off for up to 300 µs every third time.
        for number in 0..1000u64 {
            let device_ns = 6_400 + number * 7_919 % 2_500;
            let off_ns = if number % 3 == 0 { number * 104_729 % 300_000 } else { 0 };
            all.push(device_ns.max(off_ns));
            deliveries.saw(device_ns.max(off_ns));
            all.sort_unstable();
            let quarter = all[all.len() / 4];
            let known = all.len() >= SEEN_MIN as usize;
            assert_eq!(deliveries.floor_ns(), if known { least_of(bin_of(quarter)) } else { 0 });
        }
        assert!((6_400..8_000).contains(&deliveries.floor_ns()));
    }
}
