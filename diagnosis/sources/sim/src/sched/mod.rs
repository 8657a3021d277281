//! Run queues: who runs next, and who preempts whom.
//!
//! Deadline threads run by the earliest deadline, real-time ones by priority and coming, ordinary ones by
//! virtual time: of those that have had no more than their share (eligible), the one whose virtual deadline
//! comes first (EEVDF, `kernel/sched/fair.c` since 6.6). Who has been chosen keeps the CPU for its slice while it is
//! eligible (`RUN_TO_PARITY`). Who goes to sleep having had more than its share stays in the queue until it would be
//! chosen, or nobody is left (`DELAY_DEQUEUE`, since 6.12). One that is woken before that is where it was, or, if it
//! has paid back what it owed, at the mean.
//!
//! Threads of groups share what their group gets, which shares the CPU with other groups and threads by its weight.
//!
//! Who is woken as `SCHED_BATCH` or `SCHED_IDLE` preempts nobody, and whoever is neither preempts one that is
//! `SCHED_IDLE` (`check_preempt_wakeup_fair`).
//!
//! Busy CPUs take fair threads from each other at their ticks, and rouse one that has nothing to do. Real-time threads that have
//! to make room go where they may run at once, and are taken by a CPU that has none of its own left.
//!
//! Left out: domains of CPUs that share caches, and the latency hints of newer kernels.

mod balance;
mod fair;
mod level;
mod load;
mod tree;

use crate::Policy;
use crate::observer::ThreadAt;
pub(crate) use balance::{Balance, Imbalance, THREADS_PER_BALANCING};
pub(crate) use fair::Fair;
pub(crate) use load::Loads;
use std::collections::VecDeque;
use tardy_model::Prio;
pub(crate) use tree::{FairQueue, Here, Tree};

/// The slice of round robin, ns (`RR_TIMESLICE`).
pub(crate) const RR_SLICE_NS: u64 = 100_000_000;

/// The class by which a thread is scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    Deadline,
    /// By priority, 0 first, as the kernel counts.
    RealTime(u8),
    Fair,
}

impl Class {
    pub(crate) fn of(policy: Policy) -> Self {
        match policy {
            Policy::Other { .. } | Policy::Batch { .. } | Policy::Idle => Self::Fair,
            Policy::Fifo(prio) | Policy::RoundRobin(prio) => Self::RealTime(99 - prio),
            Policy::Deadline { .. } => Self::Deadline,
        }
    }
}

/// The class of a thread of a priority, its own or a lent one.
pub(crate) const fn class_of(prio: Prio) -> Class {
    match prio.0 {
        ..0 => Class::Deadline,
        prio @ 0..=98 => Class::RealTime(prio as u8),
        _ => Class::Fair,
    }
}

/// The priority as the kernel counts.
pub(crate) fn prio_of(policy: Policy) -> Prio {
    match policy {
        Policy::Other { nice } | Policy::Batch { nice } => Prio(120 + i16::from(nice)),
        Policy::Idle => Prio(120),
        Policy::Fifo(prio) | Policy::RoundRobin(prio) => Prio(99 - i16::from(prio)),
        Policy::Deadline { .. } => Prio(-1),
    }
}

/// The threads that could run on a CPU and do not, and the fair one that does.
#[derive(Debug)]
pub(crate) struct Queue {
    deadline: Vec<(u64, ThreadAt)>,
    realtime: Vec<VecDeque<ThreadAt>>,
    /// A bit per priority that has someone, 0 first.
    priorities: u128,
    pub(crate) fair: FairQueue,
    /// Real-time threads may not run: their bandwidth is used up.
    pub(crate) realtime_off: bool,
}

impl Queue {
    /// With room for so many threads that are not fair.
    pub(crate) fn new(threads: usize, fair: FairQueue) -> Self {
        Self {
            deadline: Vec::with_capacity(threads),
            realtime: vec![VecDeque::new(); 100],
            priorities: 0,
            fair,
            realtime_off: false,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.deadline.is_empty() && self.priorities == 0 && self.fair.is_empty()
    }

    /// The class of whoever is first.
    pub(crate) fn first_class(&self) -> Option<Class> {
        if !self.deadline.is_empty() {
            Some(Class::Deadline)
        } else if self.runs_realtime() {
            Some(Class::RealTime(self.priorities.trailing_zeros() as u8))
        } else {
            (!self.fair.is_empty()).then_some(Class::Fair)
        }
    }

    const fn runs_realtime(&self) -> bool {
        self.priorities != 0 && !self.realtime_off
    }

    /// The real-time threads in it.
    pub(crate) fn realtime_threads(&self) -> Vec<ThreadAt> {
        self.realtime.iter().flatten().copied().collect()
    }

    pub(crate) fn has_realtime(&self, prio: u8) -> bool {
        self.priorities >> prio & 1 == 1
    }

    pub(crate) fn push_deadline(&mut self, thread: ThreadAt, deadline_ns: u64) {
        self.deadline.push((deadline_ns, thread));
    }

    pub(crate) fn push_realtime(&mut self, thread: ThreadAt, prio: u8, first: bool) {
        let list = &mut self.realtime[usize::from(prio)];
        if first {
            list.push_front(thread);
        } else {
            list.push_back(thread);
        }
        self.priorities |= 1 << prio;
    }

    /// Takes a thread out that waits. Says what it keeps, where it is a fair one.
    pub(crate) fn remove(
        &mut self,
        thread: ThreadAt,
        class: Class,
        here: &mut Here<'_>,
    ) -> Option<Fair> {
        match class {
            Class::Deadline => self.deadline.retain(|(_, other)| *other != thread),
            Class::RealTime(prio) => {
                let list = &mut self.realtime[usize::from(prio)];
                list.retain(|other| *other != thread);
                if list.is_empty() {
                    self.priorities &= !(1 << prio);
                }
            }
            Class::Fair => return self.fair.remove(thread, here),
        }
        None
    }

    /// Takes out who is to run next, after a fair thread if that is who ran.
    pub(crate) fn pop(&mut self, after: Option<ThreadAt>, here: &mut Here<'_>) -> Option<ThreadAt> {
        if !self.deadline.is_empty() {
            let first = (0..self.deadline.len()).min_by_key(|at| (self.deadline[*at], *at))?;
            self.fair.puts_back();
            return Some(self.deadline.remove(first).1);
        }
        if self.runs_realtime() {
            let prio = self.priorities.trailing_zeros();
            let list = &mut self.realtime[prio as usize];
            let thread = list.pop_front();
            if list.is_empty() {
                self.priorities &= !(1 << prio);
            }
            self.fair.puts_back();
            return thread;
        }
        self.fair.choose(after, here)
    }

    /// Anybody in it that may run on a CPU, the first class first.
    pub(crate) fn find(&self, allowed: impl Fn(ThreadAt) -> bool) -> Option<ThreadAt> {
        let deadline = self.deadline.iter().map(|(_, thread)| *thread);
        if let Some(found) = deadline.into_iter().find(|thread| allowed(*thread)) {
            return Some(found);
        }
        let mut left = if self.realtime_off { 0 } else { self.priorities };
        while left != 0 {
            let list = &self.realtime[left.trailing_zeros() as usize];
            if let Some(found) = list.iter().find(|thread| allowed(**thread)) {
                return Some(*found);
            }
            left &= left - 1;
        }
        self.fair.waiting().find(|thread| allowed(*thread))
    }
}
