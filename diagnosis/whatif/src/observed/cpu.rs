//! A CPU while a recording is read.

use super::cold::Cold;
use super::contexts::Contexts;
use super::recent::Recent;
use super::waking::{Slept, Windows};
use tardy_explain::Activity;
use tardy_model::TaskId;

/// Vectors of softirqs (`NR_SOFTIRQS` in `include/linux/interrupt.h`).
const SOFTIRQS: usize = 10;

/// A CPU while a recording is read.
#[derive(Debug)]
pub(super) struct CpuSeen {
    pub(super) since_ns: u64,
    pub(super) activity: Activity,
    pub(super) contexts: Contexts,
    /// When it last began to idle, and in which state it was.
    pub(super) idle_state: Option<u32>,
    pub(super) idles_since_ns: u64,
    /// When it went into it; `None` while it is only on its way there.
    pub(super) entered_ns: Option<u64>,
    /// For how long a hypervisor may look whether it has to wake up: in the sleep that it is in, or was last; and in the
    /// next one.
    windows: [Windows; 2],
    is_asleep: bool,
    /// How it slept last, and when it woke up.
    cold: Cold,
    woke_ns: u64,
    /// It has left that state at that time, and nothing has come since.
    pub(super) idled: Option<(u32, u64)>,
    /// Since when another CPU has been waking a thread for it, which slept then, and whom.
    pub(super) called: Option<(u64, TaskId)>,
    /// When it last woke a thread, and whom.
    pub(super) woke: Option<(u64, TaskId)>,
    /// The last event was one after which the scheduler may be called.
    pub(super) left_at_ns: Option<u64>,
    /// When a thread got the CPU, and when timers' softirq that has begun was on its way: since that, or the end of an
    /// interrupt. Nothing else has come since.
    pub(super) got_cpu_ns: Option<u64>,
    pub(super) softirq_since_ns: Option<u64>,
    /// The idle task has started its tick again since.
    pub(super) restarts_tick: bool,
    /// The interrupt of the timer that runs.
    pub(super) timer: Option<TimerIrq>,
    /// When a callback woke a thread in the softirq that runs, and when it ended; nothing has come since.
    pub(super) soft_woke: Option<(u64, u64)>,
    pub(super) last_end_ns: u64,
    /// By vector of a softirq that is raised, and of one that runs: the interrupt that did it, where one did.
    pub(super) raised_by: [Option<Raiser>; SOFTIRQS],
    pub(super) served_by: [Option<Raiser>; SOFTIRQS],
    /// The softirq that its thread for that runs.
    pub(super) threaded: Option<Threaded>,
    /// What it is not yet known of whether it was stolen.
    pub(super) recent: Recent,
    /// When a thread armed the timer on which it goes to sleep, and whether the device was programmed for it; nothing has
    /// come since.
    pub(super) armed: Option<(u64, bool)>,
}

/// A device's interrupt that raised a softirq.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Raiser {
    pub(super) line: u32,
    /// Its place among the arrivals, once it has ended.
    pub(super) arrival: Option<usize>,
}

/// A softirq in a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Threaded {
    pub(super) task: TaskId,
    pub(super) vector: u32,
    pub(super) by: Raiser,
    /// What it has run.
    pub(super) ns: u64,
}

/// How a callback woke a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Woke {
    /// A fair one, or not, and no other CPU was interrupted for it.
    Here(bool),
    /// For another CPU, which slept.
    ForAnother,
}

/// An interrupt of the timer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TimerIrq {
    pub(super) begin_ns: u64,
    /// Since when nothing had happened on its CPU.
    pub(super) silent_since_ns: u64,
    /// The idle state that it ended, and since when the CPU had been in it.
    pub(super) was_idle: Option<(u32, u64)>,
    /// The task that it interrupted.
    pub(super) was_task: Option<TaskId>,
    pub(super) callback_begin_ns: u64,
    pub(super) callback_end_ns: u64,
    pub(super) callbacks: u32,
    pub(super) waking_ns: u64,
    pub(super) wakes_fair: bool,
    /// The thread that is being woken, and whether another CPU is interrupted for it.
    pub(super) wakes: TaskId,
    pub(super) sends: bool,
    /// The callback that has ended woke a thread, how, and from then on: it may be the last one.
    pub(super) woke: Option<(Woke, u64)>,
}

impl CpuSeen {
    /// It goes into an idle state.
    pub(super) fn falls_asleep(&mut self, now_ns: u64, polls: bool) {
        self.entered_ns = Some(now_ns);
        self.is_asleep = !polls;
        self.windows[0] = self.windows[1];
    }

    /// It is awake again, if it was not.
    pub(super) fn is_awake(&mut self, now_ns: u64) {
        if let (true, Some(entered_ns)) = (std::mem::take(&mut self.is_asleep), self.entered_ns) {
            let slept_ns = now_ns.saturating_sub(entered_ns);
            self.windows[1].adapt(slept_ns);
            (self.cold, self.woke_ns) = (Cold::after(slept_ns), now_ns);
        }
    }

    /// How it had slept before work that began at a time.
    pub(super) fn cold_at(&self, from_ns: u64) -> Cold {
        if Cold::is_over(self.woke_ns, from_ns) { Cold::default() } else { self.cold }
    }

    /// How it had slept at a time at which it was to wake up.
    pub(super) fn slept(&self, until_ns: u64) -> Slept {
        self.windows[0].slept(until_ns.saturating_sub(self.entered_ns.unwrap_or(until_ns)))
    }

    /// Nobody knows what it did between these times, and what it does now is seen from its next event on.
    pub(super) fn loses(&mut self, from_ns: u64, to_ns: u64) {
        self.recent.forget(from_ns);
        let recent = std::mem::take(&mut self.recent);
        *self = Self { since_ns: to_ns, recent, ..Self::default() };
    }
}

impl Default for CpuSeen {
    fn default() -> Self {
        Self {
            since_ns: 0,
            activity: Activity::Unknown,
            contexts: Contexts::default(),
            idle_state: None,
            idles_since_ns: 0,
            entered_ns: None,
            windows: Default::default(),
            is_asleep: false,
            cold: Cold::default(),
            woke_ns: 0,
            idled: None,
            called: None,
            woke: None,
            left_at_ns: None,
            got_cpu_ns: None,
            softirq_since_ns: None,
            restarts_tick: false,
            timer: None,
            soft_woke: None,
            last_end_ns: 0,
            raised_by: [None; SOFTIRQS],
            served_by: [None; SOFTIRQS],
            threaded: None,
            recent: Recent::default(),
            armed: None,
        }
    }
}
