//! Threads that the kernel has for timers, woken for one that is due.

use super::Cpu;
use std::collections::VecDeque;
use tardy_model::event::TimerPending;
use tardy_model::{TaskId, TimerId};

/// Times that are remembered: of a timer that waits for longer, it is not known since when.
const PENDINGS_MAX: usize = 64;

/// The last times at which such a thread was woken, oldest first.
#[derive(Debug, Default)]
pub(super) struct Pendings(VecDeque<Pending>);

/// A thread for timers was woken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    thread: TaskId,
    /// The first of the timers that were due.
    timer: TimerId,
    pub(super) time_ns: u64,
    /// The entry of the interrupt in which that was.
    pub(super) interrupt_ns: Option<u64>,
}

impl Pendings {
    /// When a thread was woken for a timer that was due at a time. It runs all that is due by then, and is woken
    /// again for what is due later: by the first waking from then on. Where it was at it already, none was
    /// needed: the last one counts.
    pub(super) fn of(&self, thread: TaskId, soft_ns: u64) -> Option<Pending> {
        let mut its = self.0.iter().filter(|pending| pending.thread == thread);
        let last = its.clone().next_back();
        its.find(|pending| pending.time_ns >= soft_ns).or(last).copied()
    }
}

impl Cpu {
    /// A thread for timers is woken for one that is due, and has this priority now.
    pub fn timer_pending(&mut self, time_ns: u64, pending: TimerPending) {
        let TimerPending { timer, thread, prio } = pending;
        self.reprioritise(time_ns, thread, prio);
        if self.pendings.0.len() == PENDINGS_MAX {
            self.pendings.0.pop_front();
        }
        let interrupt_ns = self.interrupt_entry_ns();
        self.pendings.0.push_back(Pending { thread, timer, time_ns, interrupt_ns });
    }

    /// Whether a thread was woken for this very timer, which was due at a time: then it runs the callback, whatever
    /// has interrupted it and was not seen to end.
    pub(crate) fn is_pending(&self, thread: TaskId, timer: TimerId, soft_ns: u64) -> bool {
        let mut latest = self.pendings.0.iter().rev().filter(|pending| pending.thread == thread);
        latest.any(|pending| pending.timer == timer && pending.time_ns >= soft_ns)
    }

    /// The task that is current runs: interrupts in it were not seen to end.
    pub(crate) fn leaves_interrupts(&mut self) {
        let interrupted = self.contexts.iter().position(|context| !context.is_of_timer_thread());
        self.contexts.truncate(interrupted.unwrap_or(self.contexts.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_model::Prio;

    const THREAD: TaskId = TaskId(9);
    const TIMER: TimerId = TimerId(3);

    fn pending(thread: TaskId) -> TimerPending {
        TimerPending { timer: TIMER, thread, prio: Prio(39) }
    }

    #[test]
    fn a_timer_has_the_first_waking_since_it_is_due_or_the_last_of_all() {
        let mut cpu = Cpu::new(8);
        for time_ns in [10, 20, 30] {
            cpu.timer_pending(time_ns, pending(THREAD));
        }
        cpu.timer_pending(40, pending(TaskId(8)));
        let of = |soft_ns| cpu.pendings.of(THREAD, soft_ns).map(|pending| pending.time_ns);
        assert_eq!([of(5), of(10), of(11), of(31)], [Some(10), Some(10), Some(20), Some(30)]);
        assert!(cpu.pendings.of(TaskId(7), 5).is_none());
    }

    #[test]
    fn a_thread_runs_the_timer_that_it_was_woken_for_and_none_of_another_time() {
        let mut cpu = Cpu::new(8);
        cpu.timer_pending(20, pending(THREAD));
        assert!(cpu.is_pending(THREAD, TIMER, 20));
        assert!(!cpu.is_pending(THREAD, TIMER, 21), "it was woken before that was due");
        assert!(!cpu.is_pending(THREAD, TimerId(4), 20));
        assert!(!cpu.is_pending(TaskId(8), TIMER, 20));
    }

    #[test]
    fn the_oldest_is_forgotten_first() {
        let mut cpu = Cpu::new(8);
        for time_ns in 0..=PENDINGS_MAX as u64 {
            cpu.timer_pending(time_ns, pending(THREAD));
        }
        assert_eq!(cpu.pendings.0.len(), PENDINGS_MAX);
        assert_eq!(cpu.pendings.of(THREAD, 0).map(|pending| pending.time_ns), Some(1));
    }
}
