//! What a measurement of a lock yields.

#[cfg(doc)]
use super::LONG_ROUND_NS;
use super::busy_wait::LoadCheck;
use super::plan::LockProtocol;
#[cfg(doc)]
use super::plan::{Plan, TIME_MAX};
use super::rounds::WorstRound;
use super::throttling::Throttling;
use crate::Policy;
use tardy_stats::Histogram;
use tardy_stats::Latencies;

/// What was measured.
#[derive(Clone, Debug)]
pub struct PiMeasurement {
    /// What the mutex did to its holder's priority.
    pub protocol: LockProtocol,
    /// Whether it was a robust one.
    pub robust: bool,
    /// The CPU of High and Busy.
    pub cpu: u16,
    /// CPUs that Low could use, that one included.
    pub cpus: usize,
    /// High's priority under `SCHED_FIFO`; Busy's was one below.
    pub prio: u8,
    /// Low's policy.
    pub low_policy: Policy,
    /// Its real-time priority; 0 where the policy has none.
    pub low_prio: u8,
    /// Thread ids.
    pub tids: Tids,
    /// What reading the clock once costs: it is within each time to lock, and once within each round.
    pub clock_ns: u64,
    /// What the cheapest futex call costs, with one reading: a lock call that took less was not in the
    /// kernel.
    pub kernel_call_ns: u64,
    /// The load with the lock.
    pub locked: LoadCheck,
    /// The load without it.
    pub free: LoadCheck,
    /// Rounds before those that count; as many again whenever what was kept had been counted.
    pub training_rounds: u64,
    /// How long the lock calls took, one a round.
    pub to_lock: Latencies,
    /// How long the rounds took, less what both loads were to be.
    pub jitter: Latencies,
    /// Exact 1-µs bins of the time to lock and of the jitter, where they were asked for.
    pub histograms: Option<[Histogram; 2]>,
    /// The round that took longest.
    pub worst: Option<WorstRound>,
    /// Rounds that took less than both loads; their jitter counts as 0.
    pub shorter: u64,
    /// Lock calls that took at least [`PiMeasurement::kernel_call_ns`]: no more than these can have
    /// gone to the kernel.
    pub slow_calls: u64,
    /// How often High gave its CPU up in these rounds, as the kernel counts (`ru_nvcsw`): so often it
    /// slept until it got the lock. Where the holder runs, the kernel may spin instead.
    pub sleeps: u64,
    /// Rounds that took [`LONG_ROUND_NS`] or more, less their loads.
    pub long_rounds: u64,
    /// Those of them in which High lost its CPU though it could run: to throttling, or to a thread
    /// above it.
    pub long_rounds_preempted: u64,
    /// How often a robust lock's owner had died.
    pub owners_died: u64,
    /// Low's rounds, from its start to its end.
    pub low_rounds: u64,
    /// What the kernel does to real-time threads that never sleep.
    pub throttling: Throttling,
    /// From when, of `CLOCK_MONOTONIC`.
    pub began_ns: u64,
    /// Until when.
    pub ended_ns: u64,
    /// Why it ended.
    pub ended: Ended,
    /// What was not permitted, and what a reader must know besides: a sentence each.
    pub notes: Vec<String>,
}

/// The threads' ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tids {
    /// High's.
    pub high: u32,
    /// Busy's.
    pub busy: u32,
    /// Low's.
    pub low: u32,
}

/// Why a measurement ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All rounds were done.
    Rounds,
    /// The duration was over.
    Duration,
    /// It was asked to.
    Stopped,
    /// The watchdog: no round had ended for [`Plan::stall_max`].
    Stalled,
    /// The watchdog: it had taken [`TIME_MAX`], or a duration and a stall.
    TimeMax,
    /// A thread could not go on; the error says why.
    Failed,
}

impl Ended {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rounds => "rounds",
            Self::Duration => "duration",
            Self::Stopped => "stopped",
            Self::Stalled => "stalled",
            Self::TimeMax => "time_max",
            Self::Failed => "failed",
        }
    }
}
