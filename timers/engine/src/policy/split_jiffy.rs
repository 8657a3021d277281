//! As `jiffy-list`, with the work at the edge split in four, in the jiffy interrupt: move the precise
//! timers of this jiffy out of the list and program the device; run the shadowed ones, which are too
//! close to the edge for that; move expired low-res timers to a work list; schedule that work.
//!
//! Low-res callbacks run in the softirq thread, and no precise timer waits for one. What is due within
//! [`Settings::too_close_ns`] is waited for in the interrupt. (Thomas Gleixner, linux-kernel, "Re: High
//! resolution timers and BH processing on -RT", 2005-01-31.)

use super::kit::{EdgeWork, JiffyLists};
use super::{About, Key, Settings};
use crate::queue::Queue;

pub(crate) const ABOUT: About = About {
    name: "split-jiffy",
    proposed: "Thomas Gleixner, 2005-01-31",
    contexts: "hard irq; common softirq thread",
    by_tick: true,
};

pub(crate) fn new<T, Q: Queue<Key>>(
    settings: &Settings,
    queue: &dyn Fn() -> Q,
) -> JiffyLists<T, Q> {
    JiffyLists::new(EdgeWork::InInterrupt, settings, queue)
}
