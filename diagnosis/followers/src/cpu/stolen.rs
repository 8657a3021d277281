//! Where the time was that a hypervisor took from a CPU: a stream tells how much, after the fact.
//!
//! A CPU that is stopped tells nothing, so its time went in a *silence*, between two events of that CPU. Which
//! one, and which part of it, follows from what ended the silence:
//!
//! - an interrupt that was due before: the CPU would have taken it in time had it run. That places what was stolen
//!   only as far as the interrupt was late: one that came in time says of a theft that it was over by then;
//! - any event of a CPU that slept: it can be stopped only from when something has woken it;
//! - anything else: then it was somewhere within. It is put at the end, and told to be unsure unless it fills
//!   most of the silence.

use tardy_model::TaskId;

/// What is shorter is no silence: so much lies between two events of a CPU that runs.
const SILENCE_NS_MIN: u64 = 5_000;

/// What is shorter of a wakeup's time is not worth waiting for.
const AWAITED_NS_MIN: u64 = 20_000;

/// A waking has chosen a CPU within this time; who moves later is moved by the balancing of CPUs.
const CHOSEN_NS_MAX: u64 = 50_000;

/// Silences of a CPU that are kept, the longest.
const SILENCES_MAX: usize = 64;

/// An interrupt's lateness below this part of what was stolen is the machine's usual one.
const LATE_SHARE: u64 = 8;

/// What a hypervisor took from a CPU, all together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StolenTime {
    /// Nanoseconds, as the stream told.
    pub ns: u64,
    /// Of that, what was somewhere in a silence and stands at its end.
    pub unsure_ns: u64,
    /// Of that, what no silence had room for: it stands nowhere.
    pub unplaced_ns: u64,
}

/// A stretch without events.
#[derive(Clone, Copy, Debug)]
struct Silence {
    from_ns: u64,
    to_ns: u64,
    /// By how much the interrupt was late that ended it.
    late_ns: u64,
    slept: bool,
    /// A reading has come since that did not tell of it: what lies after that has the first claim to what is told next.
    is_older: bool,
}

impl Silence {
    const fn ns(&self) -> u64 {
        self.to_ns - self.from_ns
    }

    /// Whether so much that was stolen in it is known to have been at its end.
    const fn ends_with(&self, stolen_ns: u64) -> bool {
        self.slept || self.late_ns.saturating_mul(2) >= stolen_ns
    }
}

/// The silences of a CPU since it was last told what had been stolen.
#[derive(Debug, Default)]
pub(super) struct Silences {
    silences: Vec<Silence>,
    /// When another CPU last sent an interrupt here, as far as is known, that has not been taken.
    sent_ns: Option<u64>,
    /// The tick has run in the interrupt that runs.
    ticked: bool,
    /// That interrupt is over: what was stolen before is told next, or nothing was.
    is_asked: bool,
    /// When a task was last woken for the CPU, whose queue's clock that moved, and before; and which task.
    woken_ns: (u64, u64),
    woken: TaskId,
    /// Up to when the last switch has told, where it did not tell all.
    told_ns: Option<u64>,
}

impl Silences {
    /// An event comes after the last one of the CPU, and tells what was stolen or not; `slept` is asked whether the
    /// CPU did in between.
    #[inline]
    pub(super) fn event(
        &mut self,
        last_ns: u64,
        time_ns: u64,
        steals: bool,
        slept: impl FnOnce() -> bool,
    ) {
        if self.is_asked && !steals {
            self.asked();
        }
        if last_ns != 0 && time_ns.saturating_sub(last_ns) >= SILENCE_NS_MIN {
            self.falls_silent(last_ns, time_ns, slept());
        }
    }

    /// Whether an event after the last one of the CPU has anything to say here.
    #[inline]
    pub(super) fn minds(&self, last_ns: u64, time_ns: u64) -> bool {
        self.is_asked || time_ns.saturating_sub(last_ns) >= SILENCE_NS_MIN
    }

    fn falls_silent(&mut self, from_ns: u64, to_ns: u64, slept: bool) {
        let silence = Silence { from_ns, to_ns, late_ns: 0, slept, is_older: false };
        if self.silences.len() < SILENCES_MAX {
            self.silences.push(silence);
        } else if let Some(shortest) = self.silences.iter_mut().min_by_key(|known| known.ns())
            && shortest.ns() < silence.ns()
        {
            *shortest = silence;
        }
    }

    /// What was stolen is known up to now.
    pub(super) fn asked(&mut self) {
        self.asked_up_to(u64::MAX);
    }

