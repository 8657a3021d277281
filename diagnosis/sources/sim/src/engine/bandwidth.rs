//! Bandwidths: of all real-time threads of a CPU (`kernel/sched/rt.c` before 6.12), and of control groups of fair
//! ones (`kernel/sched/fair.c`). They are looked at in the tick, and given back by timers of their own.
//!
//! A group's share is handed to CPUs in slices, and one of them may have some left where another has used up its.
//!
//! Left out: what a CPU gives back is given to others with the next period, and not after some milliseconds by a timer of
//! its own; of groups in each other the one counts alone that gives least; CPUs do not lend each other real-time bandwidth.

use super::thread::{Purpose, Standing};
use super::{Need, Simulation, THREADS_NONE};
use crate::observer::{Observer, ThreadAt, Throttle, TimerAt};
use crate::sched::Class;
use crate::{Bandwidth, Throttles};
use tardy_model::event::{Call, TaskGroup};
use tardy_model::{CpuId, Event, NameId};
use tardy_timers::Expiry;
use tardy_timers::policy::Arm;

/// What a CPU takes of a group's share at a time (`kernel.sched_cfs_bandwidth_slice_us`).
const SLICE_NS: i64 = 5_000_000;

/// What a CPU keeps of it where nobody of the group is left there (`min_cfs_rq_runtime`).
const KEPT_NS: i64 = 1_000_000;

/// A control group while it is simulated.
#[derive(Debug)]
pub(super) struct Group {
    quota_ns: i64,
    period_ns: u64,
    /// What of this period's share no CPU has taken.
    pool_ns: i64,
    shares: Vec<Share>,
}

/// What a CPU has of a group's share.
#[derive(Clone, Debug, Default)]
struct Share {
    /// Below 0 where it has run longer than it had.
    left_ns: i64,
    throttled: bool,
    /// Threads of the group that could run here.
    parked: Vec<ThreadAt>,
}

impl Group {
    pub(super) fn new(bandwidth: Option<Bandwidth>, cpus: usize) -> Self {
        // More than a century is no limit, and nobody looks at what has none.
        let Bandwidth { runtime_ns, period_ns } =
            bandwidth.unwrap_or(Bandwidth { runtime_ns: u64::MAX, period_ns: 0 });
        let quota_ns = i64::try_from(runtime_ns).unwrap_or(i64::MAX).min(i64::MAX / 2);
        Self { quota_ns, period_ns, pool_ns: quota_ns, shares: vec![Share::default(); cpus] }
    }

    pub(super) fn is_throttled(&self, at: usize) -> bool {
        self.shares[at].throttled
    }

    /// Whether a thread waits aside on a CPU.
    fn holds(&self, at: usize, thread: ThreadAt) -> bool {
        self.shares[at].parked.contains(&thread)
    }

    /// Takes more for a CPU that has nothing left; where there is nothing either, the group is throttled there.
    fn takes(&mut self, at: usize) {
        let share = &mut self.shares[at];
        if !share.throttled && share.left_ns <= 0 {
            let ns = self.pool_ns.min(SLICE_NS - share.left_ns);
            self.pool_ns -= ns;
            share.left_ns += ns;
            share.throttled = share.left_ns <= 0;
        }
    }

    /// Nobody of the group is left on a CPU.
    fn leaves(&mut self, at: usize) {
        let back_ns = (self.shares[at].left_ns - KEPT_NS).max(0);
        self.shares[at].left_ns -= back_ns;
        self.pool_ns = (self.pool_ns + back_ns).min(self.quota_ns);
    }

    /// A period begins: who was throttled gets what it has run too long, and may go on.
    fn begins_period(&mut self) -> Vec<ThreadAt> {
        self.pool_ns = self.quota_ns;
        let mut released = Vec::new();
        for share in self.shares.iter_mut().filter(|share| share.throttled) {
            let ns = self.pool_ns.min(1 - share.left_ns);
            self.pool_ns -= ns;
            share.left_ns += ns;
            share.throttled = share.left_ns <= 0;
            if !share.throttled {
                released.append(&mut share.parked);
            }
        }
        released
    }
}

