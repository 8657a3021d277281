//! Loads of a given length: time that a thread spends on its CPU.

use crate::clock::now_ns;
use rustix::io::Errno;
use rustix::thread::futex;
use std::sync::atomic::AtomicU32;
use tardy_stats::Latencies;

/// Loads of one length that are measured, at most.
const SAMPLES_MAX: u64 = 1_000;

/// At least.
const SAMPLES_MIN: u64 = 5;

/// How long the samples of one length may take together, unless that makes them fewer than
/// [`SAMPLES_MIN`].
const SAMPLES_NS: u64 = 100_000_000;

/// Calls of the kernel from which their cost is taken.
const CALLS: usize = 1_001;

/// A load whose real median is off by more than this share of what was asked for gets a note.
pub(super) const OFF_SHARE: f64 = 0.05;

/// Keeps the CPU busy until the clock shows more than `ns` after its first reading, which is returned.
/// Time that another thread takes meanwhile counts: a load is a time, not an amount of work. As
/// `do_load` in the program of "`ARMv7` futex latency spike" (linux-rt-users, 2015).
#[inline]
pub(super) fn busy_wait(ns: u64) -> u64 {
    busy_wait_with(ns, || ())
}

/// The same, with something else to do meanwhile, which is a part of the load and adds nothing to it
/// where it is shorter.
#[inline]
pub(super) fn busy_wait_with(ns: u64, work: impl FnOnce()) -> u64 {
    let begun_ns = now_ns();
    work();
    while now_ns() - begun_ns <= ns {}
    begun_ns
}

/// One load: what was asked for, and what it really is.
#[derive(Clone, Debug)]
pub struct LoadCheck {
    /// How long it was to be.
    pub asked_ns: u64,
    /// How long it waits by its own clock.
    pub wait_ns: u64,
    /// How long it really took, from its call to its return, less what reading the clock around it
    /// costs. Measured before the start, on High's CPU at High's priority.
    pub real: Latencies,
}

impl LoadCheck {
    /// Whether the median is off by more than a twentieth.
    pub fn is_off(&self) -> bool {
        is_off(self.asked_ns, self.real.quantile_ns(0.5))
    }
}

/// Makes a load of `asked_ns`, and measures it. `clock_ns` is what one reading of the clock costs.
pub(super) fn calibrate(asked_ns: u64, clock_ns: u64, shorten: bool) -> LoadCheck {
    let mut wait_ns = asked_ns;
    if shorten {
        wait_ns = shortened(asked_ns, measure(asked_ns, clock_ns).quantile_ns(0.5));
    }
    LoadCheck { asked_ns, wait_ns, real: measure(wait_ns, clock_ns) }
}

/// How long to wait by the clock, where a wait for `asked_ns` really takes `real_ns`. What it takes
/// longer does not depend on its length: it is the way in, the way out, and half a reading.
fn shortened(asked_ns: u64, real_ns: u64) -> u64 {
    asked_ns.saturating_sub(real_ns.saturating_sub(asked_ns))
}

fn is_off(asked_ns: u64, real_ns: u64) -> bool {
    real_ns.abs_diff(asked_ns) as f64 > asked_ns as f64 * OFF_SHARE
}

/// How many loads of a length are measured.
fn samples(ns: u64) -> u64 {
    (SAMPLES_NS / ns.max(1)).clamp(SAMPLES_MIN, SAMPLES_MAX)
}

fn measure(wait_ns: u64, clock_ns: u64) -> Latencies {
    let mut real = Latencies::default();
    for _ in 0..samples(wait_ns) {
        let before_ns = now_ns();
        busy_wait(wait_ns);
        // From the moment that the first reading shows to the one that the second shows lies, besides
        // the load, one reading.
        real.record((now_ns() - before_ns).saturating_sub(clock_ns));
    }
    real
}

/// What the cheapest futex call costs here: a wait for a value that is not there returns at once. With
/// one reading of the clock, as the time of a lock call has. A lock call that took less did not go to
/// the kernel.
pub(super) fn kernel_call_ns() -> u64 {
    let word = AtomicU32::new(1);
    let call = || {
        let before_ns = now_ns();
        let refused = futex::wait(&word, futex::Flags::PRIVATE, 0, None) == Err(Errno::AGAIN);
        (now_ns() - before_ns, refused)
    };
    (0..CALLS).map(|_| call()).filter(|(_, refused)| *refused).map(|(ns, _)| ns).min().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::cost_ns;

    #[test]
    fn a_load_is_shortened_by_what_it_took_too_long() {
        // (asked, really taken) -> wait
        for (asked_ns, real_ns, wait_ns) in [
            (1_001, 1_001, 1_001),
            (1_001, 1_061, 941),
            (1_001, 990, 1_001), // never too short by its own clock
            (50, 120, 0),
            (50, 80, 20),
            (0, 40, 0),
            (u64::MAX, u64::MAX, u64::MAX),
        ] {
            assert_eq!(shortened(asked_ns, real_ns), wait_ns, "{asked_ns} {real_ns}");
        }
    }

    #[test]
    fn a_twentieth_is_still_right() {
        assert!(!is_off(1_000, 1_050) && !is_off(1_000, 950));
        assert!(is_off(1_000, 1_051) && is_off(1_000, 949) && is_off(1, 40));
    }

    #[test]
    fn long_loads_are_measured_less_often() {
        let told = [0, 1_001, 1_000_000, 20_000_000, u64::MAX].map(samples);
        assert_eq!(told, [1_000, 1_000, 100, 5, 5]);
    }

    #[test]
    fn a_load_is_never_shorter_than_its_wait() {
        let clock_ns = cost_ns(now_ns);
        let check = calibrate(20_000, clock_ns, true);
        assert!(check.wait_ns <= check.asked_ns);
        // Less two readings, as what one costs is a median.
        assert!(check.real.min_ns() + 2 * clock_ns >= check.wait_ns, "{check:?} {clock_ns}");
        let before_ns = now_ns();
        let begun_ns = busy_wait(1_000);
        assert!(begun_ns >= before_ns && now_ns() > begun_ns + 1_000);
    }
}
