//! Run queues: who runs next, and who preempts whom.
//!
//! Deadline threads run by the earliest deadline, real-time ones by priority and coming, ordinary ones by
//! virtual time: of those that have had no more than their share (eligible), the one whose virtual deadline
//! comes first (EEVDF, `kernel/sched/fair.c` since 6.6). Who has been chosen keeps the CPU for its slice while it is
//! eligible (`RUN_TO_PARITY`). Who goes to sleep having had more than its share stays in the queue until it would be
//! chosen, or nobody is left (`DELAY_DEQUEUE`, since 6.12). One that is woken before that is where it was, or, if it
//! has paid back what it owed, at the mean, both as that was when who runs was charged last.
//!
//! Who is woken as `SCHED_BATCH` or `SCHED_IDLE` preempts nobody, and whoever is neither preempts one that is
//! `SCHED_IDLE` (`check_preempt_wakeup_fair`).
//!
//! Left out: groups, balancing between CPUs beside the choice at a waking, the latency hints of newer kernels.

use crate::Policy;
use crate::observer::ThreadAt;
use std::collections::VecDeque;
use tardy_model::Prio;

/// The slice of fair threads on one CPU, ns (`normalized_sysctl_sched_base_slice` since 6.15; 0.75 ms before).
const FAIR_SLICE_NS: u64 = 700_000;

/// More CPUs than these make slices no longer (`get_update_sysctl_factor`).
const SLICE_CPUS_MAX: u16 = 8;

/// The slice of fair threads on a machine, ns.
fn fair_slice_ns(cpus: u16) -> u64 {
    FAIR_SLICE_NS * u64::from(1 + cpus.clamp(1, SLICE_CPUS_MAX).ilog2())
}

/// The slice of round robin, ns (`RR_TIMESLICE`).
pub(crate) const RR_SLICE_NS: u64 = 100_000_000;

/// Virtual times that are told apart: with the largest weight of [`THREADS_MAX`](crate::workload::THREADS_MAX) threads
/// the sum fits 64 bits.
const APART_NS_MAX: i64 = 1 << 30;

/// The weight of nice 0.
const NICE_0_WEIGHT: u64 = 1024;

/// Weights by nice, from −20 on (`sched_prio_to_weight` in `kernel/sched/core.c`): a step is 10 % of the CPU.
const WEIGHTS: [u32; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904,
    3906, 3121, 2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87,
    70, 56, 45, 36, 29, 23, 18, 15,
];

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

/// The weight of `SCHED_IDLE` (`WEIGHT_IDLEPRIO`).
const IDLE_WEIGHT: u64 = 3;

/// How a fair thread gives way to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Normal,
    Batch,
    Idle,
}

/// Virtual time of a fair thread, ns at nice 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fair {
    kind: Kind,
    pub(crate) weight: u64,
    pub(crate) virtual_ns: i64,
    pub(crate) deadline_ns: i64,
    /// Up to there it keeps the CPU, once it has it.
    protected_ns: i64,
    /// What it was owed when it left the queue.
    pub(crate) lag_ns: i64,
    /// It was woken before it had left the queue, and has its place.
    stays: bool,
}

impl Fair {
    pub(crate) fn new(policy: Policy) -> Self {
        let weight = |nice: i8| u64::from(WEIGHTS[(i16::from(nice) + 20).clamp(0, 39) as usize]);
        let (kind, weight) = match policy {
            Policy::Other { nice } => (Kind::Normal, weight(nice)),
            Policy::Batch { nice } => (Kind::Batch, weight(nice)),
            Policy::Idle => (Kind::Idle, IDLE_WEIGHT),
            _ => (Kind::Normal, weight(0)),
        };
        Self {
            kind,
            weight,
            virtual_ns: 0,
            deadline_ns: 0,
            protected_ns: 0,
            lag_ns: 0,
            stays: false,
        }
    }

    fn virtual_of(&self, ns: u64) -> i64 {
        if self.weight == NICE_0_WEIGHT {
            return ns as i64;
        }
        (u128::from(ns) * u128::from(NICE_0_WEIGHT) / u128::from(self.weight)) as i64
    }

    /// It has run. Says whether others may have their turn.
    pub(crate) fn runs(&mut self, ns: u64, slice_ns: u64) -> bool {
        self.virtual_ns += self.virtual_of(ns);
        let is_over = self.virtual_ns >= self.deadline_ns;
        if is_over {
            self.deadline_ns = self.virtual_ns + self.virtual_of(slice_ns);
        }
        is_over || self.virtual_ns >= self.protected_ns
    }
}

/// A fair thread in a queue.
#[derive(Clone, Copy, Debug)]
struct Queued {
    thread: ThreadAt,
    fair: Fair,
}

impl Queued {
    /// It is chosen after a thread. Who runs on keeps the protection that it has (`put_prev_set_next_task`).
    fn runs_after(mut self, after: ThreadAt) -> (ThreadAt, Option<Fair>) {
        if self.thread != after {
            self.fair.protected_ns = self.fair.deadline_ns;
        }
        (self.thread, Some(self.fair))
    }

