//! Low-resolution mode (`highres=off`, or no device for more): high-resolution timers fire with the tick alone.
//!
//! In high-resolution mode the tick is such a timer itself. In a stream that shows timers and never the tick's, it
//! is the timer's interrupts that tell: they come in steps of one period, whenever timers are due. So they do where one
//! thread sleeps for a period again and again and is alone on its CPU. But each of those has that thread's timer
//! expire, as late as the CPU takes to come out of idle; of ticks most have nothing expire, or timers wait for them
//! for longer, or now more and now less.

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

/// Interrupts that must have had nothing expire, or timers that must have waited for theirs.
const TICKS_MIN: usize = 3;

/// Few idle states take longer to leave (`intel_idle.c` has 10 ms for the deepest of some Atoms).
const EXIT_NS_MAX: u64 = 3_000_000;

/// What comes within this time after another expiry is of the same round.
const ROUND_NS_MAX: u64 = 100_000;

/// Rounds in which timers expire, the last ones.
#[derive(Debug, Default)]
pub(super) struct ExpiryRounds {
    begins: VecDeque<u64>,
    /// How long the first timer of each waited for it.
    waited_ns: VecDeque<u64>,
    last_ns: u64,
    /// Of the last interrupts of the timer, a bit each, the last one lowest: whether a timer expired in it.
    expired: u32,
}

impl ExpiryRounds {
    /// An interrupt of the timer begins.
    pub(super) fn interrupt(&mut self) {
        self.expired <<= 1;
    }

    /// A timer expires that must have by `hard_ns`, in an interrupt that began at `begin_ns` or in one that is not seen.
    pub(super) fn expires(&mut self, time_ns: u64, begin_ns: u64, hard_ns: u64) {
        let goes_on = time_ns.saturating_sub(self.last_ns) <= ROUND_NS_MAX;
        self.last_ns = time_ns;
        self.expired |= 1;
        if goes_on {
            return;
        }
        if self.begins.len() == SEEN_MAX {
            self.begins.pop_front();
            self.waited_ns.pop_front();
        }
        self.begins.push_back(begin_ns);
        self.waited_ns.push_back(begin_ns.saturating_sub(hard_ns));
    }

    /// As [`tick_of`], of the timer's interrupts where those are seen, if it is ticks that come in these steps.
    pub(super) fn tick_of(&self, interrupts: &VecDeque<u64>, from_ns: u64) -> Option<u64> {
        let before = interrupts.len().min(SEEN_MAX).saturating_sub(1);
        let expired = self.expired >> 1 & ((1 << before) - 1);
        let are_ticks = before - expired.count_ones() as usize >= TICKS_MIN || self.wait();
        let entries = if interrupts.is_empty() { &self.begins } else { interrupts };
        tick_of(entries, from_ns).filter(|_| are_ticks)
    }

    /// Whether timers have waited again and again, and not for an idle CPU alone.
    fn wait(&self) -> bool {
        let pairs = self.begins.iter().zip(self.begins.iter().skip(1));
        let Some(gap_ns) = pairs.map(|(one, next)| next.saturating_sub(*one)).min() else {
            return false;
        };
        let waited = || self.waited_ns.iter().copied().filter(|ns| *ns > gap_ns / PART);
        let (shortest_ns, longest_ns) = (waited().min().unwrap_or(0), waited().max().unwrap_or(0));
        let differ = longest_ns - shortest_ns > gap_ns / PART;
        waited().count() >= TICKS_MIN && (differ || shortest_ns > EXIT_NS_MAX)
    }
}

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
    fn rounds_of_expiries_tell_it_where_timers_wait_for_them() {
        let tick_of = |waited_ms: &[u64]| {
            let mut rounds = ExpiryRounds::default();
            for (at, waited_ms) in (1u64..).zip(waited_ms) {
                let begin_ns = 4 * at * MS;
                rounds.expires(begin_ns, begin_ns, begin_ns - waited_ms * MS);
                rounds.expires(begin_ns + 2_000, begin_ns + 2_000, begin_ns);
            }
            rounds.tick_of(&VecDeque::new(), 17 * MS)
        };
        assert_eq!(tick_of(&[1, 3, 0, 2, 3]), Some(20 * MS));
        assert_eq!(tick_of(&[1, 1, 1, 1, 1]), None, "as an idle CPU has one thread wait each time");
        assert_eq!(tick_of(&[0, 0, 0, 0, 3]), None, "timers come in time: one does not, by chance");
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
