//! The workload: threads as small programs, and interrupts of devices.

use crate::cost::Tables;
use crate::{Bandwidth, Cost, Outside, Script};
use std::num::NonZeroU64;

/// The most threads.
pub(crate) const THREADS_MAX: usize = 1 << 16;

/// The most operations of one program.
pub(crate) const OPERATIONS_MAX: usize = 1 << 12;

/// What runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workload {
    /// Threads.
    pub threads: Vec<Thread>,
    /// Devices that interrupt.
    pub devices: Vec<Device>,
    /// Control groups; threads name them by place. Each comes after the one that it is in.
    pub groups: Vec<Group>,
    /// How many locks there are; operations name them by number.
    pub locks: u32,
    /// What came from outside while a system was recorded that is done again.
    pub outside: Outside,
}

/// A thread.
#[derive(Clone, Debug, PartialEq)]
pub struct Thread {
    /// Its name; 15 bytes are kept.
    pub name: String,
    /// Its scheduling policy.
    pub policy: Policy,
    /// The CPUs on which it may run, a bit each; those that the machine does not have count as none.
    pub cpus: u64,
    /// Where it begins; spread over those that it may use where that is `None` or not among them.
    pub first_cpu: Option<u16>,
    /// Its timer slack; real-time threads have none.
    pub slack_ns: u64,
    /// Its way back from a sleep to user space takes so much more than the machine's (`syscall_exit`).
    pub returns: Cost,
    /// Its timers' callbacks take so much more than the machine's.
    pub callback: Cost,
    /// What it does, from the first to the last.
    pub program: Vec<Operation>,
    /// Where it goes on after the last; at its end where that is no operation, and then it sleeps for ever.
    pub repeat_from: usize,
    /// What it does instead of a program, where it was recorded.
    pub script: Option<Script>,
    /// At that script's end it goes on at the step `repeat_from`, with its times so much later; `None`: then it sleeps
    /// for ever.
    pub again_ns: Option<NonZeroU64>,
    /// Of that it leaves out what was to be done at times that have passed, as who keeps to a grid does.
    pub skips_passed: bool,
    /// Sections with interrupts off in what it runs.
    pub irqs_off: Option<Sections>,
    /// Sections without preemption in what it runs.
    pub preempt_off: Option<Sections>,
    /// Its control group.
    pub group: Option<u32>,
    /// Its wakeups are what the system is measured by.
    pub watched: bool,
    /// What is measured of it.
    pub measured: Measured,
}

impl Default for Thread {
    /// An ordinary thread that does nothing, anywhere.
    fn default() -> Self {
        Self {
            name: "thread".to_owned(),
            policy: Policy::Other { nice: 0 },
            cpus: u64::MAX,
            first_cpu: None,
            slack_ns: 50_000,
            returns: Cost::ZERO,
            callback: Cost::ZERO,
            program: Vec::new(),
            repeat_from: 0,
            script: None,
            again_ns: None,
            skips_passed: false,
            irqs_off: None,
            preempt_off: None,
            group: None,
            watched: false,
            measured: Measured::Lateness,
        }
    }
}

/// What of a thread is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Measured {
    /// How late it is back from its sleeps.
    #[default]
    Lateness,
    /// How long each sleep took, from call to return.
    Sleeps,
    /// How long it took to get each lock with priority inheritance: 0 where that was free.
    Locks,
}

/// A thread's scheduling policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// `SCHED_OTHER`, −20 to 19.
    Other {
        /// Lower has the larger share.
        nice: i8,
    },
    /// `SCHED_BATCH`, −20 to 19: it preempts nobody when it is woken.
    Batch {
        /// Lower has the larger share.
        nice: i8,
    },
    /// `SCHED_IDLE`: the same, every other thread preempts it, and its share is the least.
    Idle,
    /// `SCHED_FIFO`, 1 to 99.
    Fifo(u8),
    /// `SCHED_RR`, 1 to 99, with the kernel's slice of 100 ms.
    RoundRobin(u8),
    /// `SCHED_DEADLINE`: the earliest deadline first. Its budget is not enforced.
    Deadline {
        /// From where it is woken.
        deadline_ns: u64,
    },
}

/// Short stretches in what a thread runs, as a process in its own CPU time.
#[derive(Clone, Debug, PartialEq)]
pub struct Sections {
    /// CPU time from the end of one to the next.
    pub every: Cost,
    /// How long each lasts.
    pub length: Cost,
}