    /// What was stolen is known up to a time: only what lies later can have been stolen without being told.
    pub(super) fn asked_up_to(&mut self, known_ns: u64) {
        (self.is_asked, self.ticked, self.sent_ns) = (false, false, None);
        self.silences.retain_mut(|silence| {
            silence.from_ns = silence.from_ns.max(known_ns);
            let left_ns = silence.to_ns.saturating_sub(silence.from_ns);
            silence.late_ns = silence.late_ns.min(left_ns);
            silence.is_older = true;
            left_ns >= SILENCE_NS_MIN
        });
    }

    /// A task is woken for the CPU, as far as is known.
    pub(super) fn has_woken(&mut self, time_ns: u64, task: TaskId) {
        (self.woken_ns, self.woken) = ((time_ns, self.woken_ns.0), task);
    }

    /// It comes into another CPU's queue, if it was the last: whether it was.
    pub(super) fn was_not_woken(&mut self, time_ns: u64, task: TaskId) -> bool {
        let is_now = time_ns.saturating_sub(self.woken_ns.0) <= CHOSEN_NS_MAX;
        let is_it = self.woken == task && task != TaskId::IDLE && is_now;
        if is_it {
            (self.woken_ns.0, self.woken) = (self.woken_ns.1, TaskId::IDLE);
        }
        is_it
    }

    /// A switch comes, to a task that `preempts` the one that ran since `switched_ns`. What was stolen is read where the
    /// queue's clock moves, which it does at a switch only if no waking has just moved it (`rq_clock_skip_update`, when
    /// that preempts): then what was stolen since the waking, or the last tick, is told at the next one. Yields up to when
    /// all is told.
    pub(super) fn switches(&mut self, preempts: bool, switched_ns: u64, ticked_ns: u64) -> u64 {
        let (woken_ns, _) = self.woken_ns;
        let skips = preempts && woken_ns > switched_ns;
        self.told_ns = skips.then(|| woken_ns.max(ticked_ns));
        self.asked_up_to(self.told_ns());
        self.told_ns()
    }

    /// Up to when the last switch has told all; `u64::MAX` where that is all before it.
    pub(super) fn told_ns(&self) -> u64 {
        self.told_ns.unwrap_or(u64::MAX)
    }

    /// Whether it is still to be told what of so long a stretch of a time was stolen.
    pub(super) fn awaits(&self, from_ns: u64, to_ns: u64) -> bool {
        self.silences.iter().any(|silence| {
            let (from_ns, to_ns) = (silence.from_ns.max(from_ns), silence.to_ns.min(to_ns));
            to_ns.saturating_sub(from_ns) >= AWAITED_NS_MIN
        })
    }

    /// The interrupt that was entered at a time had been due before.
    pub(super) fn was_due(&mut self, entry_ns: u64, due_ns: u64) {
        let last = self.silences.iter_mut().rev().find(|silence| silence.to_ns <= entry_ns);
        if let Some(last) = last.filter(|last| last.to_ns == entry_ns) {
            last.late_ns = last.late_ns.max(entry_ns.saturating_sub(due_ns.max(last.from_ns)));
        }
    }

    /// Another CPU sends an interrupt.
    pub(super) fn sent(&mut self, time_ns: u64) {
        self.sent_ns.get_or_insert(time_ns);
    }

    /// It comes.
    pub(super) fn came(&mut self, time_ns: u64) {
        if let Some(sent_ns) = self.sent_ns.take() {
            self.was_due(time_ns, sent_ns);
        }
    }

    pub(super) fn ticks(&mut self) {
        self.ticked = true;
    }

    /// An interrupt of the timer ends.
    pub(super) fn timer_irq_ends(&mut self) {
        self.is_asked |= std::mem::take(&mut self.ticked);
    }

