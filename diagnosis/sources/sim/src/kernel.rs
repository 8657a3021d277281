//! What can be chosen about the simulated kernel: who preempts whom when, where softirqs run, and which
//! timers fire where.

use tardy_timers::policy::{self, About, Settings};

/// The kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// When a thread in the kernel is preempted.
    pub preemption: Preemption,
    /// Where softirqs run that no timer policy has a thread for.
    pub softirqs: Softirqs,
    /// How locks with priority inheritance are given up.
    pub rtmutex: Rtmutex,
    /// Softirqs' threads hold a lock while they run them (`softirq_ctrl.lock` of `PREEMPT_RT`, `kernel/softirq.c`). Who is
    /// woken by its own timer's callback there and preempts it asks to cancel that timer, finds the callback running, and
    /// waits for that lock: until the thread, at the waiter's priority, has done all that was raised
    /// (`hrtimer_cancel_wait_running`, `kernel/time/hrtimer.c`).
    pub softirq_lock: bool,
    /// The bandwidth of real-time threads; `None` for none, as `sched_rt_runtime_us` of -1.
    pub rt_bandwidth: Option<Bandwidth>,
    /// How a control group without CPU time is kept from running.
    pub throttles: Throttles,
    /// The timer policy, by its name in `tardy_timers::policy::KNOWN`.
    pub timers: String,
    /// What can be set about it: `jiffy_ns` is the tick.
    pub settings: Settings,
    /// The tick is stopped while a CPU idles (`NO_HZ_IDLE`), and is a timer in the policy's queue; else it is the
    /// policy's own, always on. It is always on where the policy's timers wait for it.
    pub nohz: bool,
    /// But it is not stopped where the CPU's next timer is nearer than this: less than a jiffy for the governors `menu` and
    /// `teo`, nothing where a CPU just halts.
    pub nohz_from_ns: u64,
    /// Whether irq-off and preempt-off sections are told (`preemptirq` events).
    pub tells_sections: bool,
}

impl Default for Kernel {
    /// `PREEMPT_RT` without threads for timers: all in hard irq.
    fn default() -> Self {
        Self {
            preemption: Preemption::Rt,
            softirqs: Softirqs::Ksoftirqd,
            rtmutex: Rtmutex::New,
            softirq_lock: false,
            rt_bandwidth: None,
            throttles: Throttles::Queues,
            timers: "hardirq".to_owned(),
            settings: Settings { rounds: ROUNDS, ..Settings::default() },
            nohz: false,
            nohz_from_ns: 0,
            tells_sections: true,
        }
    }
}

impl Kernel {
    /// Whether CPUs that idle stop their ticks.
    pub(crate) fn stops_ticks(&self) -> bool {
        let by_tick = |policy: &About| policy.by_tick && policy.name == self.timers;
        self.nohz && !policy::KNOWN.iter().any(by_tick)
    }
}

/// How often `hrtimer_interrupt` looks for timers that are due before it gives up (`kernel/time/hrtimer.c`).
pub(crate) const ROUNDS: u32 = 3;

/// When a thread that runs in the kernel is preempted (`kernel/Kconfig.preempt`). In user space it is at
/// the end of any interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preemption {
    /// Not before it is back in user space.
    None,
    /// At the places where it asks for it: here between two operations of its program.
    Voluntary,
    /// By real-time threads at once, by fair ones at the next tick.
    Lazy,
    /// At once, but for sections without preemption.
    Full,
    /// The same; and softirqs' threads are preempted in the middle of their work.
    Rt,
}

/// How a control group without CPU time is kept from running (`kernel/sched/fair.c`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Throttles {
    /// Its queue is taken from the CPU's: who is woken waits in it.
    #[default]
    Queues,
    /// Each task is held where it would return to user space, so that it runs in the kernel when it is woken: since Linux
    /// 6.18.
    Tasks,
}

/// CPU time in each period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bandwidth {
    /// So much.
    pub runtime_ns: u64,
    /// In so much.
    pub period_ns: u64,
}

/// How a lock with priority inheritance is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rtmutex {
    /// The next owner is woken, and the lent priority given back, with the hash bucket's lock held.
    Old,
    /// Both come after it, and nobody preempts between them.
    New,
}

/// Where softirqs run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Softirqs {
    /// At the end of the interrupt that raised them.
    IrqTail,
    /// In the thread `ksoftirqd` of each CPU.
    Ksoftirqd,
    /// Those of timers in `ktimers`, `SCHED_FIFO` 1, the others in `ksoftirqd`.
    Ktimers,
}