impl<O: Observer> Simulation<O> {
    /// What a thread has run counts for its bandwidth.
    pub(super) fn uses(&mut self, at: usize, thread: ThreadAt, ns: u64) {
        let thread = &self.threads[thread as usize];
        match (thread.class, thread.group) {
            (Class::RealTime(_), _) => self.cpus[at].rt_used_ns += ns,
            (Class::Fair, Some(group)) => {
                self.groups[group as usize].shares[at].left_ns -= ns.cast_signed();
            }
            _ => {}
        }
    }

    /// Looks, in the tick, whether the current thread's bandwidth is used up.
    pub(super) fn checks_bandwidth(&mut self, at: usize) {
        let current = self.cpus[at].current;
        let Some(thread) = self.threads.get(current as usize) else { return };
        match (thread.class, thread.group, self.kernel.rt_bandwidth) {
            (Class::RealTime(_), _, Some(bandwidth)) => {
                let cpu = &mut self.cpus[at];
                if cpu.rt_used_ns > bandwidth.runtime_ns && !cpu.queue.realtime_off {
                    cpu.queue.realtime_off = true;
                    self.tells_realtime(at, Some(Throttle::RealTime));
                    self.needs(at, at, Need::Now);
                }
            }
            (Class::Fair, Some(group), _) => {
                let group = &mut self.groups[group as usize];
                group.takes(at);
                if group.is_throttled(at) {
                    self.needs(at, at, Need::Now);
                }
            }
            _ => {}
        }
    }

    /// The current thread is about to be in user space, where the kernel holds who has no CPU time.
    pub(super) fn returns_to_user(&mut self, at: usize, thread: ThreadAt) {
        let back = &self.threads[thread as usize];
        let Some(group) = back.group.filter(|_| back.class == Class::Fair) else { return };
        let group = &mut self.groups[group as usize];
        group.takes(at);
        let is_held = self.kernel.throttles == Throttles::Tasks && group.is_throttled(at);
        self.threads[thread as usize].is_held = is_held;
        if is_held {
            self.needs(at, at, Need::Now);
        }
    }

    /// Whether a thread that the scheduler takes off a CPU waits aside for its group's bandwidth. One that is preempted is not
    /// held yet where each is at its own return to user space: it stays in the queue, and is once it has been chosen again.
    pub(super) fn parks_when_taken_off(&mut self, thread: ThreadAt) -> bool {
        let is_held = std::mem::take(&mut self.threads[thread as usize].is_held);
        (self.kernel.throttles == Throttles::Queues || is_held) && self.parks(thread)
    }

    fn tells_realtime(&mut self, at: usize, by: Option<Throttle>) {
        for thread in self.cpus[at].queue.realtime_threads() {
            self.observer.throttled(self.now_ns, thread, by);
        }
    }

    /// Whether a thread that could run may not for want of bandwidth: it waits aside then.
    pub(super) fn parks(&mut self, thread: ThreadAt) -> bool {
        let parked = &self.threads[thread as usize];
        let Some(group) = parked.group.filter(|_| parked.class == Class::Fair) else {
            return false;
        };
        let at = usize::from(parked.cpu);
        let group = &mut self.groups[group as usize];
        group.takes(at);
        let throttled = group.is_throttled(at);
        if throttled {
            group.shares[at].parked.push(thread);
        }
        throttled
    }

    /// A thread has gone to sleep: what a CPU has left of its group's share is for others, where nobody else needs it there.
    pub(super) fn gives_back(&mut self, at: usize, thread: ThreadAt) {
        let threads = &self.threads;
        let Some(group) = threads[thread as usize].group else { return };
        let is_of_it = |other: ThreadAt| threads[other as usize].group == Some(group);
        if self.cpus[at].queue.find(is_of_it).is_none() {
            self.groups[group as usize].leaves(at);
        }
    }

    /// A thread that has come to a queue, or aside.
    pub(super) fn tells_throttle(&mut self, at: usize, thread: ThreadAt) {
        let waits = &self.threads[thread as usize];
        let by = match (waits.class, waits.group) {
            (Class::RealTime(_), _) if self.cpus[at].queue.realtime_off => Throttle::RealTime,
            (Class::Fair, Some(group)) if self.groups[group as usize].holds(at, thread) => {
                Throttle::Group
            }
            _ => return,
        };
        self.observer.throttled(self.now_ns, thread, Some(by));
    }

