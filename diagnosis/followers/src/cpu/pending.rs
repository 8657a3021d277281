//! Threads that the kernel has for timers, woken for one that is due.

use super::Cpu;
use std::collections::VecDeque;
use tardy_model::{Prio, TaskId};

/// Times that are remembered: of a timer that waits for longer, it is not known since when.
const PENDINGS_MAX: usize = 64;

/// The last times at which such a thread was woken, oldest first.
#[derive(Debug, Default)]
pub(super) struct Pendings(VecDeque<Pending>);

/// A thread for timers was woken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    thread: TaskId,
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
    pub fn timer_pending(&mut self, time_ns: u64, thread: TaskId, prio: Prio) {
        self.reprioritise(time_ns, thread, prio);
        if self.pendings.0.len() == PENDINGS_MAX {
            self.pendings.0.pop_front();
        }
        let interrupt_ns = self.interrupt_entry_ns();
        self.pendings.0.push_back(Pending { thread, time_ns, interrupt_ns });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREAD: TaskId = TaskId(9);
    const PRIO: Prio = Prio(39);

    #[test]
    fn a_timer_has_the_first_waking_since_it_is_due_or_the_last_of_all() {
        let mut cpu = Cpu::new(8);
        for time_ns in [10, 20, 30] {
            cpu.timer_pending(time_ns, THREAD, PRIO);
        }
        cpu.timer_pending(40, TaskId(8), PRIO);
        let of = |soft_ns| cpu.pendings.of(THREAD, soft_ns).map(|pending| pending.time_ns);
        assert_eq!([of(5), of(10), of(11), of(31)], [Some(10), Some(10), Some(20), Some(30)]);
        assert!(cpu.pendings.of(TaskId(7), 5).is_none());
    }

    #[test]
    fn the_oldest_is_forgotten_first() {
        let mut cpu = Cpu::new(8);
        for time_ns in 0..=PENDINGS_MAX as u64 {
            cpu.timer_pending(time_ns, THREAD, PRIO);
        }
        assert_eq!(cpu.pendings.0.len(), PENDINGS_MAX);
        assert_eq!(cpu.pendings.of(THREAD, 0).map(|pending| pending.time_ns), Some(1));
    }
}
