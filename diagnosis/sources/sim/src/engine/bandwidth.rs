//! Bandwidths: of all real-time threads of a CPU (`kernel/sched/rt.c` before 6.12), and of control groups of fair
//! ones (`kernel/sched/fair.c`). They are looked at in the tick, and given back by timers of their own.
//!
//! Left out: a group's share is one pool, not handed to CPUs in slices; groups do not nest, and weigh nothing;
//! CPUs do not lend each other real-time bandwidth.

use super::thread::{Purpose, Standing};
use super::{Need, Simulation, THREADS_NONE};
use crate::observer::{Observer, ThreadAt, Throttle, TimerAt};
use crate::sched::Class;
use tardy_model::event::{Call, TaskGroup};
use tardy_model::{CpuId, Event, NameId};
use tardy_timers::Expiry;
use tardy_timers::policy::Arm;

/// A control group while it is simulated.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) quota_ns: u64,
    pub(super) period_ns: u64,
    pub(super) used_ns: u64,
    pub(super) throttled: bool,
    /// Its threads that could run.
    pub(super) parked: Vec<ThreadAt>,
}

impl<O: Observer> Simulation<O> {
    /// What a thread has run counts for its bandwidth.
    pub(super) fn uses(&mut self, at: usize, thread: ThreadAt, ns: u64) {
        let thread = &self.threads[thread as usize];
        match (thread.class, thread.group) {
            (Class::RealTime(_), _) => self.cpus[at].rt_used_ns += ns,
            (Class::Fair, Some(group)) => self.groups[group as usize].used_ns += ns,
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
                group.throttled |= group.used_ns >= group.quota_ns;
                if group.throttled {
                    self.needs(at, at, Need::Now);
                }
            }
            _ => {}
        }
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
        let group = &mut self.groups[group as usize];
        if group.throttled {
            group.parked.push(thread);
        }
        group.throttled
    }

    /// A thread that has come to a queue, or aside.
    pub(super) fn tells_throttle(&mut self, at: usize, thread: ThreadAt) {
        let waits = &self.threads[thread as usize];
        let by = match (waits.class, waits.group) {
            (Class::RealTime(_), _) if self.cpus[at].queue.realtime_off => Throttle::RealTime,
            (Class::Fair, Some(group)) if self.groups[group as usize].throttled => Throttle::Group,
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
                let group = &mut self.groups[number as usize];
                group.used_ns = group.used_ns.saturating_sub(group.quota_ns);
                if !group.throttled || group.used_ns >= group.quota_ns {
                    return;
                }
                group.throttled = false;
                let parked = std::mem::take(&mut group.parked);
                for thread in parked {
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
        entry.key = self.cpus[at].timers.arm(Arm::kernel(Expiry::at(soft_ns)), timer).ok();
        self.tell_arm(at, timer, Call::Unknown);
        self.programs(at);
    }

    /// Takes a thread that could run out of wherever it waits.
    pub(super) fn withdraws(&mut self, thread: ThreadAt) {
        let waits = &self.threads[thread as usize];
        debug_assert_eq!(waits.standing, Standing::Ready);
        if let Some(group) = waits.group {
            self.groups[group as usize].parked.retain(|other| *other != thread);
        }
        self.cpus[usize::from(waits.cpu)].queue.remove(thread, waits.class);
    }
}
