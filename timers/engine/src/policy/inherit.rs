//! Each timer has the priority of the task that armed it, and the one timer thread fires them in
//! priority order, at that priority; within a priority there is time order.
//!
//! A timer with a level has the priority of that level's thread. (Ingo Molnar, linux-kernel, "High
//! resolution timers and BH processing on -RT", 2005-01-28.)

use super::kit::{Laned, Rules, Served};
use super::{About, Arm, Context, Key, Settings, THREAD_PRIORITY_MAX};
use crate::queue::Queue;
use alloc::vec::Vec;

pub(crate) const ABOUT: About = About {
    name: "inherit",
    proposed: "Ingo Molnar, 2005-01-28",
    contexts: "own softirq thread",
    by_tick: false,
};

pub(crate) fn new<T, Q: Queue<Key>>(
    settings: &Settings,
    queue: &dyn Fn() -> Q,
) -> Laned<T, Q, Inherit> {
    Laned::new(Inherit, settings, queue)
}

#[derive(Debug)]
pub(crate) struct Inherit;

impl Rules for Inherit {
    fn lanes(&self, _settings: &Settings) -> Vec<Served> {
        let at = |priority| Served { by: Context::TimerThread(0), priority };
        (0..=THREAD_PRIORITY_MAX).map(at).collect()
    }

    fn lane(&self, _arm: &Arm, priority: u8) -> u8 {
        priority
    }
}
