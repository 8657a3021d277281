//! How often something is done, where a load has a rate.

use super::crew::Duty;
use crate::clock::{now_ns, sleep_until};
use std::io;

/// Whoever has a rate wakes at most so often and does all that is due: its own timer is not to be
/// the load.
const BURST_NS: f64 = 1e6;

/// Who falls behind by more starts anew: to catch up would be another load.
const BEHIND_NS: f64 = 1e8;

/// When how many are due.
pub(super) struct Pacer {
    /// Between two; 0 where there is no bound.
    every_ns: f64,
    start_ns: u64,
    done: u64,
}

impl Pacer {
    /// 0 is no bound: one is always due.
    pub(super) fn new(per_second: f64) -> Self {
        let every_ns = if per_second > 0.0 { 1e9 / per_second } else { 0.0 };
        Self { every_ns, start_ns: now_ns(), done: 0 }
    }

    /// Waits until something is due, and says how much.
    pub(super) fn wait(&mut self) -> u64 {
        if self.every_ns <= 0.0 {
            return 1;
        }
        let due_ns = (self.done + 1) as f64 * self.every_ns;
        let wake_ns = due_ns.max(self.since() + BURST_NS.min(self.every_ns));
        // In steps: whoever is told to stop is to end soon.
        let _ = sleep_until(self.start_ns + wake_ns.min(self.since() + BEHIND_NS) as u64);
        self.due(self.since())
    }

    fn since(&self) -> f64 {
        now_ns().saturating_sub(self.start_ns) as f64
    }

    /// How many more are due `since_ns` after the start.
    fn due(&mut self, since_ns: f64) -> u64 {
        let behind_ns = since_ns - self.done as f64 * self.every_ns;
        if behind_ns > BEHIND_NS.max(2.0 * self.every_ns) {
            *self = Self { start_ns: self.start_ns + since_ns as u64, done: 0, ..*self };
            return 0;
        }
        let due = (behind_ns.max(0.0) / self.every_ns) as u64;
        self.done += due;
        due
    }
}

/// Does and counts `act` so often until `duty` is over; 0 is as fast as it goes.
pub(super) fn at_rate(
    per_second: f64,
    duty: &Duty,
    mut act: impl FnMut() -> io::Result<()>,
) -> io::Result<()> {
    let mut pacer = Pacer::new(per_second);
    while duty.goes_on() {
        for _ in 0..pacer.wait() {
            act()?;
            duty.did(1);
            if !duty.goes_on() {
                break;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_much_is_due_as_the_rate_says_and_nothing_is_caught_up_with() {
        let mut pacer = Pacer { every_ns: 2.5e6, start_ns: 0, done: 0 };
        for (at_ns, due) in [(2.4e6, 0), (2.6e6, 1), (10.1e6, 3), (10.2e6, 0), (12.6e6, 1)] {
            assert_eq!(pacer.due(at_ns), due, "at {at_ns} ns");
        }
        assert_eq!(pacer.due(500e6), 0, "half a second late");
        assert_eq!((pacer.start_ns, pacer.done), (500_000_000, 0));
        assert_eq!(pacer.due(2.6e6), 1);
    }

    #[test]
    fn one_a_second_is_not_always_too_late() {
        let mut pacer = Pacer { every_ns: 1e9, start_ns: 0, done: 0 };
        assert_eq!(pacer.due(0.9e9), 0);
        assert_eq!(pacer.due(1.1e9), 1);
        assert_eq!(pacer.due(2.1e9), 1);
    }
}