/// A step of a thread's program.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// Runs in user space.
    Run(Cost),
    /// Runs in the kernel.
    Kernel(Cost),
    /// Runs with interrupts off.
    IrqsOff(Cost),
    /// Runs without being preempted.
    PreemptOff(Cost),
    /// Sleeps for so long, from now on (`clock_nanosleep`, relative).
    Sleep(Cost),
    /// Sleeps to the next time of its own grid (`clock_nanosleep`, absolute). Where that has passed, it asks
    /// for it all the same.
    SleepGrid {
        /// From one time to the next.
        period_ns: u64,
        /// The first one comes so long after its first use, drawn once.
        phase: Cost,
        /// But its first use counts from this long after the beginning, where it comes before: grids of several
        /// threads begin together.
        from_ns: u64,
    },
    /// Sleeps until so long after the beginning (`clock_nanosleep`, absolute).
    SleepUntil(u64),
    /// Is back in user space: what is measured ends here, where the thread marks that.
    Back,
    /// Moves a timer of its own that wakes nobody to so long from now: a timeout, so a coarse one where the
    /// timer policy tells them apart.
    Rearm(Cost),
    /// Wakes a thread, by its place, from its [`Wait`](Self::Wait), or from the next one.
    Wake(u32),
    /// Waits until a thread wakes it.
    Wait,
    /// Takes a lock, or waits for it. Who has waited longest at the highest priority comes first.
    Lock(u32),
    /// Gives a lock back.
    Unlock(u32),
    /// Takes a lock with priority inheritance (`FUTEX_LOCK_PI`).
    PiLock(u32),
    /// Gives such a lock back.
    PiUnlock(u32),
}

impl Operation {
    /// Makes its cost ready to be drawn from.
    pub(crate) fn prepare(&mut self, tables: &mut Tables) {
        match self {
            Self::Run(cost)
            | Self::Kernel(cost)
            | Self::IrqsOff(cost)
            | Self::PreemptOff(cost)
            | Self::Sleep(cost)
            | Self::SleepGrid { phase: cost, .. }
            | Self::Rearm(cost) => cost.prepare(tables),
            Self::SleepUntil(_)
            | Self::Back
            | Self::Wake(_)
            | Self::Wait
            | Self::Lock(_)
            | Self::Unlock(_)
            | Self::PiLock(_)
            | Self::PiUnlock(_) => {}
        }
    }
}

/// A control group, or a session of which the kernel makes one (`sched_autogroup`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its path.
    pub name: String,
    /// The group in which it is.
    pub within: Option<u32>,
    /// Its share of the CPU against others' there, as a thread of nice 0 has 1024 (`cpu.shares`, or `cpu.weight` of which
    /// 100 are 1024). `None`: its threads share the CPU as if it were not there.
    pub weight: Option<u32>,
    /// CPU time of all CPUs together (`cpu.max`), where it may not use all of it.
    pub bandwidth: Option<Bandwidth>,
}

impl Group {
    /// Whether it is a session, and no control group that could be given a bandwidth.
    pub fn is_session(&self) -> bool {
        self.name.starts_with("/autogroup-")
    }
}

impl Workload {
    /// A group and those around it, from the innermost outwards.
    pub fn around(&self, group: Option<u32>) -> impl Iterator<Item = (u32, &Group)> {
        let of = |at: u32| Some((at, self.groups.get(at as usize)?));
        std::iter::successors(group.and_then(of), move |(at, group)| {
            group.within.filter(|within| within < at).and_then(of)
        })
    }

    /// The group around a thread's that gives least CPU time, if any gives less than all: bandwidths do not nest here.
    pub fn limit(&self, group: Option<u32>) -> Option<u32> {
        let limited = self.around(group).filter_map(|(at, group)| Some((at, group.bandwidth?)));
        let share = |limit: Bandwidth| limit.runtime_ns as f64 / limit.period_ns as f64;
        limited.min_by(|(_, a), (_, b)| share(*a).total_cmp(&share(*b))).map(|(at, _)| at)
    }
}

/// A device that interrupts.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// Where it interrupts.
    pub cpu: u16,
    /// From one interrupt to the next; `None` where it interrupts only as recorded ([`Outside`]).
    pub every: Option<Cost>,
    /// Its handler.
    pub handler: Cost,
    /// Work that the handler leaves to the softirq `NET_RX`.
    pub softirq: Option<Cost>,
}

impl Device {
    /// Makes its costs ready to be drawn from.
    pub(crate) fn prepare(&mut self, tables: &mut Tables) {
        let Self { name: _, cpu: _, every, handler, softirq } = self;
        let all = every.iter_mut().chain([handler]).chain(softirq);
        all.for_each(|cost| cost.prepare(tables));
    }
}
