//! What a recorded system did, to be done again: threads' scripts, and what came from outside.
//!
//! Scripts are a closed loop: what a thread does next comes after what it did, so that a delay shifts what follows.
//! What comes from outside (interrupts, a hypervisor's theft) comes by the clock, whatever the threads do. All times
//! count from the beginning of the simulation ([`START_NS`](crate::START_NS)).

use crate::{Cost, Operation};
use std::sync::Arc;

/// A step of what a thread was seen to do, in 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scripted {
    /// It runs for so long, ns.
    Run(u64),
    /// It sleeps for so long from where it asks, ns.
    Sleep(u64),
    /// It sleeps until a time.
    SleepUntil(u64),
    /// It wakes a thread, by its place, from its [`Wait`](Self::Wait), or from the next one.
    Wake(u32),
    /// It waits until a thread or an [`Arrival`] wakes it.
    Wait,
    /// It leaves what it did since the last step out of its lateness: it is back in user space.
    Back,
}

impl Scripted {
    /// Whether it waits for a timer.
    pub const fn is_sleep(&self) -> bool {
        matches!(self, Self::Sleep(_) | Self::SleepUntil(_))
    }

    /// `from_ns`: from where its times count.
    pub(crate) const fn operation(self, from_ns: u64) -> Operation {
        match self {
            Self::Run(ns) => Operation::Run(Cost::Constant(ns)),
            Self::Sleep(ns) => Operation::Sleep(Cost::Constant(ns)),
            Self::SleepUntil(ns) => Operation::SleepUntil(from_ns + ns),
            Self::Wake(thread) => Operation::Wake(thread),
            Self::Wait => Operation::Wait,
            Self::Back => Operation::Back,
        }
    }
}

/// What a thread does, from the first step to the last; then it sleeps for ever, or begins again
/// ([`Thread::again_ns`](crate::Thread::again_ns)).
pub type Script = Arc<[Scripted]>;

/// Nobody is woken.
pub const NO_THREAD: u32 = u32::MAX;

/// An interrupt that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When.
    pub at_ns: u64,
    /// Where.
    pub cpu: u16,
    /// Whose, by its place among the workload's devices.
    pub device: u32,
    /// What its handler took.
    pub handler_ns: u32,
    /// What it left to a softirq.
    pub softirq_ns: u32,
    /// Whom it woke, by its place; [`NO_THREAD`] for nobody.
    pub wakes: u32,
}

/// A hypervisor took a CPU away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// When.
    pub at_ns: u64,
    /// Which CPU.
    pub cpu: u16,
    /// For how long.
    pub ns: u64,
}

/// A CPU becomes slower or faster, as one does that shares a core with another, or is clocked down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// From when on.
    pub at_ns: u64,
    /// Which CPU.
    pub cpu: u16,
    /// The machine's own work takes so many thousandths of what it costs, 1 to [`PERMILLE_MAX`]. What threads do and
    /// what other things from outside take is as it was recorded.
    pub permille: u16,
}

/// The slowest pace.
pub const PERMILLE_MAX: u16 = 10_000;

/// Thousandths of what work costs on a CPU that is not slow.
pub(crate) const AS_USUAL: u16 = 1_000;

/// What came from outside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outside {
    /// Interrupts, in order of time.
    pub arrivals: Arc<[Arrival]>,
    /// Thefts, in order of time.
    pub thefts: Arc<[Taken]>,
    /// Changes of pace, in order of time; before the first one each CPU is as fast as its costs say.
    pub paces: Arc<[Pace]>,
}

/// Those of one CPU that are still to come.
#[derive(Debug, Default)]
pub(crate) struct Coming<T> {
    all: Box<[T]>,
    next: usize,
}

impl<T: Copy> Coming<T> {
    pub(crate) fn of(all: impl Iterator<Item = T>) -> Self {
        Self { all: all.collect(), next: 0 }
    }

    pub(crate) fn first(&self) -> Option<T> {
        self.all.get(self.next).copied()
    }

    pub(crate) fn pass(&mut self) {
        self.next += 1;
    }
}
