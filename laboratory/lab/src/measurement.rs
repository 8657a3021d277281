//! What a measurement yields.

use crate::ThreadUsage;
use crate::cyclic::OwnCost;
use tardy_stats::Histogram;
use tardy_stats::{Blocking, Latencies};

/// The result of a measurement.
#[derive(Clone, Debug, Default)]
pub struct Measurement {
    /// One entry per measuring thread.
    pub threads: Vec<ThreadMeasurement>,
    /// The bound that was exceeded, where that ended the measurement.
    pub broken_by: Option<BoundBroken>,
    /// What the permissions did not allow, one sentence each with what would bring it.
    pub notes: Vec<String>,
    /// Exact 1-µs bins, one entry per measuring thread; empty where none were asked for.
    pub histograms: Vec<Histogram>,
}

/// What one measuring thread saw.
#[derive(Clone, Debug, Default)]
pub struct ThreadMeasurement {
    /// The thread's name.
    pub name: String,
    /// Its thread id.
    pub pid: u32,
    /// The scheduling policy that it really had.
    pub policy: Policy,
    /// Its real-time priority, 1–99; 0 where the policy has none.
    pub prio: u8,
    /// The CPU that it was bound to.
    pub cpu: Option<u16>,
    /// The time between two expiries.
    pub interval_ns: u64,
    /// How late it was, once an interval.
    pub latencies: Latencies,
    /// Expiries that it could not wait for, because it was still late from one before.
    pub overruns: u64,
    /// How much neighbours in time depend on each other, as sums: see [`Blocking::dependence`].
    pub blocking: Blocking,
    /// What the kernel counted against it from its first wait to its last return; `None` where it does
    /// not tell.
    pub usage: Option<ThreadUsage>,
    /// What taking a sample cost it, as calibrated before the start; `None` where it was not.
    pub own_cost: Option<OwnCost>,
}

/// A latency above the bound given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundBroken {
    /// Who was late.
    pub thread: String,
    /// How late.
    pub latency_ns: u64,
    /// The expiry that it was late for.
    pub expiry_ns: u64,
}

/// A scheduling policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Policy {
    /// `SCHED_FIFO`.
    Fifo,
    /// `SCHED_RR`.
    Rr,
    /// `SCHED_DEADLINE`.
    Deadline,
    /// `SCHED_OTHER`.
    #[default]
    Other,
}

impl Policy {
    /// The kernel's name.
    pub const fn kernel_name(self) -> &'static str {
        match self {
            Self::Fifo => "SCHED_FIFO",
            Self::Rr => "SCHED_RR",
            Self::Deadline => "SCHED_DEADLINE",
            Self::Other => "SCHED_OTHER",
        }
    }

    /// The name on command lines and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fifo => "fifo",
            Self::Rr => "rr",
            Self::Deadline => "deadline",
            Self::Other => "other",
        }
    }
}
