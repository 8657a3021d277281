//! Low-resolution mode (`highres=off`, or no device for more): high-resolution timers fire with the tick alone.
//!
//! In high-resolution mode the tick is such a timer itself. In a stream that shows timers and never the tick's, it
//! is the timer's interrupts that tell: they come in steps of one period, whenever timers are due.

use std::collections::VecDeque;

/// Interrupts that are looked at, the last ones.
const SEEN_MAX: usize = 9;
const SEEN_MIN: usize = 5;

/// No kernel ticks more often, or less.
const PERIOD_NS_MIN: u64 = 800_000;
const PERIOD_NS_MAX: u64 = 100_000_000;

/// Steps differ by no more than this part of the period; and a timer that its interrupt follows as closely may
/// have called for it.
const PART: u64 = 16;

/// When the tick was due with which a timer fires in the last of these interrupts, if they come in steps: the first
/// that was not before the timer's time, `from_ns`.
pub(super) fn tick_of(entries: &VecDeque<u64>, from_ns: u64) -> Option<u64> {
    let first_at = entries.len().saturating_sub(SEEN_MAX);
    if entries.len() < SEEN_MIN {
        return None;
    }
    let (first_ns, last_ns) = (entries[first_at], entries[entries.len() - 1]);
    let before_ns = entries[entries.len() - 2];
    let pairs = || entries.range(first_at..).zip(entries.range(first_at + 1..));
    let gaps = || pairs().map(|(one_ns, next_ns)| next_ns.saturating_sub(*one_ns));
    // The last one may be the late one, or none of the tick's.
    let before = || gaps().take(entries.len() - first_at - 2);
    let shortest_ns = before().min().filter(|ns| (PERIOD_NS_MIN..=PERIOD_NS_MAX).contains(ns))?;
    let periods = |ns: u64| (ns + shortest_ns / 2) / shortest_ns;
    let count: u64 = before().map(periods).sum();
    let period_ns = (before_ns - first_ns) / count;
    let is_step = |gap_ns: u64| gap_ns.abs_diff(periods(gap_ns) * period_ns) <= period_ns / PART;
    let fires_too_late = before_ns >= from_ns;
    let is_close = last_ns.saturating_sub(from_ns) <= period_ns / PART;
    if !gaps().all(is_step) || fires_too_late || is_close {
        return None;
    }
    // The one that came soonest after it was due tells when the others were.
    let mut due_ns = first_ns;
    for (at, gap_ns) in gaps().enumerate() {
        due_ns = (due_ns + periods(gap_ns) * period_ns).min(entries[first_at + at + 1]);
    }
    let earlier = due_ns.saturating_sub(from_ns) / period_ns;
    Some((due_ns - earlier * period_ns).max(from_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn ticks(late_us: &[u64]) -> VecDeque<u64> {
        (1u64..).zip(late_us).map(|(at, us)| at * 4 * MS + us * 1000).collect()
    }

    #[test]
    fn a_timer_waits_for_its_tick_and_then_for_what_keeps_that_off() {
        let entries = ticks(&[3, 2, 5, 3, 80]);
        assert_eq!(tick_of(&entries, 17 * MS), Some(20 * MS + 2_000));
        let idle = VecDeque::from([4 * MS, 8 * MS, 20 * MS, 24 * MS, 44 * MS]);
        assert_eq!(tick_of(&idle, 41 * MS), Some(44 * MS), "ticks are left out while it idles");
        let late = VecDeque::from([4 * MS, 8 * MS, 12 * MS, 16 * MS, 24 * MS]);
        assert_eq!(tick_of(&late, 17 * MS), Some(20 * MS), "one was kept off");
    }

    #[test]
    fn interrupts_that_come_when_timers_are_due_are_no_ticks() {
        assert_eq!(tick_of(&ticks(&[3, 2, 5, 3]), 13 * MS), None, "too few");
        let mut entries = ticks(&[3, 2, 5, 3, 2]);
        entries.push_back(21_300_000);
        assert_eq!(tick_of(&entries, 21 * MS), None, "between ticks");
        assert_eq!(tick_of(&ticks(&[3, 2, 5, 3, 2]), 20 * MS - 100_000), None, "at its time");
        assert_eq!(tick_of(&ticks(&[3, 2, 5, 3, 2]), 15 * MS), None, "the tick before would have");
    }
}
