//! All timers are fired by the common softirq thread, in time order, among all other softirq work.
//!
//! What the real-time patches did first: who waits for a timer waits for every other client of that thread too.
//! (Thomas Gleixner, linux-kernel, "High resolution timers and BH processing on -RT", 2005-01-28.)

use super::kit::{Laned, Rules, Served};
use super::{About, Arm, Context, Key, Settings};
use crate::queue::Queue;
use alloc::vec;
use alloc::vec::Vec;

pub(crate) const ABOUT: About = About {
    name: "ksoftirqd",
    proposed: "measured by Thomas Gleixner, 2005-01-28",
    contexts: "common softirq thread",
    by_tick: false,
};

pub(crate) fn new<T, Q: Queue<Key>>(
    settings: &Settings,
    queue: &dyn Fn() -> Q,
) -> Laned<T, Q, Ksoftirqd> {
    Laned::new(Ksoftirqd, settings, queue)
}

#[derive(Debug)]
pub(crate) struct Ksoftirqd;

impl Rules for Ksoftirqd {
    fn lanes(&self, settings: &Settings) -> Vec<Served> {
        vec![Served { by: Context::CommonSoftirq, priority: settings.common }]
    }

    fn lane(&self, _arm: &Arm, _priority: u8) -> u8 {
        0
    }
}