    /// Whether it is eligible, and comes before a deadline.
    fn comes_before(&self, deadline_ns: i64, mean_ns: i64) -> bool {
        self.fair.virtual_ns <= mean_ns && self.fair.deadline_ns < deadline_ns
    }
}

/// The threads that could run on a CPU and do not.
#[derive(Debug)]
pub(crate) struct Queue {
    deadline: Vec<(u64, ThreadAt)>,
    realtime: Vec<VecDeque<ThreadAt>>,
    /// A bit per priority that has someone, 0 first.
    priorities: u128,
    fair: Vec<Queued>,
    /// Those that sleep, and have not left.
    delayed: Vec<Queued>,
    /// Real-time threads may not run: their bandwidth is used up.
    pub(crate) realtime_off: bool,
    /// Virtual time when there was nobody.
    floor_ns: i64,
    /// The slice of fair threads, and the most that one is owed or owes.
    slice_ns: u64,
    lag_ns: u64,
}

impl Queue {
    /// With room for so many, on a machine of so many CPUs that tick so often.
    pub(crate) fn new(threads: usize, cpus: u16, jiffy_ns: u64) -> Self {
        let slice_ns = fair_slice_ns(cpus);
        Self {
            deadline: Vec::with_capacity(threads),
            realtime: vec![VecDeque::new(); 100],
            priorities: 0,
            fair: Vec::with_capacity(threads),
            delayed: Vec::new(),
            realtime_off: false,
            floor_ns: 0,
            slice_ns,
            lag_ns: (2 * slice_ns).max(jiffy_ns),
        }
    }

    pub(crate) const fn slice_ns(&self) -> u64 {
        self.slice_ns
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.deadline.is_empty() && self.priorities == 0 && self.fair.is_empty()
    }

