//! Threads that wait for a timer's callback on another CPU to end before they go on.
//!
//! A thread that its timer has woken takes that off first (`hrtimer_cancel`, `timer_delete_sync`). Where the callback
//! still runs, on another CPU, it goes round in circles until that is over, and without kernel preemption gives its CPU
//! to nobody meanwhile. So a hypervisor that stops the one CPU in the callback, most often while that sends the
//! interrupt for the thread, has stopped the other with it. What it took is told once the first goes on, and often
//! after the second has.

use std::collections::VecDeque;
use tardy_model::{CpuId, TaskId};

/// What is shorter is a callback that nobody stopped.
pub(crate) const CALLBACK_NS_MIN: u64 = 10_000;

/// Waits of which it is not told yet what was stolen; of more, the oldest stay the threads' own time.
const CANCELS_MAX: usize = 64;

/// A thread waited, on a CPU, for a callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cancel {
    pub(crate) task: TaskId,
    /// Where it waited.
    pub(crate) on: usize,
    /// Where the callback ran.
    pub(crate) of: usize,
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
}

/// A thread waited on a CPU, and what it waited for was stopped by a hypervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldUp {
    /// The thread.
    pub task: TaskId,
    /// Where it waited.
    pub cpu: CpuId,
    /// Since when.
    pub from_ns: u64,
    /// Until when.
    pub to_ns: u64,
}

/// Waits for callbacks on CPUs that are still to tell what was stolen from them.
#[derive(Debug, Default)]
pub(crate) struct Cancels(VecDeque<Cancel>);

impl Cancels {
    pub(crate) fn add(&mut self, cancel: Cancel) {
        if self.0.len() == CANCELS_MAX {
            self.0.pop_front();
        }
        self.0.push_back(cancel);
    }

    /// Those for callbacks of a CPU.
    pub(crate) fn of(&self, cpu: usize) -> impl Iterator<Item = &Cancel> {
        self.0.iter().filter(move |cancel| cancel.of == cpu)
    }

    /// A CPU has told all that was stolen from it up to a time.
    pub(crate) fn told(&mut self, cpu: usize, known_ns: u64) {
        if !self.0.is_empty() {
            self.0.retain(|cancel| cancel.of != cpu || cancel.to_ns > known_ns);
        }
    }

    /// Whether what a CPU did in a time may turn out to be a hypervisor's.
    #[inline]
    pub(crate) fn awaits(&self, on: usize, from_ns: u64, to_ns: u64) -> bool {
        let is_in = |cancel: &Cancel| cancel.from_ns < to_ns && from_ns < cancel.to_ns;
        self.0.iter().any(|cancel| cancel.on == on && is_in(cancel))
    }
}
