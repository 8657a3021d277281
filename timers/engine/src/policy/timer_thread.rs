//! All timers are fired by a softirq thread of their own, at a priority that can be set, in time order.
//!
//! Other softirqs' work no longer holds them up, but other timers still do. (Thomas Gleixner,
//! linux-kernel, "High resolution timers and BH processing on -RT", 2005-01-28.)

use super::kit::{Laned, Rules, Served};
use super::{About, Arm, Context, Key, Settings};
use crate::queue::Queue;
use alloc::vec;
use alloc::vec::Vec;

pub(crate) const ABOUT: About = About {
    name: "timer-thread",
    proposed: "Thomas Gleixner, 2005-01-28",
    contexts: "own softirq thread",
    by_tick: false,
};

pub(crate) fn new<T, Q: Queue<Key>>(
    settings: &Settings,
    queue: &dyn Fn() -> Q,
) -> Laned<T, Q, TimerThread> {
    Laned::new(TimerThread, settings, queue)
}

#[derive(Debug)]
pub(crate) struct TimerThread;

impl Rules for TimerThread {
    fn lanes(&self, settings: &Settings) -> Vec<Served> {
        vec![Served { by: Context::TimerThread(0), priority: settings.timer_thread }]
    }

    fn lane(&self, _arm: &Arm, _priority: u8) -> u8 {
        0
    }
}
