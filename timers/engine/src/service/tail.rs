//! How much too early a thread asks to be woken, to spend the rest awake.

/// Learns how long after the time asked for a thread is back, and asks that much earlier.
///
/// The estimate goes up by a quarter of what it was too low, down by 1/32 of what it was too high, and
/// so settles near the upper end of the usual wakeups. It never exceeds its bound: where the thread is
/// late for other reasons, spinning would not help and cost more.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tail {
    ns: u64,
    max_ns: u64,
}

impl Tail {
    /// Nothing learnt yet; never more than `max_ns`.
    pub(super) fn new(max_ns: u64) -> Self {
        Self { ns: max_ns / 2, max_ns }
    }

    /// By how much to wake before the time.
    pub(super) fn ns(&self) -> u64 {
        self.ns
    }

    /// The thread came back `late_ns` after the time it had asked for.
    pub(super) fn learn(&mut self, late_ns: u64) {
        if late_ns > self.ns {
            self.ns = (self.ns + (late_ns - self.ns).div_ceil(4)).min(self.max_ns);
        } else {
            self.ns -= (self.ns - late_ns).div_ceil(32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_finds_the_usual_and_keeps_its_bound() {
        let mut tail = Tail::new(20_000);
        (0..1000).for_each(|_| tail.learn(4_000));
        assert_eq!(tail.ns(), 4_000);
        tail.learn(u64::MAX);
        assert_eq!(tail.ns(), 20_000);
        (0..10_000).for_each(|_| tail.learn(0));
        assert_eq!(tail.ns(), 0);
        let mut none = Tail::new(0);
        none.learn(1_000_000);
        assert_eq!(none.ns(), 0);
    }
}