    /// So much was stolen. Calls `piece` for each stretch of it, in order, and whether it is sure to have been
    /// there; yields what no silence has room for.
    pub(super) fn place(&mut self, ns: u64, mut piece: impl FnMut(u64, u64, bool)) -> u64 {
        let mut left_ns = ns;
        let mut taken_ns = [0; SILENCES_MAX];
        for is_older in [false, true] {
            let of_age = |at: &usize| self.silences[*at].is_older == is_older;
            let mut order: Vec<usize> = (0..self.silences.len()).filter(of_age).collect();
            order.sort_by_key(|at| std::cmp::Reverse(self.silences[*at].late_ns));
            for &at in &order {
                let late_ns = self.silences[at].late_ns;
                if late_ns.saturating_mul(LATE_SHARE) >= left_ns {
                    taken_ns[at] = late_ns.min(left_ns);
                    left_ns -= taken_ns[at];
                }
            }
            let known = |at: usize| taken_ns[at] > 0 || self.silences[at].slept;
            order.sort_by_key(|at| std::cmp::Reverse((known(*at), self.silences[*at].ns())));
            for &at in &order {
                let more_ns = left_ns.min(self.silences[at].ns() - taken_ns[at]);
                taken_ns[at] += more_ns;
                left_ns -= more_ns;
            }
        }
        for (silence, taken_ns) in self.silences.iter_mut().zip(taken_ns) {
            if taken_ns == 0 {
                continue;
            }
            let is_sure = silence.ends_with(taken_ns) || taken_ns.saturating_mul(2) >= silence.ns();
            let to_ns = silence.to_ns;
            // What is told later of the same time lies before.
            silence.to_ns -= taken_ns;
            silence.late_ns = silence.late_ns.saturating_sub(taken_ns);
            piece(silence.to_ns, to_ns, is_sure);
        }
        if self.is_asked {
            self.asked();
        }
        left_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Silences between these times, of a CPU that ran a task.
    fn silences(times: &[u64]) -> Silences {
        let mut silences = Silences::default();
        for pair in times.windows(2) {
            silences.event(pair[0], pair[1], false, || false);
        }
        silences
    }

    fn placed(silences: &mut Silences, ns: u64) -> (Vec<(u64, u64, bool)>, u64) {
        let mut placed = Vec::new();
        let left_ns =
            silences.place(ns, |from_ns, to_ns, sure| placed.push((from_ns, to_ns, sure)));
        (placed, left_ns)
    }

    #[test]
    fn it_was_before_the_interrupt_that_was_late() {
        let mut silences = silences(&[1_000, 4_001_000, 4_002_000, 9_000_000]);
        silences.was_due(4_001_000, 3_501_000);
        assert_eq!(placed(&mut silences, 500_000), (vec![(3_501_000, 4_001_000, true)], 0));
    }

    #[test]
    fn what_began_before_the_interrupt_was_due_is_whole() {
        let mut silences = silences(&[1_000, 4_001_000, 4_002_000, 9_000_000]);
        silences.was_due(4_001_000, 3_501_000);
        silences.was_due(9_000_000, 8_997_000);
        assert_eq!(placed(&mut silences, 700_000), (vec![(3_301_000, 4_001_000, true)], 0));
    }

    #[test]
    fn an_interrupt_that_came_in_time_says_only_that_it_was_before() {
        let mut silences = silences(&[1_000, 4_001_000]);
        silences.was_due(4_001_000, 3_997_000);
        assert_eq!(placed(&mut silences, 300_000), (vec![(3_701_000, 4_001_000, false)], 0));
    }

    #[test]
    fn a_cpu_that_slept_was_stopped_when_it_had_been_woken() {
        let mut silences = silences(&[1_000, 3_000_000]);
        silences.event(3_000_000, 5_000_000, false, || true);
        assert_eq!(placed(&mut silences, 40_000), (vec![(4_960_000, 5_000_000, true)], 0));
    }

    #[test]
    fn where_nothing_tells_it_is_unsure_unless_it_fills_most_of_the_silence() {
        let mut long = silences(&[1_000, 1_001_000]);
        assert_eq!(placed(&mut long, 300_000), (vec![(701_000, 1_001_000, false)], 0));
        let mut most = silences(&[1_000, 1_001_000]);
        assert_eq!(placed(&mut most, 900_000), (vec![(101_000, 1_001_000, true)], 0));
    }

    #[test]
    fn what_has_no_room_is_left_and_what_is_told_later_lies_before() {
        let mut silences = silences(&[1_000, 101_000, 102_000, 202_000]);
        silences.was_due(202_000, 152_000);
        assert_eq!(placed(&mut silences, 60_000), (vec![(142_000, 202_000, true)], 0));
        let (places, left_ns) = placed(&mut silences, 250_000);
        assert_eq!(places, [(1_000, 101_000, true), (102_000, 142_000, true)]);
        assert_eq!(left_ns, 110_000);
    }

    #[test]
    fn what_was_before_the_tick_was_told_then() {
        let mut silences = silences(&[1_000, 101_000]);
        silences.ticks();
        silences.timer_irq_ends();
        silences.event(101_000, 201_000, false, || false);
        assert_eq!(placed(&mut silences, 150_000), (vec![(101_000, 201_000, true)], 50_000));
    }
}