    /// The current thread's group has no bandwidth: it is about to leave the CPU.
    pub(super) fn tell_group(&mut self, at: usize, thread: ThreadAt, throttled: bool) {
        let Some(group) = self.threads[thread as usize].group else { return };
        if O::EVENTS {
            let kind = TaskGroup { path: NameId(self.groups_named_from + group), throttled };
            let (task, cpu) = (self.task(thread), CpuId(at as u16));
            self.observer.event(Event::new(self.now_ns, cpu, task, kind.into()));
        }
    }

    /// A bandwidth's timer has come to give some back.
    pub(super) fn replenishes(&mut self, at: usize, purpose: Purpose) {
        match purpose {
            Purpose::RtPeriod => {
                let Some(bandwidth) = self.kernel.rt_bandwidth else { return };
                let cpu = &mut self.cpus[at];
                cpu.rt_used_ns = cpu.rt_used_ns.saturating_sub(bandwidth.runtime_ns);
                if cpu.queue.realtime_off && cpu.rt_used_ns < bandwidth.runtime_ns {
                    cpu.queue.realtime_off = false;
                    self.tells_realtime(at, None);
                    let current = self.threads.get(self.cpus[at].current as usize);
                    let current = current.map_or(THREADS_NONE, |current| current.class);
                    if self.cpus[at].queue.first_class().is_some_and(|first| first < current) {
                        self.needs(at, at, Need::Now);
                    }
                }
            }
            Purpose::GroupPeriod(number) => {
                let mut released = self.groups[number as usize].begins_period();
                if self.kernel.throttles == Throttles::Tasks {
                    // Who was held last comes first (`throttled_limbo_list`).
                    released.reverse();
                }
                for thread in released {
                    let to = usize::from(self.threads[thread as usize].cpu);
                    self.observer.throttled(self.now_ns, thread, None);
                    self.charge(to);
                    self.comes(to, thread);
                    self.resched(at, to, thread);
                }
            }
            Purpose::Sleep | Purpose::Timeout | Purpose::Tick | Purpose::StoppedTick => {}
        }
    }

    /// The period of a bandwidth's timer.
    fn period_ns(&self, purpose: Purpose) -> u64 {
        match purpose {
            Purpose::RtPeriod => {
                self.kernel.rt_bandwidth.map_or(0, |bandwidth| bandwidth.period_ns)
            }
            Purpose::GroupPeriod(group) => self.groups[group as usize].period_ns,
            Purpose::Sleep | Purpose::Timeout | Purpose::Tick | Purpose::StoppedTick => 0,
        }
    }

    /// Arms a bandwidth's timer for its next period.
    pub(super) fn arms_period(&mut self, at: usize, timer: TimerAt) {
        let period_ns = self.period_ns(self.timers[timer as usize].purpose);
        let entry = &mut self.timers[timer as usize];
        let soft_ns = entry.soft_ns.max(self.now_ns.saturating_sub(period_ns)) + period_ns;
        (entry.soft_ns, entry.hard_ns) = (soft_ns, soft_ns);
        (entry.armed_ns, entry.cpu) = (self.now_ns, at as u16);
        let arm = Arm::kernel(Expiry::at(soft_ns));
        // The kernel asks for the interrupt for real-time threads' period, and for no group's.
        let is_hard = entry.purpose == Purpose::RtPeriod;
        let arm = if is_hard { arm.in_interrupt() } else { arm };
        entry.key = self.cpus[at].timers.arm(arm, timer).ok();
        self.tell_arm(at, timer, Call::Unknown);
        self.programs(at);
    }

    /// Takes a thread that could run out of wherever it waits.
    pub(super) fn withdraws(&mut self, thread: ThreadAt) {
        let waits = &self.threads[thread as usize];
        debug_assert_eq!(waits.standing, Standing::Ready);
        if let Some(group) = waits.group {
            let share = &mut self.groups[group as usize].shares[usize::from(waits.cpu)];
            share.parked.retain(|other| *other != thread);
        }
        self.takes_out(thread);
    }
}
