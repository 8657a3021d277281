//! All timers sit in the normal list. At each jiffy edge the jiffy timer code moves those that are due
//! before the next edge to the precise list, which the interrupt works off.
//!
//! A timer due right after the edge is shadowed by that code: it is moved only when low-res callbacks
//! of that edge are done, and fired there at once if it is due by then. The device is programmed once
//! per precise timer, and once to get back to the 1/HZ period. (George Anzinger, linux-kernel, "Re: High
//! resolution timers and BH processing on -RT", 2005-01-28.)

use super::kit::{EdgeWork, JiffyLists};
use super::{About, Key, Settings};
use crate::queue::Queue;

pub(crate) const ABOUT: About = About {
    name: "jiffy-list",
    proposed: "George Anzinger, 2005-01-28",
    contexts: "hard irq; common softirq thread",
    by_tick: true,
};

pub(crate) fn new<T, Q: Queue<Key>>(
    settings: &Settings,
    queue: &dyn Fn() -> Q,
) -> JiffyLists<T, Q> {
    JiffyLists::new(EdgeWork::InSoftirq, settings, queue)
}
