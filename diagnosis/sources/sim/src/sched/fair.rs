//! Virtual time of a fair thread, or of a group of them.

use crate::Policy;
use tardy_model::weight;

/// The weight of nice 0.
const NICE_0_WEIGHT: u64 = weight::NICE_0 as u64;

/// The slice of fair threads on one CPU, ns (`normalized_sysctl_sched_base_slice` since 6.15; 0.75 ms before).
const SLICE_NS: u64 = 700_000;

/// More CPUs than these make slices no longer (`get_update_sysctl_factor`).
const SLICE_CPUS_MAX: u16 = 8;

/// The slice of fair threads on a machine, ns.
pub(super) fn slice_ns(cpus: u16) -> u64 {
    SLICE_NS * u64::from(1 + cpus.clamp(1, SLICE_CPUS_MAX).ilog2())
}

/// How a fair thread gives way to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Normal,
    Batch,
    Idle,
}

/// Virtual time of a fair thread or a group, ns at nice 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fair {
    pub(super) kind: Kind,
    pub(super) weight: u64,
    pub(super) virtual_ns: i64,
    pub(super) deadline_ns: i64,
    /// Up to there it keeps the CPU, once it has it.
    pub(super) protected_ns: i64,
    /// What it was owed when it left the queue.
    pub(super) lag_ns: i64,
    /// What was left of its slice, where it did not go to sleep (`rel_deadline`).
    pub(super) left_ns: Option<i64>,
}

impl Fair {
    pub(crate) fn new(policy: Policy) -> Self {
        let (kind, weight) = match policy {
            Policy::Other { nice } => (Kind::Normal, weight::of_nice(nice)),
            Policy::Batch { nice } => (Kind::Batch, weight::of_nice(nice)),
            Policy::Idle => (Kind::Idle, weight::IDLE),
            _ => (Kind::Normal, weight::NICE_0),
        };
        let weight = weight.into();
        Self {
            kind,
            weight,
            virtual_ns: 0,
            deadline_ns: 0,
            protected_ns: 0,
            lag_ns: 0,
            left_ns: None,
        }
    }

    pub(super) fn virtual_of(&self, ns: u64) -> i64 {
        if self.weight == NICE_0_WEIGHT {
            return ns as i64;
        }
        (u128::from(ns) * u128::from(NICE_0_WEIGHT) / u128::from(self.weight)) as i64
    }

    /// It begins a slice.
    pub(super) fn begins_slice(&mut self, slice_ns: u64) {
        self.deadline_ns = self.virtual_ns.saturating_add(self.virtual_of(slice_ns));
    }

    /// It has run. Says whether others may have their turn.
    pub(super) fn runs(&mut self, ns: u64, slice_ns: u64) -> bool {
        self.virtual_ns += self.virtual_of(ns);
        let is_over = self.virtual_ns >= self.deadline_ns;
        if is_over {
            self.begins_slice(slice_ns);
        }
        is_over || self.virtual_ns >= self.protected_ns
    }

    /// The same once it has gone to sleep: what it owed is paid back by the time it has left.
    pub(super) fn asleep(mut self) -> Self {
        self.lag_ns = self.lag_ns.max(0);
        self.without_slice()
    }

    /// The same that begins a slice when it comes back.
    pub(crate) fn without_slice(mut self) -> Self {
        self.left_ns = None;
        self
    }

    /// The same with another weight, while it is in no queue: what it is owed stays the same CPU time.
    pub(super) fn reweighed(mut self, weight: u64) -> Self {
        let (old, new) = (i128::from(self.weight), i128::from(weight));
        let scaled = |ns: i64| (i128::from(ns) * old / new) as i64;
        (self.lag_ns, self.left_ns) = (scaled(self.lag_ns), self.left_ns.map(scaled));
        self.weight = weight;
        self
    }

    /// It gets another weight: what it is owed, and what is left of its slice, stay the same CPU time
    /// (`reweight_entity`).
    pub(super) fn weighs(&mut self, weight: u64, mean_ns: i64) {
        if weight == self.weight {
            return;
        }
        let (old, new) = (i128::from(self.weight), i128::from(weight));
        let scaled = |ns: i64| (i128::from(ns) * old / new) as i64;
        let left_ns = self.deadline_ns - self.virtual_ns;
        self.virtual_ns = mean_ns - scaled(mean_ns - self.virtual_ns);
        self.deadline_ns = self.virtual_ns + scaled(left_ns);
        self.weight = weight;
    }
}
