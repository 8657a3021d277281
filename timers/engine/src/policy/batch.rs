//! All timers that are pending are fired in strict time order by one thread, which runs at the highest
//! priority of any that is pending and lowers itself as it goes. Of those that expire at the same time the one of the
//! highest priority is first.
//!
//! A timer has the priority of the task that armed it, or of its level's thread. (George Anzinger,
//! linux-kernel, "Re: High resolution timers and BH processing on -RT", 2005-01-28.)

use super::kit::{Equals, Laned, Pending, Rules, Served};
use super::{About, Arm, Context, Key, Settings};
use crate::queue::Queue;
use alloc::vec;
use alloc::vec::Vec;

pub(crate) const ABOUT: About = About {
    name: "batch",
    proposed: "George Anzinger, 2005-01-28",
    contexts: "own softirq thread",
    by_tick: false,
};

pub(crate) fn new<T, Q: Queue<Key>>(
    settings: &Settings,
    queue: &dyn Fn() -> Q,
) -> Laned<T, Q, Batch> {
    Laned::new(Batch, settings, queue)
}

#[derive(Debug)]
pub(crate) struct Batch;

impl Rules for Batch {
    fn lanes(&self, _settings: &Settings) -> Vec<Served> {
        vec![Served { by: Context::TimerThread(0), priority: 0 }]
    }

    fn lane(&self, _arm: &Arm, _priority: u8) -> u8 {
        0
    }

    /// The order of time leaves it open; by priority nobody waits for one that is less urgent and was no earlier.
    fn equals(&self) -> Equals {
        Equals::ByPriority
    }

    fn follows(&self, pending: &Pending) -> Option<u8> {
        pending.highest_priority()
    }
}
