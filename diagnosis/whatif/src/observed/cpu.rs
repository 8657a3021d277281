//! A CPU while a recording is read.

use super::contexts::Contexts;
use tardy_explain::Activity;

/// A CPU while a recording is read.
#[derive(Debug)]
pub(super) struct CpuSeen {
    pub(super) since_ns: u64,
    pub(super) activity: Activity,
    pub(super) contexts: Contexts,
    /// When it last began to idle, and in which state it was.
    pub(super) idle_state: Option<u32>,
    pub(super) idles_since_ns: u64,
    /// The last event was one after which the scheduler may be called.
    pub(super) left_at_ns: Option<u64>,
    /// The interrupt of the timer that runs.
    pub(super) timer: Option<TimerIrq>,
    pub(super) last_end_ns: u64,
    pub(super) stolen_since_irq: bool,
}

/// An interrupt of the timer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TimerIrq {
    pub(super) begin_ns: u64,
    pub(super) was_idle: Option<u32>,
    pub(super) was_task: bool,
    pub(super) callback_begin_ns: u64,
    pub(super) callback_end_ns: u64,
    pub(super) callbacks: u32,
    pub(super) waking_ns: u64,
    pub(super) wakes_fair: bool,
    /// The callback that has ended woke a fair thread, and its waking took so long: it may be the last one.
    pub(super) woke: Option<(bool, u64)>,
}

impl Default for CpuSeen {
    fn default() -> Self {
        Self {
            since_ns: 0,
            activity: Activity::Unknown,
            contexts: Contexts::default(),
            idle_state: None,
            idles_since_ns: 0,
            left_at_ns: None,
            timer: None,
            last_end_ns: 0,
            stolen_since_irq: false,
        }
    }
}
