//! As the kernel before 2021: a rearm of the first timer programs the device twice, once because the
//! old first is gone and once for the new first.
//!
//! Hard timers are fired in hard irq, soft ones in the common softirq thread. (Thomas Gleixner,
//! linux-kernel, "Re: \[PATCH\] hrtimer: Update `softirq_expires_next` correctly after
//! `__hrtimer_get_next_event()`", 2021-04-21.)

use super::kit::{HardOrSoft, Laned};
use super::{About, Key, Rearm, Settings};
use crate::queue::Queue;

pub(crate) const ABOUT: About = About {
    name: "rearm-eager-double",
    proposed: "the kernel until 2021",
    contexts: "hard irq; common softirq thread",
    by_tick: false,
};

pub(crate) fn new<T, Q: Queue<Key>>(
    settings: &Settings,
    queue: &dyn Fn() -> Q,
) -> Laned<T, Q, HardOrSoft> {
    HardOrSoft::with(Rearm::EagerDouble, settings, queue)
}
