//! Coarse timers live in a jiffy wheel, which is looked at in the tick and never programs the device.
//!
//! They fire at the first tick at or after their expiry, in the common softirq thread: what the author
//! tells users of timeouts to use.
//!
//! Hard timers are fired in hard irq, soft ones in the common softirq thread. (Thomas Gleixner,
//! linux-kernel, "Re: \[PATCH\] hrtimer: Update `softirq_expires_next` correctly after
//! `__hrtimer_get_next_event()`", 2021-04-21.)

use super::kit::{HardOrSoft, Laned};
use super::{About, Key, Rearm, Settings};
use crate::queue::Queue;

pub(crate) const ABOUT: About = About {
    name: "rearm-wheel",
    proposed: "Thomas Gleixner, 2021-04-21",
    contexts: "hard irq; common softirq thread",
    by_tick: true,
};

pub(crate) fn new<T, Q: Queue<Key>>(
    settings: &Settings,
    queue: &dyn Fn() -> Q,
) -> Laned<T, Q, HardOrSoft> {
    HardOrSoft::with(Rearm::Wheel, settings, queue)
}