    /// How many fair threads are in it.
    pub(crate) fn fair_count(&self) -> usize {
        self.fair.len()
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

    pub(crate) fn push_fair(&mut self, thread: ThreadAt, fair: Fair) {
        self.fair.push(Queued { thread, fair });
    }

    /// Takes a thread out, wherever it is.
    pub(crate) fn remove(&mut self, thread: ThreadAt, class: Class) {
        match class {
            Class::Deadline => self.deadline.retain(|(_, other)| *other != thread),
            Class::RealTime(prio) => {
                let list = &mut self.realtime[usize::from(prio)];
                list.retain(|other| *other != thread);
                if list.is_empty() {
                    self.priorities &= !(1 << prio);
                }
            }
            Class::Fair => self.fair.retain(|other| other.thread != thread),
        }
    }

    /// The weighted mean of virtual times, of those who wait and of who runs.
    fn mean_ns(&self, running: Option<&Fair>) -> i64 {
        // Alone, it is its own mean.
        match (self.fair.as_slice(), running) {
            _ if !self.delayed.is_empty() => {}
            ([], None) => return self.floor_ns,
            ([], Some(alone)) => return alone.virtual_ns,
            ([alone], None) => return alone.fair.virtual_ns,
            _ => {}
        }
        let all = || self.queued().chain(running);
        let Some(base_ns) = all().next().map(|fair| fair.virtual_ns) else { return self.floor_ns };
        // They are within seconds of each other; should they not be, only the choice of who runs next is coarser.
        let (mut sum, mut weights) = (0_i64, 0_i64);
        for fair in all() {
            let weight = fair.weight as i64;
            let apart_ns = (fair.virtual_ns - base_ns).clamp(-APART_NS_MAX, APART_NS_MAX);
            sum += apart_ns * weight;
            weights += weight;
        }
        base_ns + sum.div_euclid(weights)
    }

    /// A thread comes that has slept: it keeps what it was owed.
    pub(crate) fn place(&self, fair: &mut Fair, running: Option<&Fair>) {
        if std::mem::take(&mut fair.stays) {
            return;
        }
        if running.is_none() && self.fair.is_empty() && self.delayed.is_empty() {
            fair.virtual_ns = self.floor_ns;
            fair.deadline_ns = fair.virtual_ns + fair.virtual_of(self.slice_ns);
            return;
        }
        // Its own weight draws the mean to it: so much more is left of it once it is there.
        let others: u64 = self.queued().chain(running).map(|it| it.weight).sum();
        let lag_ns = match others {
            0 => 0,
            others => {
                let all = i128::from(others + fair.weight);
                (i128::from(fair.lag_ns) * all / i128::from(others)) as i64
            }
        };
        fair.virtual_ns = self.mean_ns(running) - lag_ns;
        fair.deadline_ns = fair.virtual_ns + fair.virtual_of(self.slice_ns);
    }

    /// A thread that runs goes to sleep. Whoever owes stays for a while, if anybody else is there.
    pub(crate) fn leaves(&mut self, thread: ThreadAt, fair: &mut Fair) {
        let mean_ns = self.mean_ns(Some(fair));
        let most_ns = fair.virtual_of(self.lag_ns);
        fair.lag_ns = (mean_ns - fair.virtual_ns).clamp(-most_ns, most_ns);
        self.floor_ns = mean_ns;
        if self.fair.is_empty() {
            self.delayed.clear();
        } else if fair.lag_ns < 0 {
            self.delayed.push(Queued { thread, fair: *fair });
        }
        fair.lag_ns = fair.lag_ns.max(0);
    }

    /// A thread is woken that may not have left this queue yet (`requeue_delayed_entity`): then it keeps its place and its
    /// CPU. Whether it does.
    pub(crate) fn stays(
        &mut self,
        thread: ThreadAt,
        fair: &mut Fair,
        running: Option<&Fair>,
    ) -> bool {
        let place = self.delayed.iter().position(|delayed| delayed.thread == thread);
        let Some(place) = place else { return false };
        self.delayed.swap_remove(place);
        let mean_ns = self.mean_ns(running);
        if mean_ns > fair.virtual_ns {
            fair.virtual_ns = mean_ns;
            fair.deadline_ns = mean_ns + fair.virtual_of(self.slice_ns);
        }
        fair.stays = true;
        true
    }

    /// Takes out a thread that sleeps, if it has not left yet.
    pub(crate) fn forgets(&mut self, thread: ThreadAt) {
        self.delayed.retain(|delayed| delayed.thread != thread);
    }

    /// The turn of who runs is over, and nobody else could run: who sleeps and would be chosen leaves.
    pub(crate) fn lets_go(&mut self, running: &Fair) {
        let mean_ns = self.mean_ns(Some(running));
        self.delayed.retain(|delayed| !delayed.comes_before(running.deadline_ns, mean_ns));
    }

    /// All that are in the queue, those that sleep too.
    fn queued(&self) -> impl Iterator<Item = &Fair> {
        self.fair.iter().chain(&self.delayed).map(|queued| &queued.fair)
    }

    /// The fair thread in the queue that is to run next: of those that are eligible the one with the earliest deadline.
    fn best(&self, mean_ns: i64) -> Option<usize> {
        let eligible = self.fair.iter().enumerate();
        let eligible = eligible.filter(|(_, queued)| queued.fair.virtual_ns <= mean_ns);
        eligible.min_by_key(|(_, queued)| queued.fair.deadline_ns).map(|(at, _)| at)
    }

    /// Whether a fair thread in the queue is to run before the one that does.
    pub(crate) fn prefers(&self, thread: ThreadAt, running: &Fair) -> bool {
        let woken = self.fair.iter().find(|queued| queued.thread == thread);
        match (woken.map(|queued| queued.fair.kind), running.kind) {
            (Some(Kind::Normal | Kind::Batch), Kind::Idle) => return true,
            (Some(Kind::Batch | Kind::Idle), _) => return false,
            _ => {}
        }
        let mean_ns = self.mean_ns(Some(running));
        let Some(best) = self.best(mean_ns).map(|at| &self.fair[at]) else { return false };
        if self.delayed_before(best.fair.deadline_ns, mean_ns).is_some() {
            return false;
        }
        let is_eligible = running.virtual_ns <= mean_ns;
        let is_protected = is_eligible && running.virtual_ns < running.protected_ns;
        let comes_first = !is_eligible || best.fair.deadline_ns < running.deadline_ns;
        best.thread == thread && comes_first && !is_protected
    }

    /// Takes out who is to run next, after a thread, with its virtual time where it is a fair one's.
    pub(crate) fn pop(&mut self, after: ThreadAt) -> Option<(ThreadAt, Option<Fair>)> {
        if !self.deadline.is_empty() {
            let first = (0..self.deadline.len()).min_by_key(|at| (self.deadline[*at], *at))?;
            return Some((self.deadline.remove(first).1, None));
        }
        if self.runs_realtime() {
            let prio = self.priorities.trailing_zeros();
            let list = &mut self.realtime[prio as usize];
            let thread = list.pop_front();
            if list.is_empty() {
                self.priorities &= !(1 << prio);
            }
            return Some((thread?, None));
        }
        if self.fair.is_empty() {
            self.delayed.clear();
            return None;
        }
        loop {
            // Of any numbers one is not above their mean.
            if self.delayed.is_empty() && self.fair.len() == 1 {
                return self.fair.pop().map(|queued| queued.runs_after(after));
            }
            let mean_ns = self.mean_ns(None);
            let best = self.best(mean_ns);
            let deadline_ns = best.map_or(i64::MAX, |at| self.fair[at].fair.deadline_ns);
            let Some(delayed) = self.delayed_before(deadline_ns, mean_ns) else {
                return Some(self.fair.remove(best?).runs_after(after));
            };
            self.delayed.swap_remove(delayed);
        }
    }

    /// One that sleeps and would be chosen before whoever has a deadline.
    fn delayed_before(&self, deadline_ns: i64, mean_ns: i64) -> Option<usize> {
        self.delayed.iter().position(|delayed| delayed.comes_before(deadline_ns, mean_ns))
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
        self.fair.iter().map(|queued| queued.thread).find(|thread| allowed(*thread))
    }
}
