//! All timers are fired in hard irq, in time order, one on top of the other.
//!
//! A thread's timer waits for every callback that is due before, whoever's it is: the stacking that
//! (Gratian Crisan, "latency induced by hrtimer stacking", 2017-01-04) reports.

use super::kit::{Laned, Rules, Served};
use super::{About, Arm, Context, HARD_IRQ_PRIORITY, Key, Settings};
use crate::queue::Queue;
use alloc::vec;
use alloc::vec::Vec;

pub(crate) const ABOUT: About = About {
    name: "hardirq",
    proposed: "as Gratian Crisan found it, 2017-01-04",
    contexts: "hard irq",
    by_tick: false,
};

pub(crate) fn new<T, Q: Queue<Key>>(
    settings: &Settings,
    queue: &dyn Fn() -> Q,
) -> Laned<T, Q, HardIrq> {
    Laned::new(HardIrq, settings, queue)
}

#[derive(Debug)]
pub(crate) struct HardIrq;

impl Rules for HardIrq {
    fn lanes(&self, _settings: &Settings) -> Vec<Served> {
        vec![Served { by: Context::HardIrq, priority: HARD_IRQ_PRIORITY }]
    }

    fn lane(&self, _arm: &Arm, _priority: u8) -> u8 {
        0
    }
}
